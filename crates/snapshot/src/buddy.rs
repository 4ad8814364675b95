//! Free memory as the buddy allocator keeps it.
//!
//! The allocator merges whatever it can, so a maximal run of free frames splits into blocks in exactly one way: neither
//! a snapshot nor `synth` has to record the orders of free blocks. Knows nothing of zones: the caller ends a run where
//! a zone ends, because blocks of two zones never merge.

use order9_units::{Order, Pages, Pfn, PfnRange};

/// The buddy blocks that a run of free frames consists of, upward: naturally aligned, as large as alignment, the run
/// and [`Order::MAX`] allow.
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

/// Number of free blocks by order, added to `counts`, in frames of which each bit of `words` says whether it is free:
/// bit 0 of the first word is `first`, a multiple of 64.
pub fn count_free_words(first: Pfn, words: impl IntoIterator<Item = u64>, counts: &mut [u64; Order::COUNT]) {
    // Frames of a word merge only inside of it, unless the whole word is free: then it is part of a run of such words.
    let mut run = PfnRange::new(first, first);
    for word in words {
        let next = run.end + WORD_PAGES;
        if word == u64::MAX {
            run.end = next;
            continue;
        }
        count_free_blocks(run, counts);
        run = PfnRange::new(next, next);
        count_in_word(word, counts);
    }
    count_free_blocks(run, counts);
}

/// Frames per word of a bitmap.
const WORD_PAGES: Pages = Pages::new(u64::BITS as u64);

/// Adds the free blocks of a word that is not wholly free.
fn count_in_word(word: u64, counts: &mut [u64; Order::COUNT]) {
    // Bit i of `heads`: an aligned group of `1 << order` frames that starts there is free.
    const ALIGNED: [u64; 6] = [!0 / 3, !0 / 15, !0 / 255, !0 / 0xffff, !0 / 0xffff_ffff, 1];
    let mut heads = word;
    for (order, aligned) in ALIGNED.into_iter().enumerate() {
        let pairs = heads & (heads >> (1 << order)) & aligned;
        counts[order] += u64::from(heads.count_ones() - 2 * pairs.count_ones());
        heads = pairs;
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
    fn bitmaps_count_as_their_runs() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            random >> 33
        };
        for _ in 0..200 {
            let first = next() % 64 * 64;
            let words: Vec<u64> = (0..next() % 80)
                .map(|_| match next() % 4 {
                    0 => next() << 32 | next(),
                    1 => u64::MAX << (next() % 64),
                    _ => u64::MAX,
                })
                .collect();
            let mut expected = [0; Order::COUNT];
            let mut open = first;
            let end = first + words.len() as u64 * 64;
            for pfn in first..=end {
                let at = (pfn - first) as usize;
                if pfn == end || words[at / 64] >> (at % 64) & 1 == 0 {
                    free_blocks(run(open, pfn)).for_each(|(_, order)| expected[order.index()] += 1);
                    open = pfn + 1;
                }
            }
            let mut counts = [0; Order::COUNT];
            count_free_words(Pfn::new(first), words, &mut counts);
            assert_eq!(counts, expected);
        }
    }

    #[test]
    fn the_last_frames_of_the_address_space_do_not_overflow() {
        let blocks: Vec<_> = free_blocks(run(u64::MAX - 3, u64::MAX)).collect();
        assert_eq!(blocks.iter().map(|&(_, order)| order.pages()).sum::<Pages>(), Pages::new(3));
    }
}
