//! Contents of a snapshot without any analysis: `order9 snapshot info`.

use order9_snapshot::{Calibration, CaptureCost, Machine, Missing, Snapshot, Source, ZoneInfo};
use order9_units::{Bytes, Nanos, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use crate::number::{count_of, duration, grouped, percent, size};
use crate::table::Table;
use crate::terminal::ColourDepth;

/// A snapshot's facts, ready to be printed as JSON or text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Facts<'a> {
    /// Version of the JSON form.
    pub schema: u32,
    /// Origin of the snapshot.
    pub source: &'a Source,
    /// The machine of the snapshot.
    pub machine: &'a Machine,
    /// Number of NUMA nodes.
    pub nodes: usize,
    /// Zones of the machine.
    pub zones: &'a [ZoneInfo],
    /// Frames with a stored state; none where the map could not be read.
    pub frames: Option<Pages>,
    /// Whether the type of every pageblock is known.
    pub block_types: bool,
    /// Number of stored settings.
    pub settings: usize,
    /// Number of stored counters of /proc/vmstat.
    pub vmstat: usize,
    /// Files that could not be read.
    pub missing: &'a [Missing],
    /// Cost of the capture.
    pub cost: CaptureCost,
    /// Prices of memory work on the host, where they were measured.
    pub prices: Option<&'a Calibration>,
    /// Length of the file.
    pub file: Bytes,
}

impl<'a> Facts<'a> {
    /// The facts of `snapshot`, stored in a file of `file` bytes.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, file: Bytes) -> Self {
        Self {
            schema: 1,
            source: &snapshot.source,
            machine: &snapshot.machine,
            nodes: snapshot.nodes.len(),
            zones: &snapshot.zones,
            frames: snapshot.frames.as_ref().map(order9_snapshot::FrameMap::len),
            block_types: snapshot.block_types.is_some(),
            settings: snapshot.settings.len(),
            vmstat: snapshot.vmstat.len(),
            missing: &snapshot.missing,
            cost: snapshot.cost,
            prices: snapshot.calibration.as_ref(),
            file,
        }
    }

    /// The facts as text.
    #[must_use]
    pub fn text(&self, colour: ColourDepth) -> String {
        let mut facts = vec![
            ("source", source(self.source)),
            ("kernel", or_unknown(&self.machine.kernel_release)),
            ("memory", size(self.zones.iter().map(|zone| zone.present).sum::<Pages>().bytes())),
            (
                "machine",
                format!("{}, {}", count_of(self.nodes as u64, "node"), count_of(self.machine.cpus.into(), "CPU")),
            ),
        ];
        if let Some(uptime) = self.machine.uptime {
            // Captures know whole hours.
            facts.push(("uptime", if uptime == Nanos::ZERO { "under 1 h".to_owned() } else { duration(uptime) }));
        }
        facts.push(("map", self.map_sentence()));
        facts.push(("file", size(self.file)));
        if let Some(prices) = self.prices {
            facts.push(("prices", measured(prices)));
        }
        facts.push(("settings", grouped(self.settings as u64)));
        facts.push(("counters", grouped(self.vmstat as u64)));
        let mut out: String = facts.iter().map(|(name, value)| format!("{name:<10}{value}\n")).collect();
        out.push('\n');
        out.push_str(&self.zone_table().render(80, colour));
        out.push_str(&missing(self.missing));
        out
    }

    fn map_sentence(&self) -> String {
        let Some(frames) = self.frames else { return "none".to_owned() };
        let raw = size(Bytes::new(frames.get() * 16));
        let types = if self.block_types { ", with the type of every pageblock" } else { "" };
        let drift = match self.cost.inconsistent {
            Pages::ZERO => String::new(),
            n => format!(", {} inconsistent ({})", grouped(n.get()), percent(n.get(), frames.get())),
        };
        format!("{} frames ({raw} in /proc){types}{drift}", grouped(frames.get()))
    }

    fn zone_table(&self) -> Table {
        let mut table = Table::new(["zone", "first pfn", "spanned", "present", "managed", "free", "high"]);
        for zone in self.zones.iter().filter(|zone| zone.present > Pages::ZERO) {
            let lengths = [zone.span.len(), zone.present, zone.managed, zone.free, zone.watermarks.high];
            let mut row = vec![format!("Node {}, {}", zone.node, zone.kind), zone.span.start.to_string()];
            row.extend(lengths.map(|pages| grouped(pages.get())));
            table.row(row);
        }
        table
    }
}

/// Cost of a capture into the file `name`, and files that it could not read.
#[must_use]
pub fn captured(facts: &Facts<'_>, name: &str) -> String {
    let cost = &facts.cost;
    let mut out = format!("{name}: {}\n", size(facts.file));
    let (wall, cpu) = (duration(cost.wall), duration(cost.cpu));
    out.push_str(&format!("{wall} ({cpu} of CPU) for {}", count_of(cost.frames.get(), "frame")));
    if cost.frames > Pages::ZERO {
        let share = percent(cost.inconsistent.get(), cost.frames.get());
        out.push_str(&format!("; {} inconsistent ({share})", grouped(cost.inconsistent.get())));
        out.push_str(&format!("; free memory drifted by {}", count_of(cost.free_drift.get(), "page")));
    }
    out.push('\n');
    if let Some(prices) = facts.prices {
        out.push_str(&format!("measured: {}\n", measured(prices)));
    }
    out.push_str(&missing(facts.missing));
    out
}

/// The measured prices of memory work.
fn measured(prices: &Calibration) -> String {
    let kernel = prices.shmem_page.map(|price| format!(", {price} for a page of a file in memory"));
    let huge = prices.huge_fault.map(|price| format!(", {price} for a fault of a huge page"));
    let taken =
        prices.hypervisor_fault.map(|price| format!(", {price} until the hypervisor has given a huge page back"));
    let [kernel, huge, taken] = [kernel, huge, taken].map(Option::unwrap_or_default);
    format!("{} to copy a page, {} to clear one{kernel}{huge}{taken}", prices.copy_page, prices.clear_page)
}

/// Files that could not be read, one line each; empty where none is missing.
#[must_use]
pub fn missing(missing: &[Missing]) -> String {
    missing.iter().map(|missing| format!("not read: {}: {}\n", missing.path, missing.reason)).collect()
}

/// Origin of a snapshot, in words.
#[must_use]
pub fn source(source: &Source) -> String {
    match source {
        Source::Host => "a running host".to_owned(),
        Source::Directory => "a directory with copies of a host's files".to_owned(),
        Source::Lab => "the lab".to_owned(),
        Source::Synthetic(arguments) => format!("order9 snapshot synth {arguments}"),
    }
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}
