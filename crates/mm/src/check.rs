//! Recounts every law of the engine from the frames up, and names the first one broken.
//!
//! Frames check their own laws; those of each layer are checked where it lives. Costs a walk over all frames: for tests and
//! for `--check`, not for every step of a long run.

use alloc::format;

use order9_frames::{Verdict, require};

use crate::Mm;
use crate::phys::PhysMem;

impl Mm {
    /// Checks every law.
    ///
    /// # Errors
    /// The first law found broken, lowest zone and frame first.
    pub fn check(&self) -> Verdict {
        let allocated = self.phys.frames.check_zones()?;
        self.pages.check_slab(&self.phys)?;
        self.pages.check_fs(&self.phys)?;
        self.phys.frames.check_allocated(allocated, self.phys.counters.held_used)?;
        self.phys.check_counters()?;
        self.pages.check_user(&self.phys)?;
        self.pages.check_mempolicies(&self.phys)?;
        self.pages.check_numa_balancing(&self.phys)?;
        self.pages.check_page_cache(&self.phys)?;
        self.compaction.check_compaction(&self.compact_runs, &self.phys)?;
        self.phys.check_costs()?;
        self.pages.check_lru(&self.phys)?;
        self.reclaim_runs.check_isolated(&self.phys)
    }
}

impl PhysMem {
    fn check_counters(&self) -> Verdict {
        let counters = &self.counters;
        for (who, steal, scan) in [
            ("kswapd", counters.pgsteal_kswapd.total(), counters.pgscan_kswapd.total()),
            ("direct", counters.pgsteal_direct.total(), counters.pgscan_direct.total()),
            ("proactive", counters.pgsteal_proactive.total(), counters.pgscan_proactive.total()),
        ] {
            require(steal <= scan, "only scanned pages are reclaimed", || format!("{who}: {steal} of {scan}"))?;
        }
        Ok(())
    }
}
