//! Free memory as the buddy allocator keeps it.
//!
//! The allocator merges whatever it can, so a maximal run of free frames splits into blocks in exactly one way: neither a
//! snapshot nor `synth` has to record the orders of free blocks.
//! Knows nothing of zones: the caller ends a run where a zone ends, because blocks of two zones never merge.

use order9_units::{Order, Pages, Pfn, PfnRange};

/// The buddy blocks that a run of free frames consists of, upward: naturally aligned, as large as alignment, the run and
/// [`Order::MAX`] allow.
///
/// The run should be maximal: frames just outside of it are in use, or belong to another zone.
pub fn free_blocks(run: PfnRange) -> impl Iterator<Item = (Pfn, Order)> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let order = largest_block(rest)?;
        let block = rest.start;
        rest.start += order.pages();
        Some((block, order))
    })
}

/// Number of free blocks by order in a run of free frames, added to `counts`.
pub fn count_free_blocks(run: PfnRange, counts: &mut [u64; Order::COUNT]) {
    // Long runs are mostly blocks of the largest order: those are counted, not visited.
    let largest = PfnRange::new(run.start.align_up(Order::MAX), run.end.align_down(Order::MAX));
    if largest.is_empty() {
        free_blocks(run).for_each(|(_, order)| counts[order.index()] += 1);
        return;
    }
    counts[Order::MAX.index()] += largest.len().get() / Order::MAX.pages().get();
    for edge in [PfnRange::new(run.start, largest.start), PfnRange::new(largest.end, run.end)] {
        free_blocks(edge).for_each(|(_, order)| counts[order.index()] += 1);
    }
}

/// Order of the block at the start of a run; `None` for an empty one.
fn largest_block(run: PfnRange) -> Option<Order> {
    let aligned = run.start.get().trailing_zeros().min(u32::from(Order::MAX.get()));
    let fitting = nonzero(run.len())?.ilog2();
    Order::new(aligned.min(fitting) as u8)
}

fn nonzero(length: Pages) -> Option<std::num::NonZeroU64> {
    std::num::NonZeroU64::new(length.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: u64, end: u64) -> PfnRange {
        PfnRange::new(Pfn::new(start), Pfn::new(end))
    }

    /// Frees the frames one by one and merges buddies until nothing changes, as the allocator does.
    fn merged(run: PfnRange) -> Vec<(Pfn, Order)> {
        let mut blocks: Vec<_> = run.iter().map(|pfn| (pfn, Order::ZERO)).collect();
        for order in Order::all() {
            let Some(up) = order.up() else { break };
            let mut next = Vec::new();
            let mut rest = blocks.as_slice();
            while let [(pfn, of), tail @ ..] = rest {
                let merges = *of == order && pfn.is_aligned(up) && tail.first() == Some(&(pfn.buddy(order), order));
                next.push((*pfn, if merges { up } else { *of }));
                rest = if merges { &tail[1..] } else { tail };
            }
            blocks = next;
        }
        blocks
    }

    #[test]
    fn runs_split_as_merging_would_build_them() {
        for start in (0..70).chain(1000..1060) {
            for len in (0..80).chain([511, 512, 513, 1024, 3000]) {
                let run = run(start, start + len);
                assert_eq!(free_blocks(run).collect::<Vec<_>>(), merged(run), "{run:?}");
            }
        }
    }

    #[test]
    fn counting_equals_visiting() {
        for start in [0, 1, 511, 512, 1023, 1024, 1025] {
            for len in [0, 1, 512, 1023, 1024, 2047, 2048, 2049, 9999] {
                let mut counts = [0; Order::COUNT];
                count_free_blocks(run(start, start + len), &mut counts);
                let mut visited = [0; Order::COUNT];
                free_blocks(run(start, start + len)).for_each(|(_, order)| visited[order.index()] += 1);
                assert_eq!(counts, visited, "{len} frames from {start}");
            }
        }
    }

    #[test]
    fn the_last_frames_of_the_address_space_do_not_overflow() {
        let blocks: Vec<_> = free_blocks(run(u64::MAX - 3, u64::MAX)).collect();
        assert_eq!(blocks.iter().map(|&(_, order)| order.pages()).sum::<Pages>(), Pages::new(3));
    }
}
