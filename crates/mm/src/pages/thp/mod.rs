//! Transparent huge pages: what they are, who maps them, and what is left of them when they are split.
//!
//! Key types: `HugePage` (the mappings of one huge page), `HugeMemory` (all of them, the deferred split queues, the huge
//! page of zeros), [`crate::policy::ThpPolicy`]. A huge page is one allocation: its first frame carries the word, its owner is
//! `Owner::Huge`, it is one element of an LRU list that weighs 512 pages. Huge mappings (of a whole slot) are listed here;
//! mappings of single base pages, which a split of a huge mapping leaves, in the reverse mapping of their frames.
//! Never prices its work, waits, or allocates: faults say what they need. Behaviour and sources: docs/thp.md.

mod check;
mod collapse;
mod collapse_file;
mod fault;
mod file_map;
mod file_split;
mod filled;
mod khugepaged;
mod map;
mod migrate;
mod partial;
pub mod placement;
mod queue;
mod rules;
mod settings;
mod size;
mod split;
mod swap;
#[cfg(test)]
mod tests;
mod trace;
mod underused;
mod zero;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use order9_frames::{Flag, Idx, Word};
use order9_units::{Order, PAGEBLOCK_PAGES, Pfn};

use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Rmap;
use crate::space::{Mapping, Owner};

pub use crate::settings::thp::KhugepagedSettings;
pub(crate) use crate::settings::thp::ThpSettings;
pub use collapse::{Collapse, CollapseFailure, CollapseRange};
pub(crate) use filled::Filled;
pub(crate) use khugepaged::Khugepaged;
pub use khugepaged::{KhugepagedPause, KhugepagedStep};
pub use order9_units::{HugeDefrag, HugeEnabled, SizeEnabled};
pub use settings::{fault_gfp, khugepaged_gfp, shmem_gfp, zero_gfp};
pub use size::{SizeShmemEnabled, SizeStat};

/// Base pages of a huge page.
pub(crate) const NR: u32 = PAGEBLOCK_PAGES.get() as u32;

/// Mappings of a huge page, beside the single mappings of its base pages.
#[derive(Clone, Default)]
pub(crate) struct HugePage {
    /// Huge mappings of the page, each by the first page of its slot.
    pmds: Vec<Mapping>,
    /// Base pages that have a mapping of their own.
    mapped: u32,
    /// Mappings of base pages, all together.
    ptes: u32,
    /// Ticket of the page in the deferred split queue.
    queued: Option<core::num::NonZeroU64>,
    /// The page is in the queue since nobody maps some of its base pages.
    partial: bool,
}

/// All huge pages.
#[derive(Clone, Default)]
pub struct HugeMemory {
    /// By pageblock.
    pages: Vec<HugePage>,
    /// Pages to be split when memory is short, by node and ticket: first come, first split.
    queues: Vec<BTreeMap<u64, Idx>>,
    /// Tickets given out.
    tickets: u64,
    /// The huge page of zeros.
    zero: Option<Idx>,
    /// Spaces or slots that hold it.
    zero_users: u64,
    /// Parts that hold something, where the policy asks for that.
    pub(crate) filled: Option<Filled>,
    /// The daemon that makes huge pages of base pages in the background.
    pub(crate) khugepaged: Khugepaged,
}

impl HugeMemory {
    /// None yet; `filled` follows what they will hold.
    pub(crate) fn new(filled: Option<Filled>) -> Self {
        Self { filled, ..Self::default() }
    }

    fn page(&self, head: Idx) -> &HugePage {
        &self.pages[head.block()]
    }

    fn page_mut(&mut self, head: Idx) -> &mut HugePage {
        &mut self.pages[head.block()]
    }

    /// Bytes on the host.
    pub(crate) fn bytes(&self) -> usize {
        let lists: usize = self.pages.iter().map(|page| page.pmds.capacity()).sum();
        let filled = self.filled.as_ref().map_or(0, Filled::bytes);
        self.pages.capacity() * size_of::<HugePage>() + lists * size_of::<Mapping>() + filled
    }
}

/// The first frame of the aligned 512 that hold `idx`.
#[inline]
pub(crate) const fn head_of(idx: Idx) -> Idx {
    Idx(idx.0 & !(NR - 1))
}

/// The frames of the huge page that starts at `head`.
pub(crate) fn subpages(head: Idx) -> impl DoubleEndedIterator<Item = Idx> + Clone {
    (head.0..head.0 + NR).map(Idx)
}

impl Rmap {
    /// The first frame of the anonymous huge page that `idx` is part of.
    #[inline]
    pub(crate) fn huge_head(&self, idx: Idx, phys: &PhysMem) -> Option<Idx> {
        let head = head_of(idx);
        (phys.frames.word(idx).is_compound() && self.owner(head) == Owner::Huge).then_some(head)
    }
}

impl HugeMemory {
    /// Whether a huge mapping shows the huge page that starts at `head`.
    pub(crate) fn is_pmd_mapped(&self, head: Idx) -> bool {
        !self.page(head).pmds.is_empty()
    }
}

impl UsedPages {
    /// Mappings of the huge page that starts at `pfn`, huge ones and those of base pages: `total_mapcount`. `None` where no
    /// anonymous huge page starts.
    #[must_use]
    pub fn total_mapcount(&self, pfn: Pfn, phys: &PhysMem) -> Option<u64> {
        let head = phys.frames.idx(pfn).filter(|&idx| self.rmap.huge_head(idx, phys) == Some(idx))?;
        let page = self.huge.page(head);
        Some(page.pmds.len() as u64 + u64::from(page.ptes))
    }

    /// References to the huge page that starts at `pfn`: its mappings, its pins, 512 of the swap cache if it is there, and
    /// reclaim or compaction if it is isolated.
    #[must_use]
    pub fn huge_page_count(&self, pfn: Pfn, phys: &PhysMem) -> Option<u64> {
        let mappings = self.total_mapcount(pfn, phys)?;
        let (head, word) = phys.frames.live(pfn).ok()?;
        let pins = u64::from(word.has(Flag::Pinned)) + u64::from(self.more_pins.get(&head.0).copied().unwrap_or(0));
        let cache = if word.has(PageFlag::SwapCache) { u64::from(NR) } else { 0 };
        Some(mappings + pins + cache + u64::from(word.has(Flag::Isolated)))
    }

    /// Whether nobody but its mappings, the swap cache, and reclaim if it has isolated the page, refers to it, and it is not
    /// being written. The kernel compares
    /// `total_mapcount` with `page_count` less the caller's own reference; what the two differ by are these.
    fn can_split(word: Word, isolated_by_caller: bool) -> bool {
        !word.has(Flag::Pinned) && !word.has(PageFlag::Writeback) && word.has(Flag::Isolated) == isolated_by_caller
    }
}

impl PhysMem {
    /// The first frame of the live huge allocation that `pfn` is part of; `pfn` itself where there is none. A pin of any part
    /// of a huge page is one of the whole.
    pub(crate) fn compound_head(&self, pfn: Pfn) -> Pfn {
        let Some(idx) = self.frames.idx(pfn).filter(|&idx| self.frames.word(idx).is_compound()) else {
            return pfn;
        };
        let word = self.frames.word(head_of(idx));
        let part = word.is_allocated() && word.order() == Order::PAGEBLOCK;
        if part { self.frames.pfn(head_of(idx)) } else { pfn }
    }
}
