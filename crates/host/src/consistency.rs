//! Counts frames that contradict themselves or their neighbour, because the map changed while it was read.

use order9_snapshot::flags::kpf;
use order9_units::Pages;

/// A free frame has none of these.
const IN_USE: u64 = kpf::LRU | kpf::SLAB | kpf::MMAP | kpf::COMPOUND_HEAD | kpf::COMPOUND_TAIL | kpf::PGTABLE;

/// Frames of compound pages can be mapped as a whole while some of them are not.
const COMPOUND: u64 = kpf::COMPOUND_HEAD | kpf::COMPOUND_TAIL | kpf::HUGE | kpf::THP;

/// Running count over the frames of a map, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Contradictions {
    /// Flags of the frame before.
    before: u64,
    certain: u64,
    /// Frames mapped by their flags and not by their count. A contradiction only where counts are told at all.
    uncounted: u64,
    any_count: bool,
}

impl Contradictions {
    /// Looks at the next frames; where `counts` ends first, the remaining frames have no count.
    pub(crate) fn look_at(&mut self, flags: &[u64], counts: &[u64]) {
        let counts = counts.iter().copied().chain(std::iter::repeat(0));
        for (&flags, count) in flags.iter().zip(counts) {
            self.certain += u64::from(is_impossible(flags, count) || is_orphan_tail(self.before, flags));
            self.uncounted += u64::from(flags & kpf::MMAP != 0 && flags & COMPOUND == 0 && count == 0);
            self.any_count |= count != 0;
            self.before = flags;
        }
    }

    /// Whether flags say that pages are mapped and no count ever did.
    pub(crate) fn counts_are_void(&self) -> bool {
        !self.any_count && self.uncounted > 0
    }

    /// Frames that contradict themselves or the frame before.
    pub(crate) fn total(&self) -> Pages {
        Pages::new(self.certain + if self.any_count { self.uncounted } else { 0 })
    }
}

/// A free frame in use, or a frame that is mapped by its count alone.
fn is_impossible(flags: u64, count: u64) -> bool {
    let free_and_used = flags & kpf::BUDDY != 0 && (flags & IN_USE != 0 || count != 0);
    free_and_used || (count != 0 && flags & kpf::MMAP == 0)
}

/// A tail follows the head or another tail of its compound page.
fn is_orphan_tail(before: u64, flags: u64) -> bool {
    flags & kpf::COMPOUND_TAIL != 0 && before & (kpf::COMPOUND_HEAD | kpf::COMPOUND_TAIL) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANON: u64 = kpf::LRU | kpf::MMAP | kpf::ANON;

    fn total(frames: &[(u64, u64)]) -> u64 {
        let (flags, counts): (Vec<u64>, Vec<u64>) = frames.iter().copied().unzip();
        let mut contradictions = Contradictions::default();
        let (low, high) = (flags.len() / 2, counts.len() / 2);
        contradictions.look_at(&flags[..low], &counts[..high]);
        contradictions.look_at(&flags[low..], &counts[high..]);
        contradictions.total().get()
    }

    #[test]
    fn sound_frames_are_no_contradiction() {
        let compound = [(kpf::COMPOUND_HEAD, 0), (kpf::COMPOUND_TAIL, 0), (kpf::COMPOUND_TAIL, 0)];
        assert_eq!(total(&compound), 0);
        assert_eq!(total(&[(kpf::BUDDY, 0), (ANON, 1), (0, 0), (kpf::SLAB, 0), (ANON, 3)]), 0);
        assert_eq!(total(&[(ANON | kpf::THP | kpf::COMPOUND_HEAD, 1), (ANON | kpf::COMPOUND_TAIL, 0)]), 0);
    }

    #[test]
    fn free_frames_are_not_in_use() {
        assert_eq!(total(&[(kpf::BUDDY, 1), (kpf::BUDDY | kpf::LRU, 0), (kpf::BUDDY | kpf::SLAB, 0)]), 3);
    }

    #[test]
    fn flags_and_count_agree_on_being_mapped() {
        assert_eq!(total(&[(ANON, 1), (ANON, 0), (kpf::LRU, 1)]), 2);
    }

    #[test]
    fn without_any_count_nothing_is_held_against_the_flags() {
        assert_eq!(total(&[(ANON, 0), (ANON, 0)]), 0);
    }

    #[test]
    fn a_tail_needs_a_head() {
        assert_eq!(total(&[(0, 0), (kpf::COMPOUND_TAIL, 0), (kpf::COMPOUND_TAIL, 0)]), 1);
    }
}
