//! Free blocks of kernels that flag only their first frame.

use std::collections::{BTreeMap, BTreeSet};

use order9_units::{Order, Pages, Pfn};

use super::FrameClass;
use super::presence::Chunks;
use super::state::Token;
use crate::ZoneInfo;
use crate::flags::kpf;

/// Pairs of flagged buddies that settle the question. More than one, since the map changes while it is read.
const PAIRS_ENOUGH: u64 = 8;

/// Whether only the first frame of a free block carries BUDDY, as before 4.6.
///
/// Two buddies of order 0 that are both flagged belong to one larger block: the allocator would have merged them. So
/// where every frame is flagged there are such pairs, at least one for each free block of order 1 or more.
pub(super) fn only_heads_are_flagged(chunks: &Chunks<'_>, zones: &[ZoneInfo]) -> bool {
    let larger: u64 = zones.iter().flat_map(|zone| &zone.free_blocks[1..]).sum();
    let enough = PAIRS_ENOUGH.min(larger.div_ceil(2));
    let mut pairs = 0;
    for &(_, chunk) in chunks {
        if pairs >= enough {
            return false;
        }
        let free: Vec<bool> = chunk.palette().iter().map(|state| state.flags & kpf::BUDDY != 0).collect();
        if !free.contains(&true) {
            continue;
        }
        let (mut even, mut is_even) = (false, true);
        chunk.for_each_index(|at| {
            pairs += u64::from(!is_even && even && free[at]);
            (even, is_even) = (free[at], !is_even);
        });
    }
    pairs < enough
}

/// Orders of free blocks that are known to be smaller than the map alone suggests, by first frame.
pub(super) type Cuts = BTreeMap<Pfn, Order>;

/// Marks the frames behind each flagged head as free. The first token is that of frame `first`.
pub(super) fn extend_free_blocks(tokens: &mut [Token], first: Pfn, cuts: &Cuts) {
    let mut blocks = Vec::new();
    for_each_block(tokens, first, cuts, |start, order| blocks.push((start, order)));
    for (start, order) in blocks {
        let at = (start - first).get() as usize;
        tokens[at..at + order.pages().get() as usize].fill(Token::of(FrameClass::Free));
    }
}

/// Calls `each` with the free blocks of which only the first frame is flagged, upward. A block reaches as far as its
/// alignment, the largest order and the frames that follow without any flag allow, unless `cuts` says less.
pub(super) fn for_each_block(tokens: &[Token], first: Pfn, cuts: &Cuts, mut each: impl FnMut(Pfn, Order)) {
    let (free, flagless) = (Token::of(FrameClass::Free), Token::of(FrameClass::Unknown));
    let largest = Order::MAX.pages().get() as usize;
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] != free {
            at += 1;
            continue;
        }
        let start = first + Pages::new(at as u64);
        let open = 1 + tokens[at + 1..].iter().take(largest).take_while(|&&token| token == flagless).count();
        let order = cuts.get(&start).copied().unwrap_or_else(|| largest_order(start, open));
        each(start, order);
        at += order.pages().get() as usize;
    }
}

/// The blocks of a zone that have to be smaller for no order to have more free blocks than `listed` in /proc/buddyinfo.
///
/// Largest first, what is too many of one order goes down to the next. Two buddies of one order would be one block of the
/// next, so one of such a pair is too large, whatever the lists say: the lower one goes down. Of the others the lowest go
/// first, since the kernel's own pages mostly lie low. Every head is one free frame: order 0 may stay above its number.
pub(super) fn reconcile(blocks: &[(Pfn, Order)], listed: &[u64; Order::COUNT]) -> Cuts {
    let mut cuts = Cuts::new();
    let mut by_order: [BTreeSet<Pfn>; Order::COUNT] = Default::default();
    for &(start, order) in blocks {
        by_order[order.index()].insert(start);
    }
    for order in Order::all().rev() {
        let Some(down) = order.down() else { break };
        let starts = std::mem::take(&mut by_order[order.index()]);
        let is_lower_of_pair =
            |start: &Pfn| order < Order::MAX && *start < start.buddy(order) && starts.contains(&start.buddy(order));
        let (pairs, others): (Vec<Pfn>, Vec<Pfn>) = starts.iter().partition(|start| is_lower_of_pair(start));
        let listed = usize::try_from(listed[order.index()]).unwrap_or(usize::MAX);
        let too_many = starts.len().saturating_sub(listed).max(pairs.len());
        for start in pairs.into_iter().chain(others).take(too_many) {
            cuts.insert(start, down);
            by_order[down.index()].insert(start);
        }
    }
    cuts
}

