//! NUMA balancing: tasks scan their memory, and tell who they are when they come by what was scanned.

use order9_mm::numa_balancing::NumaTask;
use order9_mm::space::{Access, VirtAddr, VpnRange};
use order9_mm::{Counters, Mm, SpaceId};
use order9_units::{Nanos, Pages};

use super::{ALL_PAGES, START, World};
use crate::nodes::Choices;

/// More than the longest time between two scans.
const LATER: Nanos = Nanos::new(100_000_000_000);

/// The counters that never fall.
fn counters(counters: &Counters) -> [u64; 5] {
    [
        counters.numa_pte_updates,
        counters.numa_huge_pte_updates,
        counters.numa_hint_faults,
        counters.numa_hint_faults_local,
        counters.numa_pages_migrated,
    ]
}

impl<C: Choices> World<C> {
    /// Switches balancing on or off, or scans.
    pub(super) fn balance(&mut self) {
        match self.below(8) {
            0 => self.with(|mm| mm.set_numa_balancing(false)),
            1 => {
                let size = 1 + self.below(8);
                self.with(|mm| {
                    mm.set_numa_balancing(true);
                    mm.tune(|tunables| tunables.numa_scan.size_mb = size);
                });
            }
            _ => self.scan(),
        }
    }

    fn a_task(&mut self) -> NumaTask {
        let (pid, cpu, threads) = (self.below(4) as u32, self.machine.nodes.cpu(&mut self.choices), 1 + self.below(2));
        NumaTask { pid, cpu, threads }
    }

    /// A scan to its end. It takes no page from anybody.
    fn scan(&mut self) {
        let (space, task) = (self.space(), self.a_task());
        self.next_user = task;
        self.clock += LATER;
        let (runtime, now) = (self.clock, self.clock);
        let before = self.with(|mm| (mm.space(space).expect("it lives").rss(), counters(mm.counters())));
        let tick = self.with(|mm| mm.numa_tick(space, task, runtime, now));
        assert!(tick.ask_after > Nanos::ZERO);
        let Some(mut run) = self.with(|mm| mm.numa_scan_begin(space, task, now)) else { return };
        while self.with(|mm| mm.numa_scan_step(&mut run)) {}
        self.with(|mm| mm.pages_mut().spaces_mut().numa_scan_took(&run, Nanos::new(1000)));
        let asked =
            self.with(|mm| mm.pages().spaces().hinting_pages(space, VpnRange::of(START.vpn(), Pages::new(ALL_PAGES))));
        let after = self.with(|mm| (mm.space(space).expect("it lives").rss(), counters(mm.counters())));
        assert_eq!(before.0, after.0, "a scan leaves every page mapped");
        assert!(before.1.iter().zip(after.1).all(|(before, after)| *before <= after), "counters never run backwards");
        // The program comes by some of what it is asked about.
        for _ in 0..self.below(8).min(asked.len() as u64) {
            let (vpn, _) = asked[self.below(asked.len() as u64) as usize];
            let access = if self.below(2) == 0 { Access::Read } else { Access::Write };
            self.access(space, vpn.addr(), access, true);
        }
    }

    /// Goes on with an access to a page that is asked about.
    pub(super) fn tell(&self, space: SpaceId, addr: VirtAddr) {
        let (task, now) = (self.next_user, self.clock);
        let before = self.with(|mm| counters(mm.counters()));
        let wanted = self.with(|mm: &mut Mm| mm.numa_hint_fault(space, addr, task, now));
        assert!(
            wanted.is_none_or(|node| self.machine.nodes.nodes().any(|other| other == node)),
            "a node that there is"
        );
        let after = self.with(|mm| counters(mm.counters()));
        assert!(before.iter().zip(after).all(|(before, after)| *before <= after), "counters never run backwards");
    }
}
