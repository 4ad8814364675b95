//! Memory that only a restart mends: pageblocks whose holders neither move nor can be dropped.

use order9_report::number::{grouped, size};
use order9_snapshot::classify::FrameClass;
use order9_snapshot::inspection::Inspection;
use order9_units::PAGEBLOCK_PAGES;
use schemars::JsonSchema;
use serde::Serialize;

/// Pageblocks that no remedy gives back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Restart {
    /// Number of the pageblocks.
    pub pageblocks: u64,
    /// The pageblocks by what most of their immovable pages are, most first.
    pub holders: Vec<Holder>,
}

/// Pageblocks by what most of their immovable pages are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Holder {
    /// Class of the pages.
    pub class: FrameClass,
    /// Number of pageblocks.
    pub pageblocks: u64,
}

/// Holders that are named in the text.
const NAMED: usize = 3;

impl Restart {
    /// Pageblocks of the host that a restart would give back; `None` where there is none.
    pub(super) fn of(inspection: &Inspection) -> Option<Self> {
        let lost = &inspection.total.findings.as_ref()?.lost;
        let of_restart = lost.by_holder.iter().filter(|held| is_mended(held.class) && held.blocks > 0);
        let mut holders: Vec<Holder> =
            of_restart.map(|held| Holder { class: held.class, pageblocks: held.blocks }).collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.pageblocks));
        let pageblocks = holders.iter().map(|holder| holder.pageblocks).sum();
        (pageblocks > 0).then_some(Self { pageblocks, holders })
    }

    /// A sentence about it; `short` is the number of huge pages that the demand lacks.
    pub(super) fn sentence(&self, short: Option<u64>) -> String {
        let holders = self.holders.iter().take(NAMED);
        let holders = holders.map(|of| format!("{} ({})", of.class.describe(), grouped(of.pageblocks)));
        let memory = size(PAGEBLOCK_PAGES.bytes() * self.pageblocks);
        let reserve = short.map_or_else(String::new, |pages| {
            format!(
                " hugepages={pages} on the kernel's command line reserves all of the demand at boot, as hugetlb pages."
            )
        });
        format!(
            "Only a restart mends {} pageblocks ({memory}), which hold pages that stay: {}.{reserve}",
            grouped(self.pageblocks),
            holders.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Whether a restart gives back what such pages hold. What the firmware reserves stays, and slab that can be dropped needs none.
const fn is_mended(class: FrameClass) -> bool {
    !matches!(
        class,
        FrameClass::Hole
            | FrameClass::Offline
            | FrameClass::Deferred
            | FrameClass::SlabReclaimable
            | FrameClass::Pcp
            | FrameClass::Reserved
            | FrameClass::Ballooned
            | FrameClass::HwPoison
    )
}
