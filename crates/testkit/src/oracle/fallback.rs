//! Taking a block from a zone: own lists, contiguous memory areas, then other types, with what that does to pageblocks.

use order9_mm::AllocFlags;
use order9_mm::Extfrag;
use order9_mm::FrameEvent;
use order9_mm::policy::{ClaimRule, FallbackSearch};
use order9_mm::trace::Event;
use order9_units::Migratetype::{self, Cma, HighAtomic, Movable, Reclaimable, Unmovable};
use order9_units::Pfn;

use super::{Frame, Oracle, PAGEBLOCK, as_order, size};

/// A request to a zone.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) z: usize,
    pub(super) order: u8,
    pub(super) mt: Migratetype,
    pub(super) flags: &'a AllocFlags,
}

/// Result of a search in the lists of other types.
enum Found {
    /// Blocks are on the own lists now.
    Moved,
    /// The search takes this block.
    Block(u64),
    Nothing,
}

/// A block on another type's list.
#[derive(Clone, Copy)]
struct Candidate {
    pfn: u64,
    order: u8,
    list: Migratetype,
}

/// Other types to take from, preferred first.
fn fallbacks(mt: Migratetype) -> [Migratetype; 2] {
    match mt {
        Unmovable => [Reclaimable, Movable],
        Reclaimable => [Unmovable, Movable],
        Movable => [Reclaimable, Unmovable],
        other => panic!("no request is of type {other}"),
    }
}

impl Oracle {
    /// Takes a block off the buddy lists. `claim_failed` carries over a bulk refill that claiming found nothing.
    pub(super) fn take(
        &mut self,
        wanted: Wanted<'_>,
        refill: bool,
        claim_failed: &mut bool,
    ) -> Option<(u64, Migratetype)> {
        let taken = self.take_any(wanted, claim_failed);
        if let Some((pfn, _)) = taken {
            self.note_taken(wanted, pfn, refill);
        }
        taken
    }

    pub(super) fn note_taken(&mut self, wanted: Wanted<'_>, pfn: u64, percpu_refill: bool) {
        let (order, migratetype) = (as_order(wanted.order), wanted.mt);
        self.events.push(Event::Frame(FrameEvent::PageAllocZoneLocked {
            pfn: Pfn::new(pfn),
            order,
            migratetype,
            percpu_refill,
        }));
    }

    fn take_any(&mut self, wanted: Wanted<'_>, claim_failed: &mut bool) -> Option<(u64, Migratetype)> {
        let Wanted { z, order, mt, flags } = wanted;
        let zone = &self.zones[z];
        if self.policy.frames.cma_balance
            && flags.cma
            && zone.free_of(Cma) > zone.free() / 2
            && let Some(pfn) = self.grab(z, order, Cma)
        {
            return Some((pfn, Cma));
        }
        loop {
            if let Some(pfn) = self.grab(z, order, mt) {
                return Some((pfn, mt));
            }
            if flags.cma
                && mt == Movable
                && let Some(pfn) = self.grab(z, order, Cma)
            {
                return Some((pfn, Cma));
            }
            match self.fall_back(wanted, claim_failed) {
                Found::Moved => {}
                Found::Block(pfn) => return Some((pfn, mt)),
                Found::Nothing => return None,
            }
        }
    }

    fn fall_back(&mut self, wanted: Wanted<'_>, claim_failed: &mut bool) -> Found {
        let Wanted { order, flags, .. } = wanted;
        let spared = self.policy.frames.fallback.nofragment_spares_huge && order >= 9;
        let least = if flags.nofragment && !spared { 9 } else { order };
        match self.policy.frames.fallback.search {
            FallbackSearch::LargestFirst => match self.largest(wanted, least) {
                Some(candidate) => self.decide(wanted, candidate),
                None => Found::Nothing,
            },
            FallbackSearch::SmallestUnlessClaimable => match self.largest(wanted, least) {
                Some(large) if wanted.mt == Movable && large.order > order && !self.stealable(wanted, large.order) => {
                    let smallest = self.smallest(wanted).expect("at least the large one is there");
                    self.decide(wanted, smallest)
                }
                Some(candidate) => self.decide(wanted, candidate),
                None => Found::Nothing,
            },
            FallbackSearch::ClaimThenSteal => {
                if !*claim_failed {
                    if self.claim_largest(wanted, least) {
                        return Found::Moved;
                    }
                    *claim_failed = true;
                }
                match self.smallest(wanted) {
                    Some(candidate) if !flags.nofragment => {
                        let pfn = self.steal(wanted, candidate);
                        self.report(wanted, candidate);
                        Found::Block(pfn)
                    }
                    _ => Found::Nothing,
                }
            }
        }
    }

