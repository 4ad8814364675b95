//! Recounts every law of the engine from the frames up, and names the first one broken.
//!
//! The laws: every frame is in exactly one state; free blocks are aligned, disjoint, merged and on the list their frame
//! says; list lengths, free pages, per-CPU counts, pageblock counts and reserves equal a recount; watermarks are ordered.
//! Costs a walk over all frames: for tests and for `--check`, not for every step of a long run.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pfn, ZoneKind};

use crate::Frames;
use crate::count::Class;
use crate::counters::NumaCounters;
use crate::frame::{Flag, FrameState, Idx, Word};
use crate::pageblock::Pageblock;
use crate::pcp;
use crate::policy::PcpLists;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::{Zone, ZoneId};

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The law, in words.
    pub law: &'static str,
    /// Where, with what was found and what was expected.
    pub found: String,
}

/// Types whose lists and pageblocks always agree.
const FIXED: [Migratetype; 2] = [Migratetype::Cma, Migratetype::Isolate];

/// What a check comes to.
pub type Verdict = Result<(), Violation>;

/// Fails with `law` unless `holds`; `found` is only built then.
///
/// # Errors
/// The violation.
pub fn require(holds: bool, law: &'static str, found: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Violation { law, found: found() }) }
}

/// What a zone's frames add up to.
#[derive(Default)]
struct Tally {
    present: u64,
    reserved: u64,
    free: u64,
    pcp: u64,
    allocated: u64,
    held: u64,
    free_blocks: [[u32; Migratetype::COUNT]; Order::COUNT],
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Checks every law.
    ///
    /// # Errors
    /// The first law found broken, lowest zone and frame first.
    pub fn check(&self) -> Verdict {
        let allocated = self.check_zones()?;
        self.check_allocated(allocated, 0)
    }

    /// Checks every law but that of [`check_allocated`](Self::check_allocated); returns the frames that are allocated.
    ///
    /// # Errors
    /// The first law found broken.
    pub fn check_zones(&self) -> Result<u64, Violation> {
        let mut blocks: Vec<Pageblock> = vec![Pageblock::absent(ZoneId(u8::MAX)); self.blocks.len()];
        let mut allocated = 0;
        for zone in &*self.zones {
            let tally = self.check_frames(zone, &mut blocks)?;
            allocated += tally.allocated;
            self.check_totals(zone, &tally)?;
            self.check_lists(zone, &tally)?;
            self.check_pcps(zone, &tally)?;
            self.check_reserves(zone)?;
        }
        self.check_blocks(&blocks)?;
        self.check_type_bits()?;
        self.check_watermarks()?;
        self.check_numa()?;
        self.check_index()?;
        Ok(allocated)
    }

    /// Walks the zone's frames block by block.
    fn check_frames(&self, zone: &Zone, blocks: &mut [Pageblock]) -> Result<Tally, Violation> {
        let mut tally = Tally::default();
        let end = self.at(Pfn::new(zone.span.end.get() - 1)).plus(1);
        let mut at = self.at(zone.span.start);
        while at < end {
            let word = self.table.word(at);
            let class = Class::of(word);
            let class = class.ok_or_else(|| Violation {
                law: "every frame is in exactly one state",
                found: format!("{:?} belongs to no block that starts at or below it", self.table.pfn(at)),
            })?;
            let order = match word.state() {
                FrameState::Tail | FrameState::Hole | FrameState::Reserved => Order::ZERO,
                FrameState::Free { order, .. }
                | FrameState::Pcp { order, .. }
                | FrameState::Allocated { order }
                | FrameState::Held { order } => order,
            };
            self.check_extent(zone, at, order, end)?;
            self.check_block_types(at, word)?;
            let frames = order.pages().get();
            match word.state() {
                FrameState::Tail | FrameState::Hole => {}
                FrameState::Reserved => tally.reserved += frames,
                FrameState::Free { order, list } => {
                    tally.free += frames;
                    tally.free_blocks[order.index()][list.index()] += 1;
                }
                FrameState::Pcp { .. } => tally.pcp += frames,
                FrameState::Allocated { .. } => tally.allocated += frames,
                FrameState::Held { .. } => tally.held += frames,
            }
            if class != Class::Absent {
                tally.present += frames;
                recount(blocks, at, order, class);
            }
            at = at.plus(frames as u32);
        }
        Ok(tally)
    }

