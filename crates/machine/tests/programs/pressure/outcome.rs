//! What must come of pressure, beside memory that runs out or does not: what does not fit goes where its kind can go, all of it,
//! and nothing else does.

use order9_machine::Results;
use order9_units::Pages;

use super::{Kind, Pressure};
use crate::counter;

/// KiB of a page, in which transfers of disks are counted.
const KIB: u64 = 4;

impl Pressure {
    /// Pages that all tasks want to be anonymous or shared memory, and of files.
    pub(super) fn wanted(&self) -> (u64, u64) {
        let wanted = Pages::from_bytes_floor(self.memory).get() * self.percent / 100;
        match self.kind {
            Kind::Read | Kind::Dirty => (0, wanted),
            Kind::Anon | Kind::Shared | Kind::Mlocked | Kind::Pinned => (wanted, 0),
            Kind::Slab => (wanted / 2, wanted / 2),
        }
    }

    pub(super) fn assert_outcome(&self, results: &Results) {
        let count = |name| counter(results, name);
        let (out, back) = (count("pswpout"), count("pswpin"));
        let victims = results.kills.iter().filter(|kill| kill.victim.is_some());
        assert!(victims.clone().count() as u64 <= self.tasks, "{self:?}: each task is killed once at most");
        assert!(victims.clone().all(|kill| kill.rss > Pages::ZERO), "{self:?}: who is killed has something");
        assert!(self.swap > Pages::ZERO || (out, back) == (0, 0), "{self:?}: nothing is swapped without swap");
        assert!(self.percent > 50 || out == 0, "{self:?}: nothing is swapped while half of memory is free");
        if results.kills.is_empty() {
            self.assert_all_had_their_share(out, back, [count("pgpgin"), count("pgpgout")]);
        }
    }

    /// All came to their end: what is more than memory was moved out, and back where it was used again.
    fn assert_all_had_their_share(&self, out: u64, back: u64, [kib_in, kib_out]: [u64; 2]) {
        let memory = Pages::from_bytes_floor(self.memory).get();
        let (anon, of_files) = self.wanted();
        // Shares are whole pages.
        let too_much = |pages: u64| (pages - self.tasks.min(pages)).saturating_sub(memory);
        assert!(out >= too_much(anon), "{self:?}: {out} pages swapped out of {anon}");
        if let Kind::Anon | Kind::Shared = self.kind {
            assert!(back >= too_much(anon), "{self:?}: {back} pages swapped in of {anon} that were written again");
        }
        // Who is alone reads nothing back before all is written.
        if self.kind == Kind::Read && self.tasks == 1 {
            let least = too_much(of_files);
            assert!(kib_in >= KIB * least, "{self:?}: {kib_in} KiB read back, of {least} pages at least");
        }
        let written = of_files - self.tasks.min(of_files);
        assert!(kib_out >= KIB * written, "{self:?}: {kib_out} KiB written, of {written} pages");
    }
}
