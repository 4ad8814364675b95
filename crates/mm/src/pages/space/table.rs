//! Page tables: for every 2 MiB slot nothing, a table of 512 entries, or one entry for a huge page.
//!
//! Key types: [`Slot`], [`Table`], [`Huge`], [`PageTable`] (all slots of a space, by GiB). A table of 4 KiB is a frame of the machine,
//! which [`Table::frame`] names; here its entries take five bytes each. The levels above, one frame in 512 tables, are not
//! counted as memory of the machine.

use alloc::boxed::Box;
use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Order;

use super::pte::Pte;
use crate::addr::{Vpn, VpnRange};

/// Pages per slot.
pub(crate) const SLOT_PAGES: usize = Order::PAGEBLOCK.pages().get() as usize;
/// Slots per leaf of the page table.
const LEAF_SLOTS: usize = 512;

/// Entries for 2 MiB of a space.
#[derive(Clone)]
pub(crate) enum Slot {
    /// Nothing.
    Empty,
    /// Base pages.
    Table(Box<Table>),
    /// A huge page, or the huge page of zeros.
    Huge(Huge),
    /// A page of a hugetlb pool, which is never split.
    Hugetlb(Pte),
}

/// One entry for a whole slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Huge {
    /// The entry: it names the first frame of the huge page, or is that of the page of zeros.
    pub(crate) pte: Pte,
    /// The frame of the page table that a split will need, so that it never lacks memory. A huge page of a file has none: its
    /// split unmaps it.
    pub(crate) deposit: Option<Idx>,
}

impl Huge {
    /// The first frame of the huge page; `None` for the page of zeros.
    pub(crate) const fn head(self) -> Option<Idx> {
        self.pte.idx()
    }

    /// The entry that a base page of the slot would have.
    pub(crate) fn base(self, vpn: Vpn) -> Pte {
        base(self.pte, vpn)
    }
}

/// The entry that a base page would have under the one entry of its slot.
fn base(pte: Pte, vpn: Vpn) -> Pte {
    let offset = if pte.idx().is_some() { position(vpn) as u32 } else { 0 };
    Pte { frame: pte.frame + offset, ..pte }
}

/// The 512 entries of a slot.
#[derive(Clone)]
pub(crate) struct Table {
    /// The frame that holds it on the machine.
    pub(crate) frame: Idx,
    /// Entries that are not none.
    pub(crate) used: u16,
    flags: [u8; SLOT_PAGES],
    frames: [u32; SLOT_PAGES],
}

impl Table {
    pub(crate) fn new(frame: Idx) -> Self {
        Self { frame, used: 0, flags: [0; SLOT_PAGES], frames: [0; SLOT_PAGES] }
    }

    #[inline]
    pub(crate) fn get(&self, vpn: Vpn) -> Pte {
        let at = position(vpn);
        Pte { flags: self.flags[at], frame: self.frames[at] }
    }

    /// Replaces an entry; returns what was there.
    #[inline]
    pub(crate) fn set(&mut self, vpn: Vpn, pte: Pte) -> Pte {
        let at = position(vpn);
        let old = Pte { flags: self.flags[at], frame: self.frames[at] };
        (self.flags[at], self.frames[at]) = (pte.flags, pte.frame);
        self.used = self.used + u16::from(!pte.is_none()) - u16::from(!old.is_none());
        old
    }
}

fn position(vpn: Vpn) -> usize {
    vpn.get() as usize % SLOT_PAGES
}

type LeafSlots = [Slot; LEAF_SLOTS];

/// The slots of one GiB.
#[derive(Clone)]
struct Leaf {
    /// Number of the GiB.
    gib: u32,
    slots: Box<LeafSlots>,
    /// Slots that are not empty.
    used: u16,
}

impl Leaf {
    fn first(&self) -> Vpn {
        Vpn::new(u64::from(self.gib) * (LEAF_SLOTS * SLOT_PAGES) as u64)
    }
}

/// The page table of one space.
#[derive(Clone, Default)]
pub(crate) struct PageTable {
    /// By the number of the GiB.
    leaves: Vec<Leaf>,
    /// Place where the last leaf was found: the next access is likely there as well.
    recent: usize,
    /// Empty slots of a leaf that is gone, for the next one: a program that fills and empties one slot again and again would
    /// pay more for its leaf than for its page.
    spare: Option<Box<LeafSlots>>,
}

impl PageTable {
    #[inline]
    pub(crate) fn slot(&self, vpn: Vpn) -> &Slot {
        self.position(vpn).map_or(&Slot::Empty, |at| &self.leaves[at].slots[slot(vpn)])
    }

