//! A small number for each frame, in memory that grows with what is known.

use order9_units::Pages;

/// Frames per part.
const PART: usize = 1 << 15;

/// Owner of each frame, as far as one is known.
pub(super) struct Sparse(Vec<Option<Box<[u16]>>>);

impl Sparse {
    /// Nobody has any of so many frames.
    pub(super) fn new(frames: Pages) -> Self {
        Self(vec![None; frames.get().div_ceil(PART as u64) as usize])
    }

    /// Notes an owner, the first one unless the page is another's alone. Frames behind the end are left out.
    pub(super) fn take(&mut self, pfn: u64, owner: usize, is_exclusive: bool) {
        let (part, at) = (pfn as usize / PART, pfn as usize % PART);
        let (Some(part), Ok(word)) = (self.0.get_mut(part), u16::try_from(owner + 1)) else { return };
        let slot = &mut part.get_or_insert_with(|| vec![0; PART].into())[at];
        if *slot == 0 || is_exclusive {
            *slot = word;
        }
    }

    /// The owner of a frame.
    pub(super) fn get(&self, pfn: u64) -> Option<usize> {
        let part = self.0.get(pfn as usize / PART)?.as_ref()?;
        usize::from(part[pfn as usize % PART]).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_owner_stays_unless_a_page_is_another_s_alone() {
        let mut owners = Sparse::new(Pages::new(40_000));
        owners.take(39_000, 2, false);
        owners.take(39_000, 3, false);
        assert_eq!((owners.get(39_000), owners.get(38_999), owners.get(0)), (Some(2), None, None));
        owners.take(39_000, 4, true);
        owners.take(1 << 40, 1, true);
        assert_eq!(owners.get(39_000), Some(4));
    }
}
