//! [`MapLimit`]: how many mappings a space may have.

/// `vm.max_map_count`: how many mappings a space may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapLimit {
    pub(crate) now: usize,
    /// The highest it has been: a space keeps the mappings it had when the limit sank.
    pub(crate) highest: usize,
}

impl Default for MapLimit {
    fn default() -> Self {
        Self { now: MAX_MAP_COUNT, highest: MAX_MAP_COUNT }
    }
}

impl MapLimit {
    pub(crate) fn set(&mut self, mappings: usize) {
        *self = Self { now: mappings, highest: self.highest.max(mappings) };
    }
}

/// Mappings a space may have, unless another number is set: the default of `vm.max_map_count`.
pub const MAX_MAP_COUNT: usize = 65_530;
