//! The frames of every zone, class by class.

use order9_units::{Order, Pages, Pfn, PfnRange};

use super::presence::{Presence, within};
use super::state::Token;
use super::{FrameClass, compounds, heads};
use crate::frames::{CHUNK_PAGES, Index};
use crate::{Chunk, FrameState, Snapshot, ZoneInfo};

/// A memory map with its zones, ready to be classified. Borrowed from a snapshot; holds nothing per frame.
#[derive(Debug)]
pub struct Layout<'a> {
    chunks: Vec<(Pfn, &'a Chunk)>,
    zones: Vec<LayoutZone<'a>>,
    /// Whether only the first frame of a free block is flagged, as before 4.6.
    free_heads_only: bool,
    /// Free blocks that are smaller than the map alone suggests, by position.
    cuts: heads::Cuts,
    /// Whether this kernel's compaction moves folios of 2 to 256 pages.
    moves_large_folios: bool,
    /// Class of frames on the unevictable list. Compaction may have been told to leave such frames.
    unevictable: FrameClass,
    /// Class of the compound page that reaches into each chunk from the one before.
    carried: Vec<Option<FrameClass>>,
    problems: Vec<String>,
}

/// A zone of a [`Layout`].
#[derive(Debug)]
pub struct LayoutZone<'a> {
    info: &'a ZoneInfo,
    presence: Presence,
}

/// Zones and map that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The snapshot has no map of frames.
    #[error("the snapshot has no map of frames: /proc/kpageflags was not read (that needs root)")]
    NoMap,
    /// A zone ends behind the map.
    #[error("{zone} ends at pfn {end}, but the map of frames ends at pfn {map_end}")]
    MapShort {
        /// Node and zone.
        zone: String,
        /// One past the zone's last frame.
        end: Pfn,
        /// One past the map's last frame.
        map_end: Pfn,
    },
    /// Two zones share frames; which zone a frame belongs to is then unknown.
    #[error("{first} and {second} overlap at pfn {at}: interleaved nodes are not supported")]
    Overlap {
        /// Node and zone of the first.
        first: String,
        /// Node and zone of the second.
        second: String,
        /// First frame in both.
        at: Pfn,
    },
}

/// The part of one zone that lies in one chunk of the map, widened to whole pageblocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Position of the zone.
    pub(crate) zone: usize,
    /// Frames of the piece: whole pageblocks.
    pub(crate) range: PfnRange,
    chunk: usize,
}

impl<'a> Layout<'a> {
    /// Prepares a snapshot's map.
    ///
    /// # Errors
    /// See [`LayoutError`]. Smaller contradictions are only reported, see [`Layout::problems`].
    pub fn of(snapshot: &'a Snapshot) -> Result<Self, LayoutError> {
        let map = snapshot.frames.as_ref().ok_or(LayoutError::NoMap)?;
        let chunks: Vec<_> = map.chunks().collect();
        let infos: Vec<_> = snapshot.zones.iter().filter(|zone| zone.span.start < zone.span.end).collect();
        check_spans(&infos, Pfn::new(map.len().get()))?;
        let mut problems = Vec::new();
        let zones = infos
            .into_iter()
            .map(|info| LayoutZone { info, presence: Presence::of(snapshot, &chunks, info, &mut problems) })
            .collect();
        let mut layout = Self {
            cuts: heads::Cuts::new(),
            free_heads_only: heads::only_heads_are_flagged(&chunks, &snapshot.zones),
            moves_large_folios: compounds::compaction_moves_large_folios(&snapshot.machine.kernel_release),
            unevictable: match snapshot.settings.get("/proc/sys/vm/compact_unevictable_allowed").map(String::as_str) {
                Some("0") => FrameClass::Pinned,
                _ => FrameClass::Unevictable,
            },
            carried: compounds::carried(&chunks),
            chunks,
            zones,
            problems,
        };
        if layout.free_heads_only {
            layout.cuts = (0..layout.zones.len()).flat_map(|zone| layout.cuts_of(zone)).collect();
        }
        Ok(layout)
    }

    /// The free blocks of a zone that have to be smaller for their numbers to fit those of /proc/buddyinfo.
    fn cuts_of(&self, zone: usize) -> heads::Cuts {
        let (mut tokens, mut blocks) = (Vec::new(), Vec::new());
        for piece in self.pieces(zone) {
            self.read(&piece, &mut tokens);
            heads::for_each_block(&tokens, piece.range.start, &self.cuts, |start, order| blocks.push((start, order)));
        }
        heads::reconcile(&blocks, &self.zones[zone].info.free_blocks)
    }

    /// The zones with at least one frame in their span, in the snapshot's order.
    #[must_use]
    pub fn zones(&self) -> &[LayoutZone<'a>] {
        &self.zones
    }

    /// Contradictions found so far, one sentence each.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Whether the kernel flags only the first frame of a free block; the orders of free blocks are then a guess bounded
    /// by alignment and by the next frame in use.
    #[must_use]
    pub fn free_heads_only(&self) -> bool {
        self.free_heads_only
    }

