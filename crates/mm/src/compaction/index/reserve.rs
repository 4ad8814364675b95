//! Reserve of free huge pages: kcompactd empties the cheapest pageblocks before the next request for a huge page has to
//! do so for itself.
//!
//! A zone keeps as many huge pages free as requests took since kcompactd last filled its reserve, so that demand bounds
//! the work; but at least the pages between the low and the high mark, as kswapd reclaims ahead. A request that leaves
//! less than half of the reserve wakes kcompactd: too few blocks, or too few pages above the mark that huge pages leave.
//! Nothing is moved where nobody takes huge pages, and only cheap pageblocks are emptied for a request that may never
//! come. Where pages are too few, huge pages that are mapped in part are split first, by policy: nobody loses a page by
//! it.

use crate::compact_result::CompactResult;
use crate::compaction::run::control::CompactControl;
use crate::compaction::run::end_conditions::Finished;
use crate::phys::PhysMem;

impl PhysMem {
    /// Verdict on a run that fills the reserve: the run is over once the reserve is full.
    pub(super) fn finished_by_reserve(&self, run: &CompactControl) -> Finished {
        if self.may_fill_reserve(run.zone) { Finished::Continue } else { Finished::Over(CompactResult::Success) }
    }
}