/// Order of the largest block that may start at `pfn` and has at most `open` frames.
fn largest_order(pfn: Pfn, open: usize) -> Order {
    let fits = |order: &Order| pfn.is_aligned(*order) && order.pages().get() as usize <= open;
    Order::all().rev().find(fits).unwrap_or(Order::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameMapBuilder, FrameState};

    const FREE: Token = Token::of(FrameClass::Free);
    const UNKNOWN: Token = Token::of(FrameClass::Unknown);
    const ANON: Token = Token::of(FrameClass::Anon);

    fn free_frames(tokens: &[Token]) -> Vec<usize> {
        (0..tokens.len()).filter(|&i| tokens[i] == FREE).collect()
    }

    #[test]
    fn blocks_end_at_their_alignment_and_at_frames_in_use() {
        let mut tokens = vec![UNKNOWN; 32];
        tokens[1] = FREE;
        tokens[4] = FREE;
        tokens[7] = ANON;
        tokens[16] = FREE;
        extend_free_blocks(&mut tokens, Pfn::new(1024), &Cuts::new());
        assert_eq!(free_frames(&tokens), [vec![1, 4, 5], (16..32).collect()].concat());
    }

    #[test]
    fn alignment_counts_from_the_start_of_memory() {
        let mut tokens = vec![UNKNOWN; 1024];
        tokens[0] = FREE;
        extend_free_blocks(&mut tokens, Pfn::new(512), &Cuts::new());
        assert_eq!(free_frames(&tokens).len(), 512);
    }

    #[test]
    fn no_order_has_more_blocks_than_listed() {
        let order = |n| Order::new(n).unwrap();
        let blocks = [(0, 2), (4, 2), (16, 2), (24, 3), (40, 0)].map(|(pfn, n)| (Pfn::new(pfn), order(n)));
        let mut listed = [0; Order::COUNT];
        listed[..4].copy_from_slice(&[1, 1, 2, 1]);
        assert_eq!(reconcile(&blocks, &listed), [(Pfn::new(0), order(1))].into());
        listed[3] = 0;
        let cuts: Cuts = [(Pfn::new(0), order(0)), (Pfn::new(4), order(1)), (Pfn::new(24), order(2))].into();
        assert_eq!(reconcile(&blocks, &listed), cuts);
        let mut tokens = vec![UNKNOWN; 48];
        blocks.iter().for_each(|(start, _)| tokens[start.get() as usize] = FREE);
        (tokens[20], tokens[41]) = (ANON, ANON);
        extend_free_blocks(&mut tokens, Pfn::new(0), &cuts);
        assert_eq!(free_frames(&tokens), [0, 4, 5, 16, 17, 18, 19, 24, 25, 26, 27, 40]);
    }

    #[test]
    fn flagged_buddies_tell_the_kernels_apart() {
        let zone = |free_blocks| ZoneInfo { free_blocks, ..crate::classify::tests::zone(0, 64) };
        let is_heads_only = |flagged: &[u64], free_blocks| {
            let mut map = FrameMapBuilder::new();
            (0..64).for_each(|i| {
                let flags = if flagged.contains(&i) { kpf::BUDDY } else { 0 };
                map.push(FrameState { flags, count: 0 });
            });
            let map = map.finish();
            only_heads_are_flagged(&map.chunks().collect::<Vec<_>>(), &[zone(free_blocks)])
        };
        let one_of_order_3 = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert!(is_heads_only(&[8], one_of_order_3));
        assert!(!is_heads_only(&[8, 9, 10, 11, 12, 13, 14, 15], one_of_order_3));
        assert!(!is_heads_only(&[3, 5], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    }
}
