//! Pages of hugetlb pools: which of them somebody uses.

use order9_mm::{BuildError, MmBuilder};
use order9_snapshot::Snapshot;
use order9_units::Pfn;

const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/";

/// A page of a pool.
pub(crate) struct PoolPage {
    pub(crate) pfn: Pfn,
    /// Some process maps it.
    pub(crate) mapped: bool,
}

/// Makes the pools. A page that nobody maps is in use where the files say that fewer are free, and where it is promised to
/// mappings, which a map of frames does not show.
pub(crate) fn place(snapshot: &Snapshot, pages: &[PoolPage], builder: &mut MmBuilder) -> Result<(), BuildError> {
    let file = |name: &str| snapshot.settings.get(&format!("{POOL}{name}"))?.trim().parse::<usize>().ok();
    let unmapped = pages.iter().filter(|page| !page.mapped).count();
    let free = file("free_hugepages").map_or(unmapped, |free| free.saturating_sub(file("resv_hugepages").unwrap_or(0)));
    let mut held_unseen = unmapped.saturating_sub(free);
    for page in pages {
        let unseen = !page.mapped && held_unseen > 0;
        held_unseen -= usize::from(unseen);
        builder.hugetlb(page.pfn, page.mapped || unseen)?;
    }
    Ok(())
}
