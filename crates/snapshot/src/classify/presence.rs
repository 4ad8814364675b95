//! Frames of a zone that exist, and those among them that the allocator has not been given yet.

use order9_units::{Order, Pages, Pfn, PfnRange};

use crate::flags::kpf;
use crate::frames::CHUNK_PAGES;
use crate::{Chunk, FrameState, Snapshot, ZoneInfo};

/// The chunks of a map with their first frame, for access by number.
pub(super) type Chunks<'a> = [(Pfn, &'a Chunk)];

/// Present and offline ranges of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    /// Frames that exist, ascending. Some may still carry NOPAGE.
    pub(super) ranges: Vec<PfnRange>,
    /// Sections of the span that are offline, ascending.
    pub(super) offline: Vec<PfnRange>,
    /// Frames that exist but were not initialised yet: the top of the zone, or nothing.
    pub(super) deferred: PfnRange,
}

const FLAGLESS: FrameState = FrameState { flags: 0, count: 0 };

impl Presence {
    /// Finds a zone's frames. Contradictions are described in `problems`.
    pub(super) fn of(snapshot: &Snapshot, chunks: &Chunks<'_>, zone: &ZoneInfo, problems: &mut Vec<String>) -> Self {
        let offline = clip(&snapshot.offline, zone.span);
        let in_span = if snapshot.ram.is_empty() {
            without_flagless_holes(chunks, zone, &offline)
        } else {
            clip(&snapshot.ram, zone.span)
        };
        let ranges = subtract(&in_span, &offline);
        let deferred = find_deferred(chunks, zone, &ranges, problems);
        Self { ranges, offline, deferred }
    }
}

/// The ranges that have a part in `span`. `ranges` ascend and do not overlap. A machine of a hostile snapshot may have
/// a million ranges for each of its pieces.
pub(super) fn within(ranges: &[PfnRange], span: PfnRange) -> &[PfnRange] {
    let from = ranges.partition_point(|range| range.end <= span.start);
    let ranges = &ranges[from..];
    &ranges[..ranges.partition_point(|range| range.start < span.end)]
}

/// The parts of `ranges` that lie in `span`.
fn clip(ranges: &[PfnRange], span: PfnRange) -> Vec<PfnRange> {
    within(ranges, span).iter().map(|range| range.intersect(span)).filter(|range| !range.is_empty()).collect()
}

/// `ranges` without `holes`; both ascending.
fn subtract(ranges: &[PfnRange], holes: &[PfnRange]) -> Vec<PfnRange> {
    let mut left = Vec::new();
    for range in ranges {
        let mut start = range.start;
        for hole in within(holes, *range) {
            left.push(PfnRange::new(start, hole.start.min(range.end)));
            start = start.max(hole.end);
        }
        left.push(PfnRange::new(start, range.end));
    }
    left.retain(|range| !range.is_empty());
    left
}

/// The span without the holes that only show as runs of frames without flags: the longest runs that together are not
/// more than what the zone's count of present frames leaves for holes.
fn without_flagless_holes(chunks: &Chunks<'_>, zone: &ZoneInfo, offline: &[PfnRange]) -> Vec<PfnRange> {
    let absent = zone.span.len().saturating_sub(zone.present);
    let known: Pages = offline.iter().map(|range| range.len()).sum();
    let marked = count_states(chunks, zone.span, |state| state.flags & kpf::NOPAGE != 0);
    let mut unexplained = absent.saturating_sub(known + marked);
    if unexplained == Pages::ZERO {
        return vec![zone.span];
    }
    let mut runs = subtract(&flagless_runs(chunks, zone.span), offline);
    runs.sort_by_key(|run| (std::cmp::Reverse(run.len()), run.start));
    let mut holes = Vec::new();
    for run in runs {
        if run.len() <= unexplained {
            unexplained -= run.len();
            holes.push(run);
        }
    }
    holes.sort();
    subtract(&[zone.span], &holes)
}

