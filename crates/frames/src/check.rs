//! Recounts every law of the engine from the frames up, and names the first one broken.
//!
//! The laws: every frame is in exactly one state; free blocks are aligned, disjoint, merged and on the list their frame
//! says; list lengths, free pages, per-CPU counts, pageblock counts and reserves equal a recount; watermarks are ordered.
//! Costs a walk over all frames: for tests and for `--check`, not for every step of a long run.

mod frames;
mod lists;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pfn};

use crate::Frames;
use crate::counters::NumaCounters;
use crate::frame::{FrameState, Idx};
use crate::pageblock::Pageblock;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::{Zone, ZoneId};
use frames::Tally;

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The law, in words.
    pub law: &'static str,
    /// Place of the violation, with the values found and expected.
    pub found: String,
}

/// Outcome of a check.
pub type Verdict = Result<(), Violation>;

/// Fails with `law` unless `holds`; `found` is only built then.
///
/// # Errors
/// The violation.
pub fn require(holds: bool, law: &'static str, found: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Violation { law, found: found() }) }
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

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken law: {}: {}", self.law, self.found)
    }
}

impl core::error::Error for Violation {}
