//! Deals contents to the frames of a chunk.

use std::ops::Range;

use order9_units::{Order, PfnRange};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

use super::content::Content;
use super::plan::{BLOCK, Role, ZonePlan};
use super::spec::{Pattern, SynthSpec};
use super::urn::{Urn, below};
use crate::frames::CHUNK_PAGES;

/// Paints the managed frames of one zone in one chunk. Chunks must come upward: each takes its part of what is left.
pub(super) fn paint(spec: &SynthSpec, plan: &mut ZonePlan, part: PfnRange, cells: &mut [u8]) {
    let mut rng = plan.stream(spec, part.start.get() / CHUNK_PAGES as u64);
    let mut brush = Brush::begin(spec.pattern, plan, part);
    let mut rest = cells;
    for (i, role) in plan.roles()[role_range(plan, part)].iter().enumerate() {
        // Only the first pageblock of a zone can be cut, by its start.
        let cut = if i == 0 { part.start.get() % BLOCK } else { 0 };
        let (block, tail) = rest.split_at_mut((BLOCK - cut) as usize);
        rest = tail;
        match role {
            Role::Free => block.fill(Content::Free as u8),
            Role::Huge => {
                block.fill(Content::HugeTail as u8);
                block[0] = Content::HugeHead as u8;
            }
            Role::Reclaimable => block.fill(Content::SlabReclaimable as u8),
            Role::Unmovable => deal(block, &mut brush.kernel, geometric, &mut rng),
            Role::Mixed => brush.mix(block, &mut rng),
            Role::Contaminated => {
                let (low, high) = block.split_at_mut(below(&mut rng, BLOCK) as usize);
                brush.mix(low, &mut rng);
                deal(&mut high[..1], &mut brush.kernel, |_| 1, &mut rng);
                brush.mix(&mut high[1..], &mut rng);
            }
        }
    }
}

/// Positions in the plan's roles of the pageblocks of `part`.
fn role_range(plan: &ZonePlan, part: PfnRange) -> Range<usize> {
    let from = part.start.align_down(Order::PAGEBLOCK) - plan.first_block();
    let to = part.end - plan.first_block();
    (from.get() / BLOCK) as usize..(to.get() / BLOCK) as usize
}

/// Contents that are dealt in one chunk, and the way of dealing.
struct Brush {
    pattern: Pattern,
    mixed: Urn,
    kernel: Urn,
    // Of `Pattern::Checkerboard`: `free` of `total` frames are free; grows by `free` per frame, a free frame costs
    // `total`.
    free: u64,
    total: u64,
    due: u64,
}

impl Brush {
    /// Takes this chunk's part out of the urns of its zone.
    fn begin(pattern: Pattern, plan: &mut ZonePlan, part: PfnRange) -> Self {
        let roles = &plan.roles()[role_range(plan, part)];
        let count = |role| roles.iter().filter(|&&found| found == role).count() as u64;
        let contaminated = count(Role::Contaminated);
        let kernel = count(Role::Unmovable) * BLOCK + contaminated;
        let mixed = (count(Role::Mixed) + contaminated) * BLOCK - contaminated;
        let kernel = plan.kernel.split(kernel);
        let mixed = match pattern {
            Pattern::Packed => plan.mixed.split_in_order(mixed),
            _ => plan.mixed.split(mixed),
        };
        Self { pattern, free: mixed.count(Content::Free), total: mixed.total(), due: 0, mixed, kernel }
    }

    fn mix(&mut self, cells: &mut [u8], rng: &mut Pcg32) {
        match self.pattern {
            Pattern::Packed => self.deal_in_order(cells),
            Pattern::Random | Pattern::Contaminated => deal(cells, &mut self.mixed, |_| 1, rng),
            Pattern::Clustered => deal(cells, &mut self.mixed, geometric, rng),
            Pattern::Checkerboard => self.deal_evenly(cells, rng),
            Pattern::Aged => deal(cells, &mut self.mixed, |rng| 1 << below(rng, 9), rng),
        }
    }

    /// One content after the other, free frames last.
    fn deal_in_order(&mut self, cells: &mut [u8]) {
        for cell in cells {
            let content = self.mixed.first();
            self.mixed.take(content, 1);
            *cell = content as u8;
        }
    }

    /// Free frames at equal distances over all mixed frames of the chunk, between them what the urn gives.
    fn deal_evenly(&mut self, cells: &mut [u8], rng: &mut Pcg32) {
        for cell in cells {
            self.due += self.free;
            let content = if self.due >= self.total {
                self.due -= self.total;
                Content::Free
            } else {
                self.mixed.draw_used(rng)
            };
            self.mixed.take(content, 1);
            *cell = content as u8;
        }
    }
}

/// Fills `cells` from the urn, in runs of one content whose lengths `run` gives.
fn deal(cells: &mut [u8], urn: &mut Urn, run: impl Fn(&mut Pcg32) -> u64, rng: &mut Pcg32) {
    let mut rest = cells;
    while !rest.is_empty() {
        let content = urn.draw(rng);
        let len = urn.take(content, run(rng).min(rest.len() as u64));
        let (cells, tail) = rest.split_at_mut(len as usize);
        cells.fill(content as u8);
        rest = tail;
    }
}

/// A run length of 1 or more from a geometric distribution with a mean of 32: after each frame the run ends with
/// probability 1/32, which takes five random bits.
fn geometric(rng: &mut Pcg32) -> u64 {
    let mut len = 1;
    loop {
        let mut bits = rng.next_u32();
        for _ in 0..6 {
            if bits & 31 == 0 {
                return len;
            }
            bits >>= 5;
            len += 1;
        }
    }
}
