//! Packed bytes of a series: numbers of seven bits per byte, low ones first, the highest bit set where another byte follows.
//!
//! 1. Number of zones; of each: node, number of its kind, first pageblock, number of pageblocks.
//! 2. Number of maps; of each: nanoseconds since the one before, number of runs. Of each run: pageblocks since the end of the
//!    run before, length less one, and how many blocks the table had gained since its block: 0 adds a block to the table, which
//!    follows: number of its migratetype, number of classes, the number of each class, and the number of frames of each but the
//!    last, which has the rest of 512.

use order9_units::{Migratetype, Nanos, NodeId, PAGEBLOCK_PAGES, ZoneKind};

use super::{Block, Changes, MapSeries, MapZone, Run};
use crate::census::BlockSummary;
use crate::classify::FrameClass;

/// Bytes that are no series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapsError {
    /// The file does not begin as one of maps.
    #[error("no file of memory maps: expected it to begin with 'order9 maps 1'")]
    NoMaps,
    /// The checksum is that of other bytes.
    #[error("damaged: checksum {found:032x}, expected {expected:032x}")]
    Damaged {
        /// Checksum of the bytes that are there.
        found: u128,
        /// Checksum that the file states.
        expected: u128,
    },
    /// The compressed part cannot be opened.
    #[error("damaged: {0}")]
    Compressed(String),
    /// The bytes end too early.
    #[error("it ends in the middle of {0}")]
    Short(&'static str),
    /// A number that makes no sense there.
    #[error("{what}: {found}, expected {expected}")]
    Number {
        /// Name of the number.
        what: &'static str,
        /// The number found.
        found: u64,
        /// Range of possible numbers, in words.
        expected: &'static str,
    },
    /// Bytes that belong to nothing.
    #[error("{0} bytes follow the last map")]
    Long(usize),
}

/// Most pageblocks of a map: those of 64 TiB.
const BLOCKS_MAX: u64 = crate::format::BLOCKS_MAX;
/// Most zones: four of each of a thousand nodes.
const ZONES_MAX: u64 = 4096;
/// Most maps of a series.
const MAPS_MAX: u64 = 1 << 20;

impl MapSeries {
    /// The series as bytes, not compressed.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, self.zones.len() as u64);
        for zone in &self.zones {
            for part in [u64::from(zone.node.0), zone.kind as u64, zone.first, zone.blocks] {
                number(&mut out, part);
            }
        }
        number(&mut out, self.maps.len() as u64);
        let (mut before, mut known) = (Nanos::ZERO, 0);
        for map in &self.maps {
            number(&mut out, (map.at - before).get());
            number(&mut out, map.runs.len() as u64);
            before = map.at;
            let mut end = 0;
            for run in &map.runs {
                number(&mut out, u64::from(run.start - end));
                number(&mut out, u64::from(run.length - 1));
                number(&mut out, u64::from(known - run.block));
                end = run.start + run.length;
                if run.block == known {
                    block(&mut out, &self.blocks[known as usize]);
                    known += 1;
                }
            }
        }
        out
    }

    /// The series that was packed into `bytes`.
    ///
    /// # Errors
    /// Bytes that no series packs into.
    pub fn unpack(bytes: &[u8]) -> Result<Self, MapsError> {
        let mut input = Input { rest: bytes };
        let zones = input.number("the number of zones", 0, ZONES_MAX, "at most 4096")?;
        let mut series = Self::default();
        let mut total = 0;
        for _ in 0..zones {
            let zone = input.zone()?;
            total += zone.blocks;
            if total > BLOCKS_MAX {
                return Err(wrong("the number of pageblocks", total, "at most those of 64 TiB"));
            }
            series.zones.push(zone);
        }
        series.last = vec![u32::MAX; total as usize];
        let maps = input.number("the number of maps", 0, MAPS_MAX, "at most a million")?;
        let mut at = 0_u64;
        for nth in 0..maps {
            let elapsed = input.number("the time of a map", 0, u64::MAX, "")?;
            at = at.checked_add(elapsed).ok_or_else(|| wrong("the time of a map", elapsed, "less than 584 years"))?;
            let runs = input.runs(&mut series, total)?;
            if nth == 0 && series.last.contains(&u32::MAX) {
                return Err(wrong("the first map", runs.len() as u64, "a block for every pageblock"));
            }
            series.maps.push(Changes { at: Nanos::new(at), runs });
        }
        if input.rest.is_empty() { Ok(series) } else { Err(MapsError::Long(input.rest.len())) }
    }
}