    fn candidate(&self, wanted: Wanted<'_>, order: u8) -> Option<Candidate> {
        let lists = &self.zones[wanted.z].lists[usize::from(order)];
        let list = fallbacks(wanted.mt).into_iter().find(|list| !lists[list.index()].is_empty())?;
        Some(Candidate { pfn: lists[list.index()][0], order, list })
    }

    fn largest(&self, wanted: Wanted<'_>, least: u8) -> Option<Candidate> {
        (least..=10).rev().find_map(|order| self.candidate(wanted, order))
    }

    fn smallest(&self, wanted: Wanted<'_>) -> Option<Candidate> {
        (wanted.order..=10).find_map(|order| self.candidate(wanted, order))
    }

    /// Whether the whole pageblock around a block of this order may be taken over.
    fn stealable(&self, wanted: Wanted<'_>, order: u8) -> bool {
        order >= 4 || matches!(wanted.mt, Unmovable | Reclaimable) || !self.grouping
    }

    /// Decides how a candidate and its pageblock are taken.
    fn decide(&mut self, wanted: Wanted<'_>, candidate: Candidate) -> Found {
        let Wanted { z, mt, flags, .. } = wanted;
        let hygiene = self.policy.frames.fallback.freelist_hygiene;
        let mut single = self.type_of(candidate.pfn) == HighAtomic;
        if !single && candidate.order >= 9 {
            self.claim_whole(wanted, candidate);
        } else if !single {
            self.boost(z, flags.kswapd);
            if !self.stealable(wanted, candidate.order) {
                single = true;
            } else {
                single = if hygiene { !self.claim_rest(wanted, candidate) } else { !self.lend(wanted, candidate) };
            }
        }
        let found = if single && hygiene {
            Found::Block(self.steal(wanted, candidate))
        } else {
            if single {
                self.relist(z, candidate.pfn, mt);
            }
            Found::Moved
        };
        self.report(wanted, candidate);
        found
    }

    /// Claims from the largest candidate down; says whether one could be claimed.
    fn claim_largest(&mut self, wanted: Wanted<'_>, least: u8) -> bool {
        for order in (least..=10).rev() {
            let Some(candidate) = self.candidate(wanted, order) else { continue };
            if !self.stealable(wanted, order) {
                return false;
            }
            if self.type_of(candidate.pfn) == HighAtomic {
                continue;
            }
            if order >= 9 {
                self.claim_whole(wanted, candidate);
            } else {
                self.boost(wanted.z, wanted.flags.kswapd);
                if !self.claim_rest(wanted, candidate) {
                    continue;
                }
            }
            self.report(wanted, candidate);
            return true;
        }
        false
    }

    /// Takes a candidate of whole pageblocks over.
    fn claim_whole(&mut self, wanted: Wanted<'_>, candidate: Candidate) {
        for block in 0..size(candidate.order - 9) {
            let pfn = candidate.pfn + block * PAGEBLOCK;
            if self.type_of(pfn) == HighAtomic {
                self.zones[wanted.z].reserved_highatomic -= PAGEBLOCK;
            }
            self.set_type(pfn, wanted.mt);
        }
        self.relist(wanted.z, candidate.pfn, wanted.mt);
    }

    /// Moves every free block of the candidate's pageblock to the own lists, claims it if enough of it is free or alike.
    /// Says whether anything was moved.
    fn lend(&mut self, wanted: Wanted<'_>, candidate: Candidate) -> bool {
        let survey = self.survey(wanted.z, candidate.pfn);
        let claim = self.is_claimable(wanted, candidate, &survey);
        for &pfn in &survey.free_blocks {
            self.relist(wanted.z, pfn, wanted.mt);
        }
        if claim {
            self.set_type(candidate.pfn, wanted.mt);
        }
        survey.free > 0
    }

    /// Claims the candidate's pageblock with all its free blocks, or leaves everything as it is.
    fn claim_rest(&mut self, wanted: Wanted<'_>, candidate: Candidate) -> bool {
        let survey = self.survey(wanted.z, candidate.pfn);
        let claim = self.is_claimable(wanted, candidate, &survey);
        if claim {
            self.set_type(candidate.pfn, wanted.mt);
            for &pfn in &survey.free_blocks {
                self.relist(wanted.z, pfn, wanted.mt);
            }
        }
        claim
    }