    /// Calls `each` with the classes of a zone's frames, upward, in slices of at most [`CHUNK_PAGES`] frames that start
    /// at the given frame. Together they cover the zone's span.
    pub fn for_each_chunk(&self, zone: usize, mut each: impl FnMut(Pfn, &[FrameClass])) {
        let (mut tokens, mut classes) = (Vec::new(), Vec::new());
        let span = self.zones[zone].info.span;
        for piece in self.pieces(zone) {
            self.classify(&piece, &mut tokens);
            let part = piece.range.intersect(span);
            let skip = (part.start - piece.range.start).get() as usize;
            classes.clear();
            classes.extend(tokens[skip..skip + part.len().get() as usize].iter().map(|token| token.class()));
            each(part.start, &classes);
        }
    }

    /// The pieces of a zone, upward.
    pub(crate) fn pieces(&self, zone: usize) -> impl Iterator<Item = Piece> {
        let span = self.zones[zone].info.span;
        let chunk_of = |pfn: Pfn| pfn.get() as usize / CHUNK_PAGES;
        let last = chunk_of(Pfn::new(span.end.get() - 1));
        (chunk_of(span.start)..=last).map(move |chunk| {
            let first = Pfn::new((chunk * CHUNK_PAGES) as u64);
            let part = PfnRange::of(first, Pages::new(CHUNK_PAGES as u64)).intersect(span);
            let range = PfnRange::new(part.start.align_down(Order::PAGEBLOCK), part.end.align_up(Order::PAGEBLOCK));
            Piece { zone, range, chunk }
        })
    }

    fn token_of(&self, state: FrameState) -> Token {
        let token = Token::of_state(state);
        if token.class() == FrameClass::Unevictable { token.with_class(self.unevictable) } else { token }
    }

    /// Writes to `tokens` what each frame's state says by itself, in place of what was there. Returns what each state of
    /// the piece's chunk says.
    fn read(&self, piece: &Piece, tokens: &mut Vec<Token>) -> Vec<Token> {
        let presence = &self.zones[piece.zone].presence;
        let (first, chunk) = self.chunks[piece.chunk];
        let table: Vec<Token> = chunk.palette().iter().map(|&state| self.token_of(state)).collect();
        tokens.clear();
        tokens.resize(piece.range.len().get() as usize, Token::HOLE);
        for range in within(&presence.ranges, piece.range)
            .iter()
            .map(|range| range.intersect(piece.range))
            .filter(|range| !range.is_empty())
        {
            let from = (range.start - first).get() as usize;
            let out = &mut tokens[offsets(piece, range)];
            match chunk.index() {
                Index::Uniform => out.fill(table[0]),
                Index::Narrow(at) => {
                    out.iter_mut().zip(&at[from..]).for_each(|(token, &i)| *token = table[usize::from(i)]);
                }
                Index::Wide(at) => {
                    out.iter_mut().zip(&at[from..]).for_each(|(token, &i)| *token = table[usize::from(i)]);
                }
            }
        }
        table
    }

    /// Writes the tokens of a piece's frames to `tokens`, in place of what was there.
    pub(crate) fn classify(&self, piece: &Piece, tokens: &mut Vec<Token>) {
        let presence = &self.zones[piece.zone].presence;
        let (first, _) = self.chunks[piece.chunk];
        let table = self.read(piece, tokens);
        let may = |class: fn(Token) -> bool| table.iter().any(|&token| class(token));
        if self.free_heads_only && may(|token| token.class() == FrameClass::Free) {
            heads::extend_free_blocks(tokens, piece.range.start, &self.cuts);
        }
        if may(Token::is_compound) {
            compounds::resolve(
                tokens,
                self.carried[piece.chunk].filter(|_| piece.range.start == first),
                self.moves_large_folios,
            );
        }
        for (ranges, class) in [
            (std::slice::from_ref(&presence.deferred), FrameClass::Deferred),
            (presence.offline.as_slice(), FrameClass::Offline),
        ] {
            for range in within(ranges, piece.range).iter().map(|range| range.intersect(piece.range)) {
                tokens[offsets(piece, range)].fill(Token::of(class));
            }
        }
    }
}

impl<'a> LayoutZone<'a> {
    /// The zone as the snapshot has it.
    #[must_use]
    pub fn info(&self) -> &'a ZoneInfo {
        self.info
    }

    /// The frames at the top of the zone that exist but that the allocator has not been given yet.
    #[must_use]
    pub fn deferred(&self) -> PfnRange {
        self.presence.deferred
    }
}

/// Position of a range's frames among those of a piece; nothing for a range outside of it.
fn offsets(piece: &Piece, range: PfnRange) -> std::ops::Range<usize> {
    if range.is_empty() {
        return 0..0;
    }
    (range.start - piece.range.start).get() as usize..(range.end - piece.range.start).get() as usize
}

fn check_spans(zones: &[&ZoneInfo], map_end: Pfn) -> Result<(), LayoutError> {
    let name = |zone: &ZoneInfo| format!("node {} zone {}", zone.node, zone.kind);
    if let Some(zone) = zones.iter().find(|zone| zone.span.end > map_end) {
        return Err(LayoutError::MapShort { zone: name(zone), end: zone.span.end, map_end });
    }
    let mut by_start = zones.to_vec();
    by_start.sort_by_key(|zone| zone.span.start);
    match by_start.windows(2).find(|pair| pair[1].span.start < pair[0].span.end) {
        Some(pair) => Err(LayoutError::Overlap { first: name(pair[0]), second: name(pair[1]), at: pair[1].span.start }),
        None => Ok(()),
    }
}
