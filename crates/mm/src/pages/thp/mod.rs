//! Transparent huge pages: what they are, who maps them, and what is left of them when they are split.
//!
//! Key types: `HugePage` (the mappings of one huge page), `HugeMemory` (all of them, the deferred split queues, the huge
//! page of zeros), [`crate::policy::ThpPolicy`]. A huge page is one allocation: its first frame carries the word, its owner is
//! `Owner::Huge`, it is one element of an LRU list that weighs as many pages as it has. Most have 512; smaller ones, which
//! Linux calls multi-size THP, fill only part of a slot. Huge mappings (of a whole slot) are listed here; mappings of single
//! base pages, which a split of a huge mapping leaves and smaller huge pages have from the start, in the reverse mapping of
//! their frames.
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
mod small;
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

use crate::page_flags::{PageFlag, PageWord};
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
pub use order9_units::{HugeDefrag, HugeEnabled, HugeSize, SizeEnabled};
pub use settings::{fault_gfp, khugepaged_gfp, shmem_gfp, zero_gfp};
pub(crate) use size::SizeEvents;
pub use size::{SizeShmemEnabled, SizeStat};

/// Base pages of a huge page of 2 MiB.
pub(crate) const NR: u32 = PAGEBLOCK_PAGES.get() as u32;

/// Mappings of a huge page, beside the single mappings of its base pages.
#[derive(Clone)]
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

/// A page that nobody maps.
static UNMAPPED: HugePage = HugePage::UNMAPPED;

impl HugePage {
    const UNMAPPED: Self = Self { pmds: Vec::new(), mapped: 0, ptes: 0, queued: None, partial: false };
}

/// All huge pages.
#[derive(Clone, Default)]
pub struct HugeMemory {
    /// Huge pages that start at a pageblock, by pageblock.
    pages: Vec<HugePage>,
    /// Huge pages that start elsewhere, and are smaller, by their first frame.
    small: BTreeMap<u32, HugePage>,
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
    /// Events of pages of less than 2 MiB, by size.
    small_events: [SizeEvents; HugeSize::COUNT - 1],
}

impl HugeMemory {
    /// None yet; `filled` follows what they will hold.
    pub(crate) fn new(filled: Option<Filled>) -> Self {
        Self { filled, ..Self::default() }
    }

    fn page(&self, head: Idx) -> &HugePage {
        match starts_pageblock(head) {
            true => &self.pages[head.block()],
            false => self.small.get(&head.0).unwrap_or(&UNMAPPED),
        }
    }

    fn page_mut(&mut self, head: Idx) -> &mut HugePage {
        match starts_pageblock(head) {
            true => &mut self.pages[head.block()],
            false => self.small.entry(head.0).or_insert(HugePage::UNMAPPED),
        }
    }

    /// Takes what is known of a page, which ends or moves elsewhere.
    pub(crate) fn take_page(&mut self, head: Idx) -> HugePage {
        let unmapped = HugePage::UNMAPPED;
        match starts_pageblock(head) {
            true => core::mem::replace(&mut self.pages[head.block()], unmapped),
            false => self.small.remove(&head.0).unwrap_or(unmapped),
        }
    }

    /// First frames of all huge pages there may be.
    fn heads(&self) -> impl Iterator<Item = Idx> {
        let blocks = (0..self.pages.len() as u32).map(|block| Idx(block * NR));
        blocks.chain(self.small.keys().map(|&head| Idx(head)))
    }

    /// Bytes on the host.
    pub(crate) fn bytes(&self) -> usize {
        let lists: usize = self.pages.iter().map(|page| page.pmds.capacity()).sum();
        let filled = self.filled.as_ref().map_or(0, Filled::bytes);
        let small = self.small.len() * size_of::<(u32, HugePage)>();
        self.pages.capacity() * size_of::<HugePage>() + small + lists * size_of::<Mapping>() + filled
    }
}

/// Whether a pageblock starts at a frame.
const fn starts_pageblock(idx: Idx) -> bool {
    idx.0.is_multiple_of(NR)
}

