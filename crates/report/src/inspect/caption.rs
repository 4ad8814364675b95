//! The words on a picture of a memory map.

use order9_snapshot::Source;
use order9_snapshot::inspection::{Findings, Inspection};

use super::headline::huge_pages;
use crate::facts;
use crate::look::Look;
use crate::number::{count_of, grouped, size};
use crate::picture::{Caption, Figure};

/// Title, machine and the four figures that say most.
#[must_use]
pub fn caption(inspection: &Inspection) -> Caption {
    let machine = &inspection.machine;
    let nodes = count_of(inspection.nodes.len() as u64, "node");
    Caption {
        title: format!("{} of physical memory", size(inspection.total.present.bytes())),
        subtitle: format!(
            "{nodes}, {}, Linux {}, {}",
            count_of(machine.cpus.into(), "CPU"),
            machine.kernel_release,
            match machine.source {
                Source::Synthetic(_) => "a made-up machine".to_owned(),
                ref source => facts::source(source),
            }
        ),
        figures: inspection.total.findings.as_ref().map_or_else(Vec::new, figures),
    }
}

fn figures(findings: &Findings) -> Vec<Figure> {
    let gain = findings.by_moving.huge_pages;
    let figure = |look, n: u64, label: String| Figure { look, value: grouped(n), label };
    let of = |n: u64, what: &str| format!("{what} ({})", size(huge_pages(n).bytes()));
    vec![
        figure(Look::FreeHuge, findings.blocks.free, of(findings.blocks.free, "huge pages free")),
        figure(Look::Recoverable192, gain, of(gain, "recoverable")),
        figure(Look::HugeInUse, findings.blocks.huge, of(findings.blocks.huge, "in use")),
        figure(Look::HeldByFew, findings.lost.blocks, of(findings.lost.blocks, "held by pages that stay")),
    ]
}