    /// A block is aligned, inside its zone, and followed by its own frames only.
    fn check_extent(&self, zone: &Zone, at: Idx, order: Order, end: Idx) -> Verdict {
        let pfn = self.table.pfn(at);
        let frames = order.pages().get() as u32;
        require(pfn.is_aligned(order), "a block starts at a multiple of its size", || format!("{pfn:?}, {order:?}"))?;
        require(at.0 + frames <= end.0, "a block lies inside its zone", || {
            format!("{pfn:?}, {order:?}, in {} that ends at {:?}", zone.kind, zone.span.end)
        })?;
        for tail in 1..frames {
            let state = self.table.word(at.plus(tail)).state();
            require(state == FrameState::Tail, "blocks do not overlap", || {
                format!("{:?} is {state:?} inside the block of {order:?} at {pfn:?}", self.table.pfn(at.plus(tail)))
            })?;
        }
        Ok(())
    }

    /// Laws about the types of a block's list and of the pageblocks it covers.
    fn check_block_types(&self, at: Idx, word: Word) -> Verdict {
        let pfn = self.table.pfn(at);
        let own = self.blocks[at.block()];
        if let FrameState::Allocated { order } = word.state() {
            // One list of huge pages for all types hands lent pages to anybody: the defect that 6.12 ended.
            let one_list = PcpLists::UpToCostly { huge_lists: 1 };
            let mixed = self.policy.pcp.lists == one_list && order == Order::PAGEBLOCK || !self.mobility_grouping;
            let lent = own.migratetype == Migratetype::Cma || self.zones[own.zone.index()].kind == ZoneKind::Movable;
            return require(
                mixed || !(lent && word.has(Flag::CountedImmovable)),
                "CMA pageblocks and zone Movable hold movable allocations only",
                || format!("{pfn:?} holds an unmovable one"),
            );
        }
        let FrameState::Free { order, list } = word.state() else { return Ok(()) };
        let last = at.plus(order.pages().get() as u32 - 1);
        let other = self.blocks[last.block()];
        require(
            [own, other].iter().all(|block| self.may_list(list, block.migratetype)),
            "a free list and the pageblocks of its blocks agree on the type, as far as the release keeps that",
            || {
                format!(
                    "{pfn:?} of {order:?} is on the {list} list in pageblocks {} and {}",
                    own.migratetype, other.migratetype
                )
            },
        )?;
        let joinable = self.types_may_merge(own.migratetype, other.migratetype);
        require(joinable, "the pageblocks of an order-10 block may be one block", || {
            format!("{pfn:?} joins {} and {}", own.migratetype, other.migratetype)
        })?;
        let merged = order >= Order::PAGEBLOCK || !self.table.word_or_hole(at.buddy(order)).is_free_of(order);
        require(merged, "free buddies below pageblock order are merged", || {
            format!("{pfn:?} of {order:?} and its buddy")
        })
    }

    /// Whether a free block in a pageblock of type `block` may be on a list of type `list`.
    fn may_list(&self, list: Migratetype, block: Migratetype) -> bool {
        let pair = [list, block];
        if list == block {
            true
        } else if self.policy.fallback.freelist_hygiene || pair.iter().any(|mt| FIXED.contains(mt)) {
            false
        } else if pair.contains(&Migratetype::HighAtomic) {
            // A per-CPU list remembered an older type, or two unlike pageblocks merged and were split again.
            self.policy.pcp.keeps_cached_type || !self.policy.merge_guards_all_types
        } else {
            true
        }
    }

    fn check_totals(&self, zone: &Zone, tally: &Tally) -> Verdict {
        let kind = zone.kind;
        require(tally.present == zone.present, "present counts the frames that exist", || {
            format!("{kind}: {} frames, present {}", tally.present, zone.present)
        })?;
        let is_reserved = |pfn: Pfn| self.table.word(self.at(pfn)).state() == FrameState::Reserved;
        require(zone.deferred.iter().all(is_reserved), "what is deferred is reserved", || format!("{kind}"))?;
        require(zone.present - tally.reserved == zone.managed, "managed is present without reserved frames", || {
            format!("{kind}: {} - {} reserved, managed {}", zone.present, tally.reserved, zone.managed)
        })?;
        let sum = tally.free + tally.pcp + tally.allocated + tally.held;
        require(sum == zone.managed, "managed = free + per-CPU + allocated + held", || {
            format!(
                "{kind}: {} + {} + {} + {} is not {}",
                tally.free, tally.pcp, tally.allocated, tally.held, zone.managed
            )
        })
    }