/// The frames of the huge page of 2 MiB that starts at `head`.
pub(crate) fn subpages(head: Idx) -> impl DoubleEndedIterator<Item = Idx> + Clone {
    (head.0..head.0 + NR).map(Idx)
}

impl Rmap {
    /// The first frame of the anonymous huge page that `idx` is part of.
    #[inline]
    pub(crate) fn huge_head(&self, idx: Idx, phys: &PhysMem) -> Option<Idx> {
        if !phys.frames.word(idx).is_compound() {
            return None;
        }
        let head = phys.head_of(idx);
        (self.owner(head) == Owner::Huge).then_some(head)
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

    /// References to the huge page that starts at `pfn`: its mappings, its pins, one of the swap cache for each base page if
    /// it is there, and reclaim or compaction if it is isolated.
    #[must_use]
    pub fn huge_page_count(&self, pfn: Pfn, phys: &PhysMem) -> Option<u64> {
        let mappings = self.total_mapcount(pfn, phys)?;
        let (head, word) = phys.frames.live(pfn).ok()?;
        let pins = u64::from(word.has(Flag::Pinned)) + u64::from(self.more_pins.get(&head.0).copied().unwrap_or(0));
        let cache = if word.has(PageFlag::SwapCache) { word.frames() } else { 0 };
        Some(mappings + pins + cache + u64::from(word.has(Flag::Isolated)))
    }

    /// Whether nobody but its mappings, the swap cache, and reclaim if it has isolated the page, refers to it, and it is not
    /// being read or written. The kernel compares
    /// `total_mapcount` with `page_count` less the caller's own reference; what the two differ by are these.
    fn can_split(word: Word, isolated_by_caller: bool) -> bool {
        let busy = word.has(Flag::Pinned) || word.has(PageFlag::Writeback) || word.has(PageFlag::Locked);
        !busy && word.has(Flag::Isolated) == isolated_by_caller
    }
}

impl PhysMem {
    /// The first frame of the block that `idx` is part of, as far as that reaches within a pageblock.
    #[inline]
    pub(crate) fn head_of(&self, idx: Idx) -> Idx {
        let whole = Idx(idx.0 & !(NR - 1));
        if self.frames.word(whole).is_used_from(Order::PAGEBLOCK) {
            return whole;
        }
        // Blocks are aligned: what is between a frame and the start of its block is all tails.
        let starts = (0..Order::PAGEBLOCK.get()).map(|order| Idx(idx.0 >> order << order));
        starts.into_iter().find(|&at| !self.frames.word(at).is_tail()).unwrap_or(whole)
    }

    /// The frame that carries what is known of a page in use: the first one where `idx` is part of a huge page.
    #[inline]
    pub(crate) fn page_of(&self, idx: Idx) -> Idx {
        if self.frames.word(idx).is_tail() { self.head_of(idx) } else { idx }
    }

    /// State of a page in use, whatever part of a block it is.
    #[inline]
    pub(crate) fn page_word(&self, idx: Idx) -> Word {
        self.frames.word(self.page_of(idx))
    }

    /// The frames of the block that starts at `head`.
    pub(crate) fn parts(&self, head: Idx) -> impl DoubleEndedIterator<Item = Idx> + Clone + use<> {
        (head.0..head.0 + self.frames.word(head).frames() as u32).map(Idx)
    }

    /// The first frame of the live huge page that `pfn` is part of; `pfn` itself where there is none. A pin of any part of a
    /// huge page is one of the whole.
    pub(crate) fn compound_head(&self, pfn: Pfn) -> Pfn {
        let Some(idx) = self.frames.idx(pfn).filter(|&idx| self.frames.word(idx).is_compound()) else {
            return pfn;
        };
        let head = self.head_of(idx);
        let word = self.frames.word(head);
        let part = word.is_allocated() && (word.order() == Order::PAGEBLOCK || word.is_lru_page());
        if part { self.frames.pfn(head) } else { pfn }
    }
}
