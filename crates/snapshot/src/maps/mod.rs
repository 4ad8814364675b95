//! Memory maps of a run at intervals: the census of every pageblock, packed.
//!
//! A [`MapSeries`] holds a table of all blocks that ever occurred ([`Block`]: type, and frames by class) and, for each map, the
//! blocks that are other ones than in the map before. [`MapSeries::pack`] and [`MapSeries::unpack`] turn it into bytes, which
//! [`write()`] and [`read()`] store as `.o9maps` behind a header and a checksum. Equal series give equal bytes. Described for users in
//! docs/runs.md. Never keeps single frames: those are in a snapshot.

mod bytes;
mod file;

use std::collections::BTreeMap;

use order9_units::{Migratetype, Nanos, NodeId, PAGEBLOCK_PAGES, ZoneKind};

use crate::census::{BlockSummary, Census};

pub use bytes::MapsError;
pub use file::{EXTENSION, read, write};

/// Maps of one machine over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapSeries {
    zones: Vec<MapZone>,
    blocks: Vec<Block>,
    maps: Vec<Changes>,
    /// Places of [`blocks`](Self::blocks) by content.
    known: BTreeMap<(Migratetype, [u16; crate::classify::FrameClass::COUNT]), u32>,
    /// The last map: a place of [`blocks`](Self::blocks) for each pageblock of all zones.
    last: Vec<u32>,
}

/// Pageblocks of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapZone {
    /// Node of the zone.
    pub node: NodeId,
    /// Kind of the zone.
    pub kind: ZoneKind,
    /// Number of the first pageblock; block 0 starts at pfn 0.
    pub first: u64,
    /// Number of pageblocks.
    pub blocks: u64,
}

/// Type and content of a pageblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Migratetype of the pageblock.
    pub migratetype: Migratetype,
    /// Frames by class.
    pub summary: BlockSummary,
}

/// Difference of a map from the one before, or from nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Changes {
    at: Nanos,
    /// Runs of neighbours that became one and the same block, upward.
    runs: Vec<Run>,
}

/// Neighbouring pageblocks that became the same block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Number of the first, over all zones.
    start: u32,
    length: u32,
    /// Place in the table of blocks.
    block: u32,
}

impl MapSeries {
    /// A series with one map.
    #[must_use]
    pub fn of(census: &Census) -> Self {
        let mut series = Self::default();
        series.push(Nanos::ZERO, census);
        series
    }

    /// Adds the map at `at`.
    ///
    /// # Panics
    /// If it lies before the last one, or is of another machine.
    pub fn push(&mut self, at: Nanos, census: &Census) {
        let zones: Vec<MapZone> = census.zones.iter().map(MapZone::of).collect();
        let is_first = self.maps.is_empty();
        if is_first {
            self.zones = zones;
            self.last = vec![u32::MAX; self.zones.iter().map(|zone| zone.blocks as usize).sum()];
        } else {
            assert_eq!(self.zones, zones, "all maps are of one machine");
            assert!(self.maps.last().is_none_or(|last| last.at <= at), "maps come in order of time");
        }
        let mut runs: Vec<Run> = Vec::new();
        let content = census.zones.iter().flat_map(|zone| zone.blocks.iter().zip(&zone.types));
        for (place, (&summary, &migratetype)) in content.enumerate() {
            let block = self.place_of(Block { migratetype, summary });
            if std::mem::replace(&mut self.last[place], block) == block {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.block == block && run.start + run.length == place as u32 => run.length += 1,
                _ => runs.push(Run { start: place as u32, length: 1, block }),
            }
        }
        self.maps.push(Changes { at, runs });
    }

    fn place_of(&mut self, block: Block) -> u32 {
        let next = self.blocks.len() as u32;
        *self.known.entry((block.migratetype, *block.summary.counts())).or_insert_with(|| {
            self.blocks.push(block);
            next
        })
    }

    /// Zones, by node and address.
    #[must_use]
    pub fn zones(&self) -> &[MapZone] {
        &self.zones
    }

    /// All blocks that ever occurred, each once, in the order in which they first did.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Times of the maps, ascending.
    pub fn times(&self) -> impl ExactSizeIterator<Item = Nanos> {
        self.maps.iter().map(|map| map.at)
    }

    /// Number of maps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.maps.len()
    }

    /// Whether there is no map.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// Map number `at`: a place in [`blocks`](Self::blocks) for each pageblock of all zones.
    #[must_use]
    pub fn map(&self, at: usize) -> Vec<u32> {
        let mut map = vec![0; self.zones.iter().map(|zone| zone.blocks as usize).sum()];
        for run in self.maps.iter().take(at + 1).flat_map(|changes| &changes.runs) {
            map[run.start as usize..][..run.length as usize].fill(run.block);
        }
        map
    }
}

impl MapZone {
    fn of(zone: &crate::census::ZoneCensus) -> Self {
        let first = zone.span.start.get() / PAGEBLOCK_PAGES.get();
        Self { node: zone.node, kind: zone.kind, first, blocks: zone.blocks.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{SynthSpec, synth};

    fn census(seed: u64, fill: f64) -> Census {
        let spec = SynthSpec { size: order9_units::Bytes::from_gib(1), seed, fill, ..SynthSpec::default() };
        Census::of(&synth(&spec).expect("the machine can be made up").0).expect("it fits together")
    }

    fn series() -> (Vec<Census>, MapSeries) {
        let all = vec![census(1, 0.5), census(2, 0.7), census(1, 0.5)];
        let mut series = MapSeries::default();
        all.iter().zip(1..).for_each(|(census, second)| series.push(Nanos::new(second * 1_000_000_007), census));
        (all, series)
    }

    #[test]
    fn a_packed_series_holds_every_block_of_every_map() {
        let (all, series) = series();
        let again = MapSeries::unpack(&series.pack()).unwrap();
        assert_eq!(again, series);
        for (at, census) in all.iter().enumerate() {
            let map = again.map(at);
            let wanted = census.zones.iter().flat_map(|zone| zone.blocks.iter().zip(&zone.types));
            for (place, (summary, migratetype)) in map.iter().zip(wanted) {
                let block = &again.blocks()[*place as usize];
                assert_eq!((&block.summary, block.migratetype), (summary, *migratetype));
            }
        }
        assert_eq!(again.times().collect::<Vec<_>>(), [1, 2, 3].map(|second| Nanos::new(second * 1_000_000_007)));
    }

    #[test]
    fn a_file_is_read_back_and_equal_series_give_equal_bytes() {
        let (_, series) = series();
        let written = write(&series);
        assert_eq!(written, write(&series));
        assert_eq!(read(&written).unwrap(), series);
    }

    #[test]
    fn damage_is_named_and_never_read() {
        let (_, series) = series();
        let written = write(&series);
        for at in [0, 9, 20, 30, written.len() / 2, written.len() - 1] {
            let mut damaged = written.clone();
            damaged[at] ^= 0x10;
            assert!(read(&damaged).is_err(), "byte {at}");
        }
        for length in [0, 10, 24, written.len() - 1] {
            assert!(read(&written[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn bytes_that_somebody_made_up_are_refused_without_panic() {
        let packed = series().1.pack();
        for at in 0..packed.len().min(4000) {
            for flip in [1, 0x80, 0xff] {
                let mut forged = packed.clone();
                forged[at] ^= flip;
                // Some changes give another sound series; none may panic or hang.
                let _ = MapSeries::unpack(&forged);
            }
        }
        assert!(MapSeries::unpack(&packed[..packed.len() - 1]).is_err());
        assert!(MapSeries::unpack(&[packed.as_slice(), &[0]].concat()).is_err());
    }
}
