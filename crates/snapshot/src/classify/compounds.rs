//! Compound pages: their tails take the class of their head, and whole pageblocks of one are huge pages.

use order9_units::PAGEBLOCK_PAGES;

use super::FrameClass;
use super::presence::Chunks;
use super::state::Token;
use crate::Chunk;
use crate::frames::Index;

const PAGEBLOCK: usize = PAGEBLOCK_PAGES.get() as usize;

/// Whether compaction of a kernel release moves folios of more than one page: it does from 6.9 on. Releases that are no
/// Linux release are taken to.
pub(super) fn compaction_moves_large_folios(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 9),
        _ => true,
    }
}

/// For each chunk, the class of the compound page that its first frames continue.
pub(super) fn carried(chunks: &Chunks<'_>) -> Vec<Option<FrameClass>> {
    let mut open = None;
    chunks
        .iter()
        .map(|(_, chunk)| {
            let into = open;
            open = open_at_end(chunk, into);
            into
        })
        .collect()
}

/// The class of the compound page that a chunk's last frame is part of.
fn open_at_end(chunk: &Chunk, into: Option<FrameClass>) -> Option<FrameClass> {
    let token = |offset| Token::of_state(chunk.get(offset));
    if matches!(chunk.index(), Index::Uniform) && token(0).is_tail() {
        return into;
    }
    match (0..chunk.len()).rev().map(token).find(|token| !token.is_tail()) {
        Some(last) => last.is_head().then(|| last.class()),
        None => into,
    }
}

/// Gives every tail the class of its head, `carried` for the tails at the start; then names huge pages and, where
/// compaction does not `move_large_folios`, folios that stay. `tokens` are whole pageblocks.
pub(super) fn resolve(tokens: &mut [Token], carried: Option<FrameClass>, move_large_folios: bool) {
    let mut open = carried;
    for block in tokens.chunks_exact_mut(PAGEBLOCK) {
        if !block.iter().fold(false, |any, token| any | token.is_compound()) {
            open = None;
            continue;
        }
        for token in block.iter_mut() {
            if token.is_tail() {
                *token = token.with_class(open.unwrap_or(token.class()));
            } else {
                open = token.is_head().then(|| token.class());
            }
        }
        name_huge(block, move_large_folios);
    }
}

fn name_huge(block: &mut [Token], move_large_folios: bool) {
    let whole = block[0].is_compound() && block[1..].iter().fold(true, |all, token| all & token.is_tail());
    if whole {
        if let Some(huge) = block[0].class().as_huge() {
            block.iter_mut().for_each(|token| *token = token.with_class(huge));
        }
    } else if !move_large_folios {
        for token in block.iter_mut().filter(|token| token.is_compound() && token.class().is_movable()) {
            *token = token.with_class(FrameClass::LargeFolio);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameState;
    use crate::flags::kpf;

    fn token(flags: u64) -> Token {
        Token::of_state(FrameState { flags, count: 0 })
    }

    fn classes(tokens: &[Token]) -> Vec<FrameClass> {
        tokens.iter().map(|token| token.class()).collect()
    }

    const HEAD: u64 = kpf::COMPOUND_HEAD;
    const TAIL: u64 = kpf::COMPOUND_TAIL;
    const FILE: u64 = kpf::LRU | kpf::UPTODATE;

    #[test]
    fn tails_without_flags_inherit_from_their_head() {
        let mut tokens = vec![token(0); PAGEBLOCK];
        tokens[0] = token(HEAD | kpf::SLAB);
        tokens[1..4].fill(token(TAIL));
        tokens[8] = token(HEAD | FILE);
        tokens[9] = token(TAIL);
        tokens[11] = token(TAIL);
        resolve(&mut tokens, None, true);
        let classes = classes(&tokens);
        assert_eq!(classes[..5], [[FrameClass::Slab; 4].as_slice(), &[FrameClass::Unknown]].concat());
        assert_eq!(
            classes[8..12],
            [FrameClass::FileClean, FrameClass::FileClean, FrameClass::Unknown, FrameClass::Unknown,]
        );
    }

    #[test]
    fn only_whole_pageblocks_are_huge() {
        let mut tokens = vec![token(TAIL); 2 * PAGEBLOCK];
        tokens[0] = token(HEAD | kpf::ANON);
        tokens[PAGEBLOCK] = token(HEAD | kpf::ANON);
        tokens[2 * PAGEBLOCK - 1] = token(kpf::ANON);
        let mut old = tokens.clone();
        resolve(&mut tokens, None, true);
        assert_eq!(tokens[PAGEBLOCK - 1].class(), FrameClass::AnonHuge);
        assert_eq!(tokens[PAGEBLOCK + 1].class(), FrameClass::Anon);
        resolve(&mut old, None, false);
        assert_eq!(old[PAGEBLOCK + 1].class(), FrameClass::LargeFolio);
        assert_eq!(old[2 * PAGEBLOCK - 1].class(), FrameClass::Anon);
    }

    #[test]
    fn a_compound_page_reaches_into_the_next_chunk() {
        let mut tokens = vec![token(TAIL); PAGEBLOCK];
        resolve(&mut tokens, Some(FrameClass::Hugetlb), true);
        assert_eq!(tokens[0].class(), FrameClass::Hugetlb);
    }

    #[test]
    fn releases_are_compared_by_number() {
        assert!(compaction_moves_large_folios("6.18.5-cloud"));
        assert!(compaction_moves_large_folios("6.9.0"));
        assert!(!compaction_moves_large_folios("6.8.12-generic"));
        assert!(!compaction_moves_large_folios("5.10"));
        assert!(compaction_moves_large_folios("lab"));
    }
}
