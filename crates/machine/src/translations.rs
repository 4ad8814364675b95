//! CPUs that must flush translations when memory of others is unmapped, as reclaim and compaction do in the background.

use std::cell::Cell;

use order9_units::Nanos;

use crate::kernel::Kernel;

/// Time for which an answer is used again.
const FRESH: Nanos = Nanos::new(1_000_000);

/// The last answer, and when it was given.
#[derive(Default)]
pub(crate) struct Translations(Cell<Option<(Nanos, u64)>>);

impl Kernel {
    /// CPUs beside that of the caller that may hold a translation of a page that programs have mapped: as many as its program has
    /// threads. Of whom a page is, is not asked: it is the mean over all pages.
    pub(crate) fn translating_cpus(&self) -> u64 {
        let now = self.handle.now();
        match self.translations.0.get() {
            Some((then, cpus)) if now < then + FRESH => cpus,
            _ => {
                let cpus = self.count_translating();
                self.translations.0.set(Some((now, cpus)));
                cpus
            }
        }
    }

    fn count_translating(&self) -> u64 {
        let processes = self.processes.borrow();
        let alive = processes.iter().filter(|process| process.threads.get() > 0);
        let (pages, places) = self.look(|mm| {
            alive.fold((0, 0), |(pages, places), process| {
                let rss = mm.space(process.space).map_or(0, |space| space.rss().total().get());
                let cpus = process.threads.get().min(self.cpus.len() as u64);
                (pages + rss, places + rss * cpus)
            })
        });
        // At least one: the CPU that ran the program last.
        let cpus = (places + pages / 2).checked_div(pages).unwrap_or(0);
        cpus.min(self.cpus.len() as u64 - 1)
    }
}