fn wrong(what: &'static str, found: u64, expected: &'static str) -> MapsError {
    MapsError::Number { what, found, expected }
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn block(out: &mut Vec<u8>, block: &Block) {
    let held = FrameClass::ALL.into_iter().filter(|class| block.summary.count(*class) > 0);
    number(out, block.migratetype.index() as u64);
    let classes = held.clone().count();
    number(out, classes as u64);
    held.clone().for_each(|class| number(out, class.index() as u64));
    held.take(classes - 1).for_each(|class| number(out, u64::from(block.summary.count(class))));
}

struct Input<'a> {
    rest: &'a [u8],
}

impl Input<'_> {
    /// The next number, which must lie between `least` and `most`.
    fn number(&mut self, what: &'static str, least: u64, most: u64, expected: &'static str) -> Result<u64, MapsError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(MapsError::Short(what))?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return if (least..=most).contains(&value) { Ok(value) } else { Err(wrong(what, value, expected)) };
            }
        }
        Err(wrong(what, value, "a number of 64 bits"))
    }

    fn zone(&mut self) -> Result<MapZone, MapsError> {
        let node = self.number("a node", 0, u64::from(u16::MAX), "at most 65535")? as u16;
        let kind = self.number("a kind of zone", 0, ZoneKind::COUNT as u64 - 1, "0 to 3")? as usize;
        let first = self.number("a first pageblock", 0, BLOCKS_MAX, "one below 64 TiB")?;
        let blocks = self.number("the number of pageblocks", 0, BLOCKS_MAX, "at most those of 64 TiB")?;
        Ok(MapZone { node: NodeId(node), kind: ZoneKind::ALL[kind], first, blocks })
    }

    /// The runs of one map, which become the last one of `series`.
    fn runs(&mut self, series: &mut MapSeries, total: u64) -> Result<Vec<Run>, MapsError> {
        let count = self.number("the number of runs", 0, total, "at most one for each pageblock")?;
        let mut runs = Vec::new();
        let mut end = 0;
        for _ in 0..count {
            let skipped = self.number("the start of a run", 0, total, "a pageblock of a zone")?;
            let length = self.number("the length of a run", 0, total, "at most all pageblocks")? + 1;
            if end + skipped + length > total {
                return Err(wrong("the end of a run", end + skipped + length, "a pageblock of a zone"));
            }
            let known = series.blocks.len() as u64;
            let block = (known - self.number("a block", 0, known, "one of the table, or the next")?) as u32;
            if u64::from(block) == known {
                let new = self.block()?;
                if series.place_of(new) != block {
                    return Err(wrong("a new block", known, "one that is not in the table"));
                }
            }
            let start = (end + skipped) as u32;
            series.last[start as usize..][..length as usize].fill(block);
            runs.push(Run { start, length: length as u32, block });
            end += skipped + length;
        }
        Ok(runs)
    }

    fn block(&mut self) -> Result<Block, MapsError> {
        let migratetype = self.number("a migratetype", 0, Migratetype::ALL.len() as u64 - 1, "one of Linux'")? as usize;
        let held = self.number("the number of classes", 1, FrameClass::COUNT as u64, "1 to 25")?;
        let mut counts = [0_u16; FrameClass::COUNT];
        let class = |input: &mut Self| input.number("a class", 0, FrameClass::COUNT as u64 - 1, "0 to 24");
        let classes = (0..held).map(|_| class(self)).collect::<Result<Vec<_>, _>>()?;
        if let Some(pair) = classes.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(wrong("a class", pair[1], "classes in ascending order"));
        }
        let mut left = PAGEBLOCK_PAGES.get();
        for (nth, &class) in (1..).zip(&classes) {
            let frames = if nth == held {
                left
            } else {
                self.number("the frames of a class", 1, left - 1, "1 to what is left of 512, less one")?
            };
            counts[class as usize] = frames as u16;
            left -= frames;
        }
        Ok(Block { migratetype: Migratetype::ALL[migratetype], summary: BlockSummary::new(counts) })
    }
}
