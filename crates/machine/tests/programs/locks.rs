//! Whom the lock of an address space keeps waiting, by release.

use order9_machine::{Options, Outcome, Results};
use order9_mm::policy::{MmapLock, Policy};
use order9_units::{Bytes, Nanos, PAGE_SIZE, Pages, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Advice, Area, ChildKind, Mapping, Measuring, Processes, Prot};

use crate::huge::machine_by;
use crate::{NORMAL, counter, machine_of, mib};

/// Every rule, the strictest first.
const RULES: [MmapLock; 4] = [MmapLock::Whole, MmapLock::Downgraded, MmapLock::PerAnonVma, MmapLock::PerVma];

/// What the first thread does while the other faults.
#[derive(Clone, Copy)]
enum Change {
    /// Unmaps a mapping of its own, with pages.
    Munmap,
    /// Changes the advice for a mapping of its own, again and again.
    Madvise,
    /// Changes the advice for the mapping that the other faults in.
    MadviseShared,
}

/// A thread faults page by page in a mapping with pages, while the first thread changes mappings: what became of it, and the
/// longest fault in ns.
fn faults_beside(change: Change, mmap_lock: MmapLock) -> (Results, f64) {
    let span = PfnRange::of(NORMAL, Pages::from_bytes_floor(mib(32)));
    let policy = Policy { mmap_lock, ..Policy::default() };
    let machine = machine_of(&[(ZoneKind::Normal, span)], policy, 2, &Options::new(1));
    let results = machine.run_program(
        "program",
        move |sys| async move {
            let own = sys.mmap(Mapping::anon(mib(16))).await?;
            // Other rights keep the two mappings from being one.
            let gap = sys.mmap(Mapping::anon(PAGE_SIZE)).await?;
            sys.mprotect(gap, Prot::None).await?;
            let others = sys.mmap(Mapping::anon(mib(8))).await?;
            let page = |area: Area, at: u64| area.part(Bytes::new(at * PAGE_SIZE.get()), PAGE_SIZE);
            sys.touch(own, Access::Write).await?;
            sys.touch(page(others, 0), Access::Write).await?;
            let faults = sys.spawn(ChildKind::Thread, "faults", async move |sys| {
                for at in 1..1024 {
                    let before = sys.now();
                    sys.touch(page(others, at), Access::Write).await?;
                    sys.sample("fault", sys.now() - before);
                }
                Ok(())
            });
            let faults = faults.await?;
            let advised = if matches!(change, Change::MadviseShared) { others } else { own };
            if matches!(change, Change::Munmap) {
                sys.munmap(own).await?;
            } else {
                for _ in 0..500 {
                    sys.madvise(advised, Advice::HugePage).await?;
                    sys.madvise(advised, Advice::NoHugePage).await?;
                }
            }
            sys.wait(faults).await?.result
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed, "{mmap_lock:?}");
    let longest = results.samples.iter().map(|sample| sample.value).fold(0.0, f64::max);
    (results, longest)
}

#[test]
fn a_fault_waits_for_a_whole_munmap_up_to_4_19_alone() {
    let longest: Vec<f64> = RULES.iter().map(|rule| faults_beside(Change::Munmap, *rule).1).collect();
    assert!(longest[0] > 10.0 * longest[1], "{longest:?}");
    assert!(longest[1] >= longest[2] && longest[2] == longest[3], "{longest:?}");
}

#[test]
fn a_fault_waits_for_changes_of_other_mappings_up_to_6_3() {
    let contended = |rule| counter(&faults_beside(Change::Madvise, rule).0, "order9_mmap_lock_contended");
    let contended = RULES.map(contended);
    assert!(contended[1] > 100, "{contended:?}");
    assert_eq!(contended[2..], [0, 0], "{contended:?}");
}

#[test]
fn a_fault_waits_for_changes_of_its_own_mapping_everywhere() {
    for rule in RULES {
        let (results, _) = faults_beside(Change::MadviseShared, rule);
        assert!(counter(&results, "order9_mmap_lock_contended") > 50, "{rule:?}");
    }
}

#[test]
fn a_change_of_a_mapping_waits_for_faults_in_it() {
    for rule in RULES {
        let machine = machine_by(Policy { mmap_lock: rule, ..Policy::default() }, &Options::new(1));
        let results = machine.run_program(
            "program",
            async move |sys| {
                let area = sys.mmap(Mapping::anon(mib(8))).await?;
                let advise = |advice| sys.madvise(area, advice);
                sys.touch(area.part(Bytes::ZERO, PAGE_SIZE), Access::Write).await?;
                advise(Advice::HugePage).await?;
                let faults = sys.spawn(ChildKind::Thread, "faults", async move |sys| {
                    let before = sys.now();
                    sys.touch(area.part(mib(2), PAGE_SIZE), Access::Write).await?;
                    sys.sample("fault", sys.now() - before);
                    Ok(())
                });
                let faults = faults.await?;
                // The fault is on its way by then, and clears a huge page.
                sys.compute(Nanos::new(1000)).await?;
                let before = sys.now();
                advise(Advice::NoHugePage).await?;
                sys.sample("change", sys.now() - before);
                sys.wait(faults).await?.result
            },
            |_| (),
        );
        assert_eq!(results.outcome, Outcome::Completed, "{rule:?}");
        assert_eq!(counter(&results, "thp_fault_alloc"), 1, "{rule:?}");
        let value = |operation: &str| {
            let at = results.operations.iter().position(|known| known.name == operation).expect("it was sampled");
            results.samples.iter().find(|sample| sample.operation as usize == at).expect("it was sampled").value
        };
        assert!(value("change") > value("fault") / 2.0, "{rule:?}: {:?}", results.samples);
    }
}
