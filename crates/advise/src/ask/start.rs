//! The copy before the program asks, as the engine sees it: what a request for a huge page would meet first.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use order9_import::value_shown;
use order9_lab::{Cell, Observer};
use order9_machine::{Engine, Tick};
use order9_mm::{AllocFlags, Gfp, Mark, Suitable, Zone};
use order9_procfs::sysctl;
use order9_snapshot::inspection::{Inspection, ZoneView};
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES, Pages, ZoneKind};

use super::answer::{Compaction, ZoneNow};

/// State of the engine before the program asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    pub(super) zones: Vec<ZoneNow>,
    /// Settings of huge pages by their Linux names.
    pub(super) settings: BTreeMap<&'static str, String>,
}

/// Settings that decide whether a fault asks for a huge page, and how hard.
pub(super) const ENABLED: &str = "thp/enabled";
pub(super) const DEFRAG: &str = "thp/defrag";

impl Start {
    fn of(engine: &Engine) -> Self {
        let setting = |name| Some((name, value_shown(&sysctl::read(engine, name).ok()?)));
        let zones = engine.frames().zones().iter().filter(|zone| zone.managed() > 0);
        Self {
            zones: zones.map(|zone| zone_now(engine, zone)).collect(),
            settings: [ENABLED, DEFRAG].into_iter().filter_map(setting).collect(),
        }
    }

    /// The zones, or those of a node, with what moving pages could make of them.
    pub(super) fn zones_with(&self, inspection: &Inspection, node: Option<NodeId>) -> Vec<ZoneNow> {
        let wanted = |zone: &&ZoneNow| node.is_none_or(|node| zone.node == node);
        let with_findings = |zone: &ZoneNow| {
            let findings = view_of(inspection, zone.node, zone.zone.name()).and_then(|of| of.view.findings.as_ref());
            ZoneNow {
                could_gain: findings.map_or(0, |findings| findings.by_moving_in_linux.huge_pages),
                lost: findings.map_or(0, |findings| findings.lost.blocks),
                ..zone.clone()
            }
        };
        self.zones.iter().filter(wanted).map(with_findings).collect()
    }

    /// Whether `setting` has this value.
    pub(super) fn is(&self, setting: &str, value: &str) -> bool {
        self.settings.get(setting).is_some_and(|now| now == value)
    }
}

/// The findings about a zone.
pub(super) fn view_of<'a>(inspection: &'a Inspection, node: NodeId, zone: &str) -> Option<&'a ZoneView> {
    let node = inspection.nodes.iter().find(|view| view.id == node)?;
    node.zones.iter().find(|view| view.name == zone)
}

fn zone_now(engine: &Engine, zone: &Zone) -> ZoneNow {
    let class: ZoneKind = Gfp::GFP_HIGHUSER_MOVABLE.highest_zone();
    // A fault that may wait asks again down to the min mark.
    let flags = AllocFlags::plain(Mark::Min);
    let mark = |mark| Pages::new(zone.mark(mark));
    ZoneNow {
        node: zone.node(),
        zone: zone.kind(),
        free: Pages::new(zone.free()),
        free_huge: zone.free_in_pageblocks() / PAGEBLOCK_PAGES.get(),
        min: mark(Mark::Min),
        low: mark(Mark::Low),
        high: mark(Mark::High),
        compaction: match engine.phys().compaction_suitable(zone.id(), Order::PAGEBLOCK, class, &flags) {
            Suitable::Success => Compaction::NotNeeded,
            Suitable::Continue => Compaction::Suitable,
            Suitable::Skipped => Compaction::Skipped,
            Suitable::NotSuitableZone => Compaction::NotSuitable,
        },
        could_gain: 0,
        lost: 0,
    }
}

/// Looks at the engine of the first run once, before anything runs.
pub(super) struct FirstLook {
    seed: u64,
    start: Mutex<Option<Start>>,
}

impl FirstLook {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, start: Mutex::new(None) }
    }

    pub(super) fn into_start(self) -> Start {
        self.start.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
    }
}

impl Observer for FirstLook {
    fn tick(&self, cell: Cell, tick: &Tick<'_>) {
        if cell.seed == self.seed {
            let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
            start.get_or_insert_with(|| Start::of(tick.engine));
        }
    }
}
