//! Recounts every law of the engine from the frames up, and names the first one broken.
//!
//! Frames check their own laws; those of each layer are checked where it lives. Costs a walk over all frames: for tests and
//! for `--check`, not for every step of a long run.

use alloc::format;

use crate::Mm;
use crate::trace::Tracer;
use order9_frames::{Verdict, require};

impl<T: Tracer> Mm<T> {
    /// Checks every law.
    ///
    /// # Errors
    /// The first law found broken, lowest zone and frame first.
    pub fn check(&self) -> Verdict {
        let allocated = self.frames.check_zones()?;
        self.check_slab()?;
        self.check_fs()?;
        self.frames.check_allocated(allocated, self.counters.held_used)?;
        self.check_counters()?;
        self.check_user()?;
        self.check_mempolicies()?;
        self.check_numa_balancing()?;
        self.check_page_cache()?;
        self.check_compaction()?;
        self.check_costs()?;
        self.check_lru()
    }

    fn check_counters(&self) -> Verdict {
        let counters = &self.counters;
        for (who, steal, scan) in [
            ("kswapd", counters.pgsteal_kswapd.total(), counters.pgscan_kswapd.total()),
            ("direct", counters.pgsteal_direct.total(), counters.pgscan_direct.total()),
        ] {
            require(steal <= scan, "only scanned pages are reclaimed", || format!("{who}: {steal} of {scan}"))?;
        }
        Ok(())
    }
}