    fn check_lists(&self, zone: &Zone, tally: &Tally) -> Verdict {
        let kind = zone.kind;
        let mut by_type = [0; Migratetype::COUNT];
        for order in Order::all() {
            for mt in Migratetype::ALL {
                let length = self.check_list(zone, order, mt)?;
                let (counted, framed) =
                    (zone.areas[order.index()].blocks[mt.index()], tally.free_blocks[order.index()][mt.index()]);
                require(
                    length == counted && framed == counted,
                    "a list is as long as its count and its frames say",
                    || format!("{kind} {order:?} {mt}: {length} on the list, {counted} counted, {framed} by frames"),
                )?;
                require(zone.has_block_of(mt, order) == (length > 0), "the occupied bit follows the list", || {
                    format!("{kind} {order:?} {mt}: {length} blocks")
                })?;
                by_type[mt.index()] += u64::from(length) * order.pages().get();
            }
        }
        require(by_type == zone.free_by_type, "free pages by type equal the lists", || {
            format!("{kind}: {by_type:?} on lists, {:?} counted", zone.free_by_type)
        })?;
        let free: u64 = by_type.iter().sum::<u64>() - by_type[Migratetype::Isolate.index()];
        require(free == zone.free, "nr_free_pages is what lies on all lists but Isolate", || {
            format!("{kind}: {free} on lists, {} counted", zone.free)
        })
    }

    /// Walks one list; returns its length.
    fn check_list(&self, zone: &Zone, order: Order, mt: Migratetype) -> Result<u32, Violation> {
        let mut length = 0;
        for idx in self.table.iter(zone.list(order, mt)) {
            let state = if idx.at() < self.table.len() { self.table.word(idx).state() } else { FrameState::Hole };
            let here = state == FrameState::Free { order, list: mt } && self.blocks[idx.block()].zone == zone.id;
            require(here, "a list holds free blocks of its zone, order and type", || {
                format!("{:?} on the {mt} list of {order:?} of {} is {state:?}", self.table.pfn(idx), zone.kind)
            })?;
            length += 1;
            require(u64::from(length) <= zone.managed, "a list ends", || format!("{} {order:?} {mt}", zone.kind))?;
        }
        Ok(length)
    }

    fn check_pcps(&self, zone: &Zone, tally: &Tally) -> Verdict {
        let lists = self.policy.pcp.lists;
        let mut total = 0;
        for (cpu, pcp) in self.pcps(zone.id).iter().enumerate() {
            let mut count = 0;
            for n in 0..lists.count() {
                for idx in self.table.iter(pcp.list(n)) {
                    let word = if idx.at() < self.table.len() { self.table.word(idx) } else { Word::HOLE };
                    let fits = match word.state() {
                        FrameState::Pcp { order, cached } => {
                            pcp::cached_as(cached).is_some_and(|cached| lists.list_for(order, cached) == Some(n))
                        }
                        _ => false,
                    };
                    require(
                        fits && self.blocks[idx.block()].zone == zone.id,
                        "a per-CPU list holds cached blocks",
                        || format!("{:?} on list {n} of CPU {cpu} is {:?}", self.table.pfn(idx), word.state()),
                    )?;
                    count += word.order().pages().get();
                    require(count <= zone.managed, "a per-CPU list ends", || format!("list {n} of CPU {cpu}"))?;
                }
            }
            require(count == pcp.count(), "a per-CPU count equals its lists", || {
                format!("{} CPU {cpu}: {count} on lists, {} counted", zone.kind, pcp.count())
            })?;
            total += count;
        }
        require(total == tally.pcp, "cached frames are on per-CPU lists", || {
            format!("{}: {total} on lists, {} by frames", zone.kind, tally.pcp)
        })
    }

    fn check_reserves(&self, zone: &Zone) -> Verdict {
        let of_type = |mt| {
            let blocks = self.blocks.iter().filter(|block| block.zone == zone.id && block.migratetype == mt);
            blocks.count() as u64
        };
        let highatomic = of_type(Migratetype::HighAtomic) * PAGEBLOCK_PAGES.get();
        require(highatomic == zone.reserved_highatomic, "the highatomic reserve counts its pageblocks", || {
            format!("{}: {highatomic} frames, {} counted", zone.kind, zone.reserved_highatomic)
        })?;
        require(of_type(Migratetype::Isolate) == zone.isolated_blocks, "isolated pageblocks are counted", || {
            format!("{}: {} blocks, {} counted", zone.kind, of_type(Migratetype::Isolate), zone.isolated_blocks)
        })
    }

