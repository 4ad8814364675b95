//! hugetlb pools as programs meet them.

use std::num::NonZeroU64;

use order9_machine::{Machine, Options, Outcome, Results, Thread};
use order9_mm::hugetlb::PoolSize;
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, NodeId, PAGE_SIZE, Pages, PfnRange, ZoneKind};
use order9_workloads::{
    Access, AddressSpace, Administration, Advice, Area, ChildKind, Mapping, Measuring, Of, PoolFile, Processes, Stop,
};

use crate::{NORMAL, counter, disk, machine, machine_with, mib, prices};

const HUGE: Bytes = mib(2);
const POOL: Of = Of::Hugetlb { shared: false };

fn run<F>(program: impl FnOnce(Thread) -> F + 'static) -> Results
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    machine(mib(16), 2, 1).run_program("program", program, |_| ())
}

/// Base pages all over memory, every other one of which is free again.
async fn in_pieces(sys: &Thread) -> Result<Area, Stop> {
    let area = sys.mmap(Mapping::anon(mib(10))).await?;
    sys.madvise(area, Advice::NoHugePage).await?;
    sys.touch(area, Access::Write).await?;
    for page in (0..area.length.get() / PAGE_SIZE.get()).step_by(2) {
        sys.madvise(area.part(Bytes::new(page * PAGE_SIZE.get()), PAGE_SIZE), Advice::DontNeed).await?;
    }
    Ok(area)
}

