//! Page table entries: five bytes each, a frame and a byte of flags.
//!
//! Three of the four kinds a byte can tell apart are for entries that hold no frame a program could reach.

use order9_frames::Idx;

use crate::swap::SlotId;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PteKind {
    /// Nothing: the next access faults.
    None,
    /// The shared page of zeros, read-only.
    Zero,
    /// A frame.
    Present,
    /// A slot of swap, without flags: the next access faults.
    Swap,
}

/// Flags of an entry that is not none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PteFlag {
    /// The program may access the page; off under `PROT_NONE`.
    Access = 1 << 2,
    /// The program may write without a fault.
    Write = 1 << 3,
    /// Accessed since this was last cleared.
    Young = 1 << 4,
    /// Written since this was last cleared.
    Dirty = 1 << 5,
    /// NUMA balancing has taken the access away which the mapping allows, until the next one tells who uses the page.
    Hinting = 1 << 6,
}

const KIND: u8 = 0x3;
const ZERO: u8 = 1;
const PRESENT: u8 = 2;
const SWAP: u8 = 3;

/// One page table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pte {
    pub(super) flags: u8,
    /// The frame of a present entry, the slot of one in swap, else 0.
    pub(super) frame: u32,
}

impl Pte {
    pub(crate) const NONE: Self = Self { flags: 0, frame: 0 };
    /// The page of zeros, accessible and just read.
    pub(crate) const ZERO: Self = Self { flags: ZERO | PteFlag::Access as u8 | PteFlag::Young as u8, frame: 0 };

    /// An accessible, young, read-only entry.
    pub(crate) const fn present(idx: Idx) -> Self {
        Self { flags: PRESENT | PteFlag::Access as u8 | PteFlag::Young as u8, frame: idx.0 }
    }

    /// The page of zeros instead of what the entry shows, no more accessible than that is.
    pub(crate) const fn zeroed(self) -> Self {
        let accessible = self.answered().has(PteFlag::Access);
        Self::ZERO.with(PteFlag::Access, accessible).with(PteFlag::Young, self.has(PteFlag::Young))
    }

    /// An entry that names a slot.
    pub(crate) const fn swap(slot: SlotId) -> Self {
        Self { flags: SWAP, frame: slot.0 }
    }

    /// The slot of an entry in swap.
    pub(crate) const fn slot(self) -> Option<SlotId> {
        if self.flags & KIND == SWAP { Some(SlotId(self.frame)) } else { None }
    }

    /// Whether there is memory behind it: a frame, or the page of zeros.
    pub(crate) const fn is_mapped(self) -> bool {
        matches!(self.flags & KIND, ZERO | PRESENT)
    }

    pub(crate) const fn kind(self) -> PteKind {
        match self.flags & KIND {
            0 => PteKind::None,
            ZERO => PteKind::Zero,
            PRESENT => PteKind::Present,
            _ => PteKind::Swap,
        }
    }

    pub(crate) const fn is_none(self) -> bool {
        self.flags & KIND == 0
    }

    /// The frame of a present entry.
    pub(crate) const fn idx(self) -> Option<Idx> {
        if self.flags & KIND == PRESENT { Some(Idx(self.frame)) } else { None }
    }

    pub(crate) const fn has(self, flag: PteFlag) -> bool {
        self.flags & flag as u8 != 0
    }

    /// A present entry once its page is in another frame. That the page was accessed is forgotten, as up to 6.0.
    #[must_use]
    pub(crate) const fn migrated(self, to: Idx) -> Self {
        Self { frame: to.0, ..self.answered().with(PteFlag::Young, false) }
    }

    /// The entry without access, so that the next one faults and tells who uses the page.
    #[must_use]
    pub(crate) const fn hinting(self) -> Self {
        self.with(PteFlag::Access, false).with(PteFlag::Hinting, true)
    }

    /// The entry with the access that NUMA balancing has taken away; any other entry as it is.
    #[must_use]
    pub(crate) const fn answered(self) -> Self {
        if self.has(PteFlag::Hinting) { self.with(PteFlag::Hinting, false).with(PteFlag::Access, true) } else { self }
    }

    #[must_use]
    pub(crate) const fn with(self, flag: PteFlag, on: bool) -> Self {
        let flags = if on { self.flags | flag as u8 } else { self.flags & !(flag as u8) };
        Self { flags, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_kind_stay_apart() {
        let pte = Pte::present(Idx(7)).with(PteFlag::Write, true).with(PteFlag::Young, false);
        assert!(pte.has(PteFlag::Write) && pte.has(PteFlag::Access) && !pte.has(PteFlag::Young));
        assert_eq!((pte.kind(), pte.idx().map(|idx| idx.0)), (PteKind::Present, Some(7)));
        assert_eq!((Pte::ZERO.kind(), Pte::ZERO.idx().is_none()), (PteKind::Zero, true));
        assert!(Pte::NONE.is_none());
    }

    #[test]
    fn an_answer_gives_back_what_hinting_took() {
        let pte = Pte::present(Idx(7)).with(PteFlag::Write, true);
        let hinting = pte.hinting();
        assert!(!hinting.has(PteFlag::Access) && hinting.idx() == pte.idx());
        assert_eq!((hinting.answered(), pte.answered()), (pte, pte));
        assert!(hinting.migrated(Idx(9)).has(PteFlag::Access), "a page that has moved is not asked about any more");
        assert_eq!(hinting.zeroed(), pte.zeroed());
    }
}
