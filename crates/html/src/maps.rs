//! Maps of memory: one cell for each pageblock, in the looks of `order9 inspect`, over time where a run took several.
//!
//! The blocks themselves are bytes of the page: the packed series (`order9_snapshot::maps`), which the browser opens as it is,
//! and beside it the look of each block of its table. What a look is called and which colour it has comes from `report`.

use order9_report::Look;
use order9_snapshot::classify::FrameClass;
use order9_snapshot::maps::MapSeries;
use order9_units::Migratetype;
use serde::Serialize;

use crate::Page;
use crate::compaction::Fallback;

const _: () = assert!(Look::Hole.index() == 14 && Look::COUNT == 15, "assets/canvas.js has this number");

/// Maps of one or several runs of one machine.
#[derive(Clone, Debug, Serialize)]
pub struct Maps {
    /// All looks in the order of the legend.
    looks: Vec<LookOf>,
    /// Names of classes of frames, by number.
    classes: Vec<&'static str>,
    /// Names of migratetypes, by number.
    migratetypes: Vec<&'static str>,
    series: Vec<Series>,
}

#[derive(Clone, Debug, Serialize)]
struct LookOf {
    label: &'static str,
    /// `#rrggbb`.
    colour: String,
    letter: char,
}

/// Maps of one run.
#[derive(Clone, Debug, Serialize)]
struct Series {
    /// Policy and seed, or the file of a snapshot.
    name: String,
    /// Number of the blob with the packed series.
    packed: usize,
    /// Number of the blob with a look for each block of its table.
    looks: usize,
    /// Zones in the order of the series: `Node 0, zone Normal`.
    zones: Vec<String>,
    /// Times of the maps in seconds.
    times: Vec<f64>,
    /// Number of pageblocks by look in each map, in the order of `looks`.
    counts: Vec<Vec<u64>>,
    /// Recorded events of fragmentation.
    fallbacks: Vec<Fallback>,
}

impl Maps {
    /// No maps yet.
    #[must_use]
    pub fn new() -> Self {
        let look = |look: Look| {
            let colour = look.colour();
            LookOf {
                label: look.label(),
                colour: format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2),
                letter: look.letter(),
            }
        };
        Self {
            looks: Look::ALL.map(look).to_vec(),
            classes: FrameClass::ALL.map(FrameClass::describe).to_vec(),
            migratetypes: Migratetype::ALL.map(Migratetype::name).to_vec(),
            series: Vec::new(),
        }
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Adds the maps of a run; their bytes go to `page`.
    pub fn add(&mut self, name: String, series: &MapSeries, fallbacks: Vec<Fallback>, page: &mut Page) {
        let looks: Vec<u8> = series.blocks().iter().map(|block| Look::of(&block.summary).index() as u8).collect();
        let counts = (0..series.len()).map(|at| {
            let mut counts = vec![0; Look::COUNT];
            series.map(at).iter().for_each(|&block| counts[usize::from(looks[block as usize])] += 1);
            counts
        });
        let zones = series.zones().iter().map(|zone| format!("Node {}, zone {}", zone.node, zone.kind));
        let entry = Series {
            name,
            packed: page.blobs.len(),
            looks: page.blobs.len() + 1,
            zones: zones.collect(),
            times: series.times().map(|at| at.get() as f64 / 1e9).collect(),
            counts: counts.collect(),
            fallbacks,
        };
        page.blobs.push(series.pack());
        page.blobs.push(looks);
        self.series.push(entry);
    }
}

impl Default for Maps {
    fn default() -> Self {
        Self::new()
    }
}