#[test]
fn a_pool_is_made_by_compaction_and_serves_its_mappings() {
    let results = run(async |sys| {
        let area = in_pieces(&sys).await?;
        let reached = sys.set_nr_hugepages(PoolFile::NrHugepages, 3).await?;
        assert_eq!(reached, 3);
        let mapped = sys.mmap(Mapping { length: mib(6), of: POOL }).await?;
        sys.touch(mapped, Access::Write).await?;
        sys.munmap(mapped).await?;
        sys.touch(area, Access::Read).await?;
        assert_eq!(sys.set_nr_hugepages(PoolFile::NrHugepages, 0).await?, 0);
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!((counter(&results, "htlb_buddy_alloc_success"), counter(&results, "thp_fault_alloc")), (3, 0));
    assert!(counter(&results, "compact_success") > 0 && counter(&results, "pgmigrate_success") > 0);
}

#[test]
fn a_pool_that_is_set_before_the_start_is_there_when_the_program_begins() {
    let options = Options { pools: vec![PoolSize::all(100), PoolSize::all(5)], ..Options::new(1) };
    let results = machine_with(mib(16), 2, &options).run_program(
        "program",
        async |sys: Thread| {
            let mapped = sys.mmap(Mapping { length: mib(10), of: POOL }).await?;
            sys.touch(mapped, Access::Write).await
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    let [first, second] = &results.pools[..] else { panic!("{:?}", results.pools) };
    assert!(first.had == 0 && first.has < 8 && first.fell_short() && first.error.is_some(), "{first:?}");
    assert_eq!((first.failed, first.left.recoverable), (1, 0));
    assert_eq!((second.had, second.has, second.failed, second.fell_short()), (first.has, 5, 0, false));
}

#[test]
fn a_pool_that_cannot_be_made_stays_smaller_and_the_write_succeeds() {
    let results = run(async |sys| {
        let reached = sys.set_nr_hugepages(PoolFile::NrHugepages, 100).await?;
        assert!((1..8).contains(&reached), "{reached} of 8 slots");
        let refused = sys.mmap(Mapping { length: Bytes::new(100 * HUGE.get()), of: POOL }).await;
        assert_eq!(refused, Err(Stop::Refused { call: "mmap", errno: "ENOMEM" }));
        Ok(())
    });
    assert_eq!((results.outcome.clone(), counter(&results, "htlb_buddy_alloc_fail")), (Outcome::Completed, 1));
}

#[test]
fn a_child_without_a_page_of_its_own_gets_a_signal() {
    let results = run(async |sys| {
        sys.set_nr_hugepages(PoolFile::NrHugepages, 1).await?;
        let mapped = sys.mmap(Mapping { length: HUGE, of: POOL }).await?;
        sys.touch(mapped, Access::Write).await?;
        let child =
            sys.spawn(ChildKind::Fork, "child", async move |sys| sys.touch(mapped, Access::Write).await).await?;
        let ended = sys.wait(child).await?;
        assert!(matches!(ended.result, Err(Stop::Signal { signal: "SIGBUS", .. })), "{ended:?}");
        sys.touch(mapped, Access::Write).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn shared_pools_are_written_by_parent_and_child() {
    let results = run(async |sys| {
        sys.set_nr_hugepages(PoolFile::NrHugepages, 2).await?;
        let mapped = sys.mmap(Mapping { length: mib(4), of: Of::Hugetlb { shared: true } }).await?;
        let body = async move |sys: Thread| sys.touch(mapped, Access::Write).await;
        let child = sys.spawn(ChildKind::Fork, "child", body).await?;
        sys.touch(mapped, Access::Write).await?;
        sys.wait(child).await?.result
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn a_mapping_beyond_the_pool_makes_it_grow_as_far_as_overcommit_allows() {
    let zone = ZoneSpec {
        node: NodeId(0),
        kind: ZoneKind::Normal,
        span: PfnRange::of(NORMAL, Pages::from_bytes_floor(mib(16))),
    };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![zone],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, Policy::default()).expect("a zone is a layout").content_tags().boot();
    mm.tune(|tunables| tunables.nr_overcommit_hugepages = 2);
    let options = Options { check_every: NonZeroU64::new(1), ..Options::new(1) };
    let machine = Machine::new(mm, vec![NodeId(0)], prices(), &options).expect("there is a CPU");
    let results = machine.run_program(
        "program",
        async |sys| {
            let refused = sys.mmap(Mapping { length: mib(6), of: POOL }).await;
            assert_eq!(refused, Err(Stop::Refused { call: "mmap", errno: "ENOMEM" }), "two are all");
            let mapped = sys.mmap(Mapping { length: mib(4), of: POOL }).await?;
            sys.touch(mapped, Access::Write).await?;
            sys.munmap(mapped).await
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!((counter(&results, "htlb_buddy_alloc_success"), counter(&results, "pgfault")), (4, 2));
}

/// Pages that `ask` looks at in reclaim, and how often it reclaims, where swap has room but a pin holds every pageblock.
fn effort<F>(ask: impl FnOnce(Thread) -> F + 'static) -> [u64; 2]
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    let options = Options { disks: vec![disk(Pages::new(8192))], ..Options::new(1) };
    let results = machine_with(mib(16), 1, &options).run_program(
        "program",
        async |sys| {
            let area = sys.mmap(Mapping::anon(mib(14))).await?;
            sys.madvise(area, Advice::NoHugePage).await?;
            sys.touch(area, Access::Write).await?;
            for half in 0..14 {
                sys.pin(area.part(mib(half), PAGE_SIZE)).await?;
            }
            sys.phase("ask");
            ask(sys).await
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    [counter(&results, "pgscan_direct"), counter(&results, "allocstall_movable")]
}

#[test]
fn where_nothing_can_be_emptied_the_writer_goes_on_in_reclaim() {
    let idle = effort(async |_| Ok(()));
    let fault = effort(async |sys| {
        let mapped = sys.mmap(Mapping::anon(mib(4))).await?;
        sys.madvise(mapped, Advice::HugePage).await?;
        let slot = mapped.part(Bytes::new(mapped.start.next_multiple_of(HUGE.get()) - mapped.start), PAGE_SIZE);
        sys.touch(slot, Access::Write).await
    });
    let pool = effort(async |sys| {
        assert_eq!(sys.set_nr_hugepages(PoolFile::NrHugepages, 1).await?, 0, "no pageblock can be emptied");
        Ok(())
    });
    let rounds = [fault, pool].map(|[_, rounds]| rounds - idle[1]);
    assert!(rounds[1] > 3 * rounds[0].max(1), "a fault gives up, the pool does not: {idle:?} {fault:?} {pool:?}");
    assert!(pool[0] > fault[0], "{fault:?} {pool:?}");
}