/// The flagless frames at the top of the zone, as many as the allocator has not been given and no reserved frame
/// explains. Kernels that initialise memory lazily do so from the bottom, in whole pageblocks.
fn find_deferred(chunks: &Chunks<'_>, zone: &ZoneInfo, ranges: &[PfnRange], problems: &mut Vec<String>) -> PfnRange {
    let Some(top) = ranges.last() else { return PfnRange::default() };
    let none = PfnRange::new(top.end, top.end);
    let not_given = zone.present.saturating_sub(zone.managed);
    let pageblock = Order::PAGEBLOCK.pages();
    let run = trailing_flagless(chunks, *top);
    if not_given < pageblock || run.len() < pageblock {
        return none;
    }
    let reserved = count_states(chunks, zone.span, |state| state.flags & kpf::RESERVED != 0);
    let missing = not_given.saturating_sub(reserved);
    let length = missing.min(run.len());
    let start = (run.end - length).align_up(Order::PAGEBLOCK).min(run.end);
    if missing - length >= pageblock {
        problems.push(format!(
            "node {} zone {}: {} present frames were never given to the allocator, but only {} at the top of the zone \
             carry no flag; the others count as unknown kernel memory",
            zone.node,
            zone.kind,
            missing.get(),
            length.get(),
        ));
    }
    PfnRange::new(start, run.end)
}

/// The frames without flags and map count at the end of `range`.
fn trailing_flagless(chunks: &Chunks<'_>, range: PfnRange) -> PfnRange {
    let mut start = range.end;
    while start > range.start {
        let at = (start.get() - 1) as usize / CHUNK_PAGES;
        let Some(&(first, chunk)) = chunks.get(at) else { break };
        let within = (start.get() - first.get()) as usize;
        if chunk.palette() == [FLAGLESS] {
            start = first;
            continue;
        }
        let flagless = (0..within).rev().take_while(|&offset| chunk.get(offset) == FLAGLESS).count();
        start = Pfn::new(start.get() - flagless as u64);
        if flagless < within {
            break;
        }
    }
    PfnRange::new(start.max(range.start), range.end)
}

/// Shorter runs may be free blocks on kernels that flag only their first frame.
const HOLE_MIN: Pages = Pages::new(2 * Order::MAX.pages().get());

/// All runs of at least [`HOLE_MIN`] frames without flags and map count in `span`, ascending.
fn flagless_runs(chunks: &Chunks<'_>, span: PfnRange) -> Vec<PfnRange> {
    let mut runs = Vec::new();
    let mut open = span.start;
    let mut close = |open: &mut Pfn, pfn: Pfn| {
        let run = PfnRange::new(*open, pfn);
        if run.len() >= HOLE_MIN {
            runs.push(run);
        }
        *open = pfn + Pages::new(1);
    };
    for_each_state(chunks, span, |pfn, state| {
        if state != FLAGLESS {
            close(&mut open, pfn);
        }
    });
    close(&mut open, span.end);
    runs
}

/// Number of frames of `span` in a state that satisfies `is`.
fn count_states(chunks: &Chunks<'_>, span: PfnRange, is: impl Fn(FrameState) -> bool) -> Pages {
    let mut count = 0;
    for &(first, chunk) in chunks {
        let range = PfnRange::of(first, Pages::new(chunk.len() as u64)).intersect(span);
        if range.is_empty() || !chunk.palette().iter().any(|&state| is(state)) {
            continue;
        }
        let hits: Vec<bool> = chunk.palette().iter().map(|&state| is(state)).collect();
        let offsets = (range.start - first).get() as usize..(range.end - first).get() as usize;
        let mut offset = 0;
        chunk.for_each_index(|at| {
            count += u64::from(hits[at] && offsets.contains(&offset));
            offset += 1;
        });
    }
    Pages::new(count)
}

fn for_each_state(chunks: &Chunks<'_>, span: PfnRange, mut each: impl FnMut(Pfn, FrameState)) {
    for &(first, chunk) in chunks {
        let range = PfnRange::of(first, Pages::new(chunk.len() as u64)).intersect(span);
        if range.is_empty() || chunk.palette() == [FLAGLESS] {
            continue;
        }
        for pfn in range.iter() {
            each(pfn, chunk.get((pfn - first).get() as usize));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> PfnRange {
        PfnRange::new(Pfn::new(start), Pfn::new(end))
    }

    #[test]
    fn holes_are_cut_out_wherever_they_lie() {
        let ranges = [range(0, 10), range(20, 30)];
        assert_eq!(subtract(&ranges, &[range(2, 4), range(8, 22)]), [range(0, 2), range(4, 8), range(22, 30)]);
        assert_eq!(subtract(&ranges, &[range(0, 40)]), []);
        assert_eq!(subtract(&ranges, &[]), ranges);
    }
}