    #[inline]
    pub(crate) fn table(&self, vpn: Vpn) -> Option<&Table> {
        match self.slot(vpn) {
            Slot::Empty | Slot::Huge(_) | Slot::Hugetlb(_) => None,
            Slot::Table(table) => Some(table),
        }
    }

    #[inline]
    pub(crate) fn table_mut(&mut self, vpn: Vpn) -> Option<&mut Table> {
        match self.slot_mut(vpn)? {
            Slot::Empty | Slot::Huge(_) | Slot::Hugetlb(_) => None,
            Slot::Table(table) => Some(table),
        }
    }

    /// The huge mapping of the slot of `vpn`.
    pub(crate) fn huge(&self, vpn: Vpn) -> Option<Huge> {
        match self.slot(vpn) {
            Slot::Huge(huge) => Some(*huge),
            Slot::Empty | Slot::Table(_) | Slot::Hugetlb(_) => None,
        }
    }

    /// The huge mapping of the slot of `vpn`, to be changed.
    pub(crate) fn huge_mut(&mut self, vpn: Vpn) -> Option<&mut Huge> {
        match self.slot_mut(vpn)? {
            Slot::Huge(huge) => Some(huge),
            Slot::Empty | Slot::Table(_) | Slot::Hugetlb(_) => None,
        }
    }

    /// The entry of the slot of `vpn` for a page of a hugetlb pool.
    pub(crate) fn hugetlb(&self, vpn: Vpn) -> Option<Pte> {
        if let Slot::Hugetlb(pte) = self.slot(vpn) { Some(*pte) } else { None }
    }

    /// Entry of a page of a hugetlb pool, to be changed.
    pub(crate) fn hugetlb_mut(&mut self, vpn: Vpn) -> Option<&mut Pte> {
        if let Slot::Hugetlb(pte) = self.slot_mut(vpn)? { Some(pte) } else { None }
    }

    /// The slot of `vpn`, if its GiB has any table.
    #[inline]
    pub(crate) fn slot_mut(&mut self, vpn: Vpn) -> Option<&mut Slot> {
        self.recent = self.position(vpn).ok()?;
        Some(&mut self.leaves[self.recent].slots[slot(vpn)])
    }

    /// Place of the leaf of `vpn`, or the place where it would have to be.
    #[inline]
    fn position(&self, vpn: Vpn) -> Result<usize, usize> {
        let gib = gib(vpn);
        match self.leaves.get(self.recent) {
            Some(leaf) if leaf.gib == gib => Ok(self.recent),
            _ => self.leaves.binary_search_by_key(&gib, |leaf| leaf.gib),
        }
    }

    #[inline]
    pub(crate) fn get(&self, vpn: Vpn) -> Pte {
        match self.slot(vpn) {
            Slot::Empty => Pte::NONE,
            Slot::Table(table) => table.get(vpn),
            Slot::Huge(huge) => huge.base(vpn),
            Slot::Hugetlb(pte) => base(*pte, vpn),
        }
    }

    /// Gives the empty slot of `vpn` a table that lies in `frame`.
    pub(crate) fn install(&mut self, vpn: Vpn, frame: Idx) {
        self.fill(vpn, Slot::Table(Box::new(Table::new(frame))));
    }

    /// Gives the empty slot of `vpn` a huge mapping.
    pub(crate) fn install_huge(&mut self, vpn: Vpn, huge: Huge) {
        self.fill(vpn, Slot::Huge(huge));
    }

    /// Gives the empty slot of `vpn` a page of a hugetlb pool.
    pub(crate) fn install_hugetlb(&mut self, vpn: Vpn, pte: Pte) {
        self.fill(vpn, Slot::Hugetlb(pte));
    }

    /// Empties the slot of `vpn` if it has a page of a hugetlb pool; returns its entry.
    pub(crate) fn remove_hugetlb(&mut self, vpn: Vpn) -> Option<Pte> {
        let pte = self.hugetlb(vpn)?;
        self.clear(vpn);
        Some(pte)
    }

    /// Fills the empty slot of `vpn`.
    fn fill(&mut self, vpn: Vpn, content: Slot) {
        let at = self.position(vpn).unwrap_or_else(|at| {
            let slots = self.spare.take().unwrap_or_else(|| Box::new([const { Slot::Empty }; LEAF_SLOTS]));
            self.leaves.insert(at, Leaf { gib: gib(vpn), slots, used: 0 });
            at
        });
        let leaf = &mut self.leaves[at];
        let slot = &mut leaf.slots[slot(vpn)];
        assert!(matches!(slot, Slot::Empty), "the slot of {vpn:?} is not empty");
        *slot = content;
        leaf.used += 1;
    }

