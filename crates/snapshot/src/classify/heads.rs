//! Free blocks of kernels that flag only their first frame.

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

/// Marks the frames behind each flagged head as free: as many as its alignment, the largest order and the frames that
/// follow without any flag allow. The first token is that of frame `first`.
pub(super) fn extend_free_blocks(tokens: &mut [Token], first: Pfn) {
    let (free, flagless) = (Token::of(FrameClass::Free), Token::of(FrameClass::Unknown));
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] != free {
            at += 1;
            continue;
        }
        let largest = Order::MAX.pages().get() as usize;
        let open = 1 + tokens[at + 1..].iter().take(largest).take_while(|&&token| token == flagless).count();
        let block = largest_block(first + Pages::new(at as u64), open);
        tokens[at..at + block].fill(free);
        at += block;
    }
}

/// Frames of the largest block that may start at `pfn` and has at most `open` frames.
fn largest_block(pfn: Pfn, open: usize) -> usize {
    let fits = |order: &Order| pfn.is_aligned(*order) && order.pages().get() as usize <= open;
    Order::all().rev().find(fits).unwrap_or(Order::ZERO).pages().get() as usize
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
        extend_free_blocks(&mut tokens, Pfn::new(1024));
        assert_eq!(free_frames(&tokens), [vec![1, 4, 5], (16..32).collect()].concat());
    }

    #[test]
    fn alignment_counts_from_the_start_of_memory() {
        let mut tokens = vec![UNKNOWN; 1024];
        tokens[0] = FREE;
        extend_free_blocks(&mut tokens, Pfn::new(512));
        assert_eq!(free_frames(&tokens).len(), 512);
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
