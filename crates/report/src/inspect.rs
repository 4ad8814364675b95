//! An [`Inspection`] as text: what an operator reads in ten seconds first, what a kernel developer digs for below.

mod caption;
mod changes;
mod details;
mod findings;
mod headline;
mod kernel;
mod owners;
mod view;

use order9_snapshot::inspection::{Findings, Inspection, NodeView, ZoneView};
use order9_units::NodeId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::map::MemoryMap;
use crate::table::wrap;
use crate::terminal::{self, Canvas};

pub use caption::caption;
pub use changes::{Change, changes};
pub use headline::{headline, missing_map};
pub use view::{View, ViewError};

/// The whole report: headline, map, tables. `map` is what the inspection was made from, where there is one.
#[must_use]
pub fn text(inspection: &Inspection, map: Option<&MemoryMap>, canvas: Canvas) -> String {
    let mut page = Page { out: String::new(), canvas };
    page.out.push_str(&headline(inspection, canvas));
    if let Some(map) = map {
        page.section("Memory map", &terminal::draw(map, canvas));
    }
    findings::sections(inspection, &mut page);
    kernel::sections(inspection, &mut page);
    if let Some(owners) = &inspection.owners {
        owners::sections(owners, &mut page);
    }
    details::sections(inspection, &mut page);
    page.section("About this snapshot", &kernel::about(inspection, &page));
    page.out
}

/// An inspection as it is printed in JSON: its fields, and the version of their meaning.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report<'a> {
    /// Raised when a field changes its meaning or goes.
    pub schema: u32,
    /// The whole inspection.
    #[serde(flatten)]
    pub inspection: &'a Inspection,
}

impl<'a> Report<'a> {
    /// `inspection` in the current schema.
    #[must_use]
    pub fn new(inspection: &'a Inspection) -> Self {
        Self { schema: 1, inspection }
    }
}

/// Keeps one node of an inspection; the totals become the node's. Settings and counters stay the machine's.
///
/// # Errors
/// The nodes there are, where `node` is none of them.
pub fn only_node(inspection: &mut Inspection, node: NodeId) -> Result<(), Vec<NodeId>> {
    let Some(found) = inspection.nodes.iter().find(|view| view.id == node) else {
        return Err(inspection.nodes.iter().map(|view| view.id).collect());
    };
    inspection.total = found.view.clone();
    inspection.nodes.retain(|view| view.id == node);
    Ok(())
}

/// Text in the making.
struct Page {
    out: String,
    canvas: Canvas,
}

impl Page {
    /// Adds a titled section; nothing where `body` is empty.
    fn section(&mut self, title: &str, body: &str) {
        if !body.is_empty() {
            self.out.push_str(&format!("\n{}\n{body}", self.canvas.colour.bold(title)));
        }
    }

    /// `text` wrapped to the page and subdued: how to read a table.
    fn note(&self, text: &str) -> String {
        let lines = wrap(text, self.canvas.width - 2);
        lines.lines().map(|line| format!("  {}\n", self.canvas.colour.dim(line))).collect()
    }
}

/// A zone, or the sum of several.
struct Place<'a> {
    name: String,
    findings: &'a Findings,
    /// Findings that a sum adds up; empty for a zone.
    parts: Vec<&'a Findings>,
}

impl Place<'_> {
    /// Whether a row for it says anything: `has` holds for a zone, or for more than one of the zones of a sum.
    fn says(&self, has: impl Fn(&Findings) -> bool) -> bool {
        match self.parts.as_slice() {
            [] => has(self.findings),
            parts => parts.iter().filter(|part| has(part)).count() > 1,
        }
    }
}

/// The zones of an inspection, then the sum of every node where there is more than one, then the sum of all.
fn places(inspection: &Inspection) -> Vec<Place<'_>> {
    let nodes = &inspection.nodes;
    let zones = zones(inspection).map(|(node, zone)| (zone_name(node, zone), &zone.view, Vec::new()));
    let sums = nodes.iter().map(|node| (format!("Node {}", node.id), &node.view, parts_of(node).collect()));
    let total = ("Total".to_owned(), &inspection.total, nodes.iter().flat_map(parts_of).collect());
    zones
        .chain(sums.filter(|_| nodes.len() > 1))
        .chain([total])
        .filter_map(|(name, view, parts)| Some(Place { name, findings: view.findings.as_ref()?, parts }))
        .collect()
}

fn parts_of(node: &NodeView) -> impl Iterator<Item = &Findings> {
    node.zones.iter().filter_map(|zone| zone.view.findings.as_ref())
}

fn zones(inspection: &Inspection) -> impl Iterator<Item = (&NodeView, &ZoneView)> {
    inspection.nodes.iter().flat_map(|node| node.zones.iter().map(move |zone| (node, zone)))
}

fn zone_name(node: &NodeView, zone: &ZoneView) -> String {
    format!("Node {} {}", node.id, zone.name)
}
