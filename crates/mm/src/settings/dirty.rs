//! [`DirtySettings`]: how much memory may be dirty. Linux' Documentation/admin-guide/sysctl/vm.rst.

/// Settings of dirty memory; of each pair, the one that is not 0 counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtySettings {
    /// `vm.dirty_ratio`, in percent.
    pub ratio: u64,
    /// `vm.dirty_bytes`.
    pub bytes: u64,
    /// `vm.dirty_background_ratio`, in percent.
    pub background_ratio: u64,
    /// `vm.dirty_background_bytes`.
    pub background_bytes: u64,
    /// `vm.dirty_expire_centisecs`.
    pub expire_centisecs: u64,
    /// `vm.dirty_writeback_centisecs`.
    pub writeback_centisecs: u64,
}

impl Default for DirtySettings {
    fn default() -> Self {
        Self {
            ratio: 20,
            bytes: 0,
            background_ratio: 10,
            background_bytes: 0,
            expire_centisecs: 3000,
            writeback_centisecs: 500,
        }
    }
}