    /// Empties the slot of `vpn`; returns the frame of the table that was there, which has no entries left.
    pub(crate) fn remove(&mut self, vpn: Vpn) -> Option<Idx> {
        self.table(vpn)?;
        let Slot::Table(table) = self.clear(vpn) else { unreachable!("the slot has a table") };
        assert!(table.used == 0, "a page table with {} entries would be freed at {vpn:?}", table.used);
        Some(table.frame)
    }

    /// Empties the slot of `vpn` if it has a huge mapping; returns that.
    pub(crate) fn remove_huge(&mut self, vpn: Vpn) -> Option<Huge> {
        let huge = self.huge(vpn)?;
        self.clear(vpn);
        Some(huge)
    }

    fn clear(&mut self, vpn: Vpn) -> Slot {
        let at = self.position(vpn).expect("the slot is not empty");
        let leaf = &mut self.leaves[at];
        let content = core::mem::replace(&mut leaf.slots[slot(vpn)], Slot::Empty);
        leaf.used -= 1;
        if leaf.used == 0 {
            self.spare = Some(self.leaves.remove(at).slots);
        }
        content
    }

    /// Puts a table in the place of the huge mapping of the slot of `vpn`.
    pub(crate) fn split(&mut self, vpn: Vpn, table: Box<Table>) {
        *self.slot_mut(vpn).expect("the slot has a huge mapping") = Slot::Table(table);
    }

    /// The first slot that meets `rest` and has a table; `rest` goes on behind it. With this and its like, a loop over slots
    /// may change the table.
    pub(crate) fn next_table(&self, rest: &mut VpnRange) -> Option<VpnRange> {
        let is_next = !rest.is_empty() && self.table(rest.start).is_some();
        let slot = if is_next { rest.start.slot() } else { self.tables(*rest).next()?.0 };
        pass(slot, rest);
        Some(slot)
    }

    /// As [`PageTable::next_table`], with the table.
    pub(crate) fn next_table_mut(&mut self, rest: &mut VpnRange) -> Option<(VpnRange, &mut Table)> {
        let slot = self.next_table(rest)?;
        Some((slot, self.table_mut(slot.start)?))
    }

    /// The first huge mapping whose slot meets `rest`, and its slot; `rest` goes on behind it.
    pub(crate) fn next_huge(&self, rest: &mut VpnRange) -> Option<(VpnRange, Huge)> {
        self.huge_slots(*rest).next().inspect(|(slot, _)| pass(*slot, rest))
    }

    /// As [`PageTable::next_huge`], to be changed.
    pub(crate) fn next_huge_mut(&mut self, rest: &mut VpnRange) -> Option<&mut Huge> {
        let (slot, _) = self.next_huge(rest)?;
        self.huge_mut(slot.start)
    }

    /// The first page of a hugetlb pool whose slot meets `rest`, and its slot; `rest` goes on behind it.
    pub(crate) fn next_hugetlb(&self, rest: &mut VpnRange) -> Option<(VpnRange, Pte)> {
        self.hugetlb_slots(*rest).next().inspect(|(slot, _)| pass(*slot, rest))
    }

    /// As [`PageTable::next_hugetlb`], to be changed.
    pub(crate) fn next_hugetlb_mut(&mut self, rest: &mut VpnRange) -> Option<(VpnRange, &mut Pte)> {
        let (slot, _) = self.next_hugetlb(rest)?;
        Some((slot, self.hugetlb_mut(slot.start)?))
    }

    /// The first slot that meets `rest` and is one of [`PageTable::used_slots`]; `rest` goes on behind it.
    pub(crate) fn next_used(&self, rest: &mut VpnRange) -> Option<VpnRange> {
        let (slot, _) = self.used_slots(*rest).next()?;
        pass(slot, rest);
        Some(slot)
    }

    /// Every table whose slot meets `range`, upward.
    pub(crate) fn tables(&self, range: VpnRange) -> impl Iterator<Item = (VpnRange, &Table)> {
        self.slots(range).filter_map(|(at, slot)| match slot {
            Slot::Empty | Slot::Huge(_) | Slot::Hugetlb(_) => None,
            Slot::Table(table) => Some((at, &**table)),
        })
    }

    /// Every huge mapping whose slot meets `range`, upward.
    pub(crate) fn huge_slots(&self, range: VpnRange) -> impl Iterator<Item = (VpnRange, Huge)> {
        self.slots(range).filter_map(|(at, slot)| match slot {
            Slot::Empty | Slot::Table(_) | Slot::Hugetlb(_) => None,
            Slot::Huge(huge) => Some((at, *huge)),
        })
    }