    fn check_blocks(&self, recounted: &[Pageblock]) -> Verdict {
        for (at, (block, recount)) in self.blocks.iter().zip(recounted).enumerate() {
            let counts = |block: &Pageblock| (block.free, block.immovable, block.pinned, block.isolated, block.absent);
            require(counts(block) == counts(recount), "pageblock counts equal a recount of the frames", || {
                let first = self.table.pfn(Idx((at as u32) << Order::PAGEBLOCK.get()));
                format!(
                    "pageblock at {first:?}: free, immovable, pinned, isolated, absent {:?}, recounted {:?}",
                    counts(block),
                    counts(recount)
                )
            })?;
        }
        Ok(())
    }

    fn check_watermarks(&self) -> Verdict {
        let pages_min = self.min_free_kbytes() / 4;
        let mut sum = 0;
        for zone in &*self.zones {
            let marks = zone.watermarks;
            require(marks.min <= marks.low && marks.low <= marks.high, "min <= low <= high", || {
                format!("{}: {marks:?}", zone.kind)
            })?;
            sum += marks.min;
            let factor = self.settings.boost_factor_max;
            let cap = if factor > 0 { zone.boost_cap(factor).unwrap_or(0) } else { 0 };
            require(zone.boost <= cap, "a boost stays below its cap", || {
                format!("{}: boost {}, cap {cap}", zone.kind, zone.boost)
            })?;
        }
        // Without a managed page there is nobody to share with.
        let shared = self.zones.iter().any(|zone| zone.managed > 0);
        require(
            !shared || sum <= pages_min && pages_min < sum + self.zones.len() as u64,
            "the min marks share out min_free_kbytes",
            || format!("they add up to {sum}, min_free_kbytes is {pages_min} pages"),
        )
    }

    /// Whether so many `allocated` frames are those of boot and of requests, and `taken` that others have made of held blocks.
    ///
    /// # Errors
    /// The law, where they are not.
    pub fn check_allocated(&self, allocated: u64, taken: u64) -> Verdict {
        let in_use = self.boot_allocated + self.counters.pgalloc.iter().sum::<u64>() + taken;
        let expected = in_use - self.counters.pgfree;
        require(allocated == expected, "allocated frames = those of boot + pgalloc + migrated to - pgfree", || {
            format!("{allocated} by frames, {expected} by counters")
        })
    }

    fn check_numa(&self) -> Verdict {
        let sum = |of: fn(&NumaCounters) -> u64| self.numa.iter().map(of).sum::<u64>();
        let (served, placed) = (sum(|n| n.hit + n.miss), sum(|n| n.local + n.other));
        require(served == placed, "numa_hit + numa_miss = numa_local + numa_other", || {
            format!("{served} and {placed}")
        })?;
        let (missed, foreign) = (sum(|n| n.miss), sum(|n| n.foreign));
        require(missed == foreign, "numa_miss = numa_foreign", || format!("{missed} and {foreign}"))
    }

    /// Bits and pageblocks agree.
    pub(crate) fn check_type_bits(&self) -> Verdict {
        let mut blocks = self.blocks.iter().enumerate();
        blocks.try_for_each(|(block, of)| {
            let has = |mt: &Migratetype| self.types.word(*mt, block / 64) >> (block % 64) & 1 != 0;
            let found: Vec<_> = Migratetype::ALL.into_iter().filter(has).collect();
            require(found == [of.migratetype], "a pageblock has the bit of its type alone", || {
                alloc::format!("pageblock {block} is {:?}, bits say {found:?}", of.migratetype)
            })
        })
    }
}

/// Adds a block of frames to the recount of its pageblocks, in which every frame starts as absent.
fn recount(blocks: &mut [Pageblock], at: Idx, order: Order, class: Class) {
    let (frames, count) = match order <= Order::PAGEBLOCK {
        true => (order.pages().get() as u16, 1),
        false => (PAGEBLOCK_PAGES.get() as u16, 2),
    };
    for block in &mut blocks[at.block()..at.block() + count] {
        block.absent -= frames;
        match class {
            Class::Free => block.free += frames,
            Class::Immovable => block.immovable += frames,
            Class::Pinned => block.pinned += frames,
            Class::Isolated => block.isolated += frames,
            Class::Movable => {}
            Class::Absent => block.absent += frames,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken law: {}: {}", self.law, self.found)
    }
}

impl core::error::Error for Violation {}