    fn is_claimable(&self, wanted: Wanted<'_>, candidate: Candidate, survey: &Survey) -> bool {
        let old = self.type_of(candidate.pfn);
        let alike = match (self.policy.frames.fallback.claim, wanted.mt, old) {
            (ClaimRule::FreeHalf, ..) => 0,
            (ClaimRule::CompatibleHalf, Movable, _) => survey.movable,
            (ClaimRule::CompatibleHalf, _, Movable) => PAGEBLOCK - survey.free - survey.movable,
            (ClaimRule::CompatibleHalf, ..) => 0,
        };
        survey.free > 0 && (survey.free + alike >= PAGEBLOCK / 2 || !self.grouping)
    }

    /// Takes the candidate alone; what is left of it stays with the type it had.
    fn steal(&mut self, wanted: Wanted<'_>, candidate: Candidate) -> u64 {
        self.take_off(wanted.z, candidate.pfn);
        self.split(wanted.z, candidate.pfn, candidate.order, wanted.order, candidate.list);
        candidate.pfn
    }

    /// Counts the frames of a pageblock, as far as it lies in its zone. Where the pageblock begins outside, counting
    /// starts at `pfn`, or gives nothing if lists must agree with pageblocks. Where it ends outside, the result is
    /// nothing.
    pub(super) fn survey(&self, z: usize, pfn: u64) -> Survey {
        let zone = &self.zones[z];
        let start = pfn / PAGEBLOCK * PAGEBLOCK;
        let end = start + PAGEBLOCK;
        let mut survey = Survey { free_blocks: Vec::new(), free: 0, movable: 0 };
        if end > zone.end || start < zone.start && self.policy.frames.fallback.freelist_hygiene {
            return survey;
        }
        let mut at = if start < zone.start { pfn } else { start };
        while at < end {
            at += match self.frame(at) {
                Frame::Free { order, .. } => {
                    survey.free_blocks.push(at);
                    survey.free += size(order);
                    size(order)
                }
                Frame::Live { movable_content: true, isolated: false, .. } => {
                    survey.movable += 1;
                    1
                }
                _ => 1,
            };
        }
        survey
    }

    fn report(&mut self, wanted: Wanted<'_>, candidate: Candidate) {
        let event = Extfrag {
            zone: self.zones[wanted.z].id,
            pfn: Pfn::new(candidate.pfn),
            alloc_order: as_order(wanted.order),
            fallback_order: as_order(candidate.order),
            alloc_migratetype: wanted.mt,
            fallback_migratetype: candidate.list,
            change_ownership: self.type_of(candidate.pfn) == wanted.mt,
        };
        let fragmenting = candidate.order < 9;
        self.tally.extfrag[wanted.mt.index()][candidate.list.index()][usize::from(fragmenting)] += 1;
        self.tally.claimed += u64::from(event.change_ownership);
        self.events.push(Event::Frame(FrameEvent::Extfrag(event)));
    }

    /// Raises the zone's watermarks after types were mixed.
    fn boost(&mut self, z: usize, kswapd: bool) {
        let Some(factor) = self.policy.frames.watermark.boost_factor else { return };
        let zone = &mut self.zones[z];
        let cap = zone.high * u64::from(factor) / 10_000;
        let too_small = self.policy.frames.watermark.boost_skips_tiny_zones && zone.managed < 4 * PAGEBLOCK;
        let boosts = factor != 0 && !too_small && cap != 0;
        if boosts {
            let before = zone.boost;
            zone.boost = (before + PAGEBLOCK).min(cap.max(PAGEBLOCK));
            self.tally.boost_added += zone.boost.saturating_sub(before);
            self.tally.boost_saturated += u64::from(zone.boost <= before);
        }
        if kswapd && (boosts || self.policy.frames.watermark.wake_without_boost) {
            zone.boosted = true;
        }
    }
}

/// Contents of one pageblock.
pub(super) struct Survey {
    /// First frames of its free blocks, ascending.
    pub(super) free_blocks: Vec<u64>,
    /// Number of free pages.
    pub(super) free: u64,
    /// Pages that are not free and can be moved.
    pub(super) movable: u64,
}