    /// Every page of a hugetlb pool whose slot meets `range`, upward.
    pub(crate) fn hugetlb_slots(&self, range: VpnRange) -> impl Iterator<Item = (VpnRange, Pte)> {
        self.slots(range).filter_map(|(at, slot)| if let Slot::Hugetlb(pte) = slot { Some((at, *pte)) } else { None })
    }

    /// Every slot that meets `range` and maps something that is not of a hugetlb pool, upward.
    pub(crate) fn used_slots(&self, range: VpnRange) -> impl Iterator<Item = (VpnRange, &Slot)> {
        self.slots(range).filter(|(_, slot)| match slot {
            Slot::Empty | Slot::Hugetlb(_) => false,
            Slot::Table(table) => table.used > 0,
            Slot::Huge(_) => true,
        })
    }

    /// Every slot that meets `range` and is not empty, upward.
    fn slots(&self, range: VpnRange) -> impl Iterator<Item = (VpnRange, &Slot)> {
        let first = self.leaves.partition_point(|leaf| leaf.gib < gib(range.start));
        self.leaves[first..].iter().take_while(move |leaf| leaf.first() < range.end).flat_map(move |leaf| {
            let base = leaf.first().get();
            let clip = |vpn: Vpn| (vpn.get().saturating_sub(base) as usize).min(LEAF_SLOTS * SLOT_PAGES);
            let end = if range.is_empty() { 0 } else { clip(range.end).div_ceil(SLOT_PAGES) };
            let slots = clip(range.start) / SLOT_PAGES..end;
            slots.filter_map(move |at| match &leaf.slots[at] {
                Slot::Empty => None,
                slot => Some((Vpn::new(base + (at * SLOT_PAGES) as u64).slot(), slot)),
            })
        })
    }

    /// Bytes of all tables on the host.
    pub(crate) fn bytes(&self) -> usize {
        let of_slot = |slot: &Slot| size_of::<Slot>() + if let Slot::Table(_) = slot { size_of::<Table>() } else { 0 };
        self.leaves.iter().map(|leaf| &leaf.slots).chain(&self.spare).flat_map(|slots| slots.iter()).map(of_slot).sum()
    }
}

/// Takes the pages up to the end of `slot` off the front of `rest`.
fn pass(slot: VpnRange, rest: &mut VpnRange) {
    *rest = VpnRange::new(slot.end, rest.end);
}

const fn gib(vpn: Vpn) -> u32 {
    (vpn.get() / (LEAF_SLOTS * SLOT_PAGES) as u64) as u32
}

const fn slot(vpn: Vpn) -> usize {
    vpn.get() as usize / SLOT_PAGES % LEAF_SLOTS
}

const _: () = assert!(size_of::<Table>() <= 8 * SLOT_PAGES, "a mapped base page may take eight bytes of page table");

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn tables_are_found_in_order_and_across_gibibytes() {
        let mut table = PageTable::default();
        let places = [Vpn::new(5), Vpn::new(512), Vpn::new((1 << 18) + 513), Vpn::new(9 << 18)];
        for (frame, &vpn) in places.iter().enumerate() {
            table.install(vpn, Idx(frame as u32));
        }
        let found = |start, end| {
            let range = VpnRange::new(Vpn::new(start), Vpn::new(end));
            table.tables(range).map(|(_, table)| table.frame.0).collect::<Vec<_>>()
        };
        assert_eq!(found(0, u64::MAX >> 20), [0, 1, 2, 3]);
        assert_eq!(found(511, 513), [0, 1]);
        assert_eq!(found(512, 1 << 18), [1]);
        assert_eq!(found(1024, (1 << 18) + 512), [0; 0]);
        assert_eq!(found(5, 5), [0; 0]);
        table.remove(Vpn::new(511));
        let mut rest = VpnRange::new(Vpn::new(0), Vpn::new(1 << 19));
        let slots = core::iter::from_fn(|| table.next_table(&mut rest));
        assert_eq!(slots.map(|slot| slot.start.get()).collect::<Vec<_>>(), [512, (1 << 18) + 512]);
        assert!(rest.is_empty() || rest.start.get() == (1 << 18) + 1024);
    }

    #[test]
    fn used_entries_are_counted() {
        let mut table = Table::new(Idx(0));
        table.set(Vpn::new(3), Pte::ZERO);
        assert!(table.set(Vpn::new(3), Pte::present(Idx(9))) == Pte::ZERO);
        assert_eq!(table.used, 1);
        table.set(Vpn::new(3), Pte::NONE);
        assert_eq!(table.used, 0);
    }
}
