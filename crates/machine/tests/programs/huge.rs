//! Huge pages as programs meet them.

use std::num::NonZeroU64;

use order9_machine::{CollapseEvent, Event, Machine, Options, Outcome, Results, Thread, TraceKinds};
use order9_mm::policy::Policy;
use order9_mm::thp::HugeEnabled;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, PAGE_SIZE, Pages, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Administration, Advice, Area, Mapping, Processes, Stop};

use crate::{NORMAL, counter, disk, machine_of, mib, prices};

const SECOND: Nanos = Nanos::new(1_000_000_000);

/// Size of a huge page.
const HUGE: Bytes = mib(2);

/// 16 MiB with swap, where faults get base pages and programs can collapse them; checked again and again.
fn machine() -> Machine {
    let mut policy = Policy::default();
    policy.thp.madvise_collapse = true;
    let options =
        Options { check_every: NonZeroU64::new(1024), disks: vec![disk(Pages::new(8192))], ..Options::new(1) };
    let span = PfnRange::of(NORMAL, Pages::from_bytes_floor(mib(16)));
    machine_of(&[(ZoneKind::Normal, span)], policy, 2, &options)
}

fn run<F>(program: impl FnOnce(Thread) -> F + 'static) -> Results
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    machine().run_program("program", program, |_| ())
}

/// Untouched memory of the size and alignment of a huge page.
async fn slot(sys: &Thread) -> Result<Area, Stop> {
    let mapped = sys.mmap(Mapping::anon(mib(4))).await?;
    Ok(mapped.part(Bytes::new(mapped.start.next_multiple_of(HUGE.get()) - mapped.start), HUGE))
}

#[test]
fn base_pages_become_a_huge_one_at_once() {
    let results = run(async |sys| {
        let slot = slot(&sys).await?;
        sys.touch(slot.part(Bytes::ZERO, mib(1)), Access::Write).await?;
        sys.madvise(slot, Advice::Collapse).await?;
        sys.touch(slot, Access::Write).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!((counter(&results, "pgfault"), counter(&results, "thp_collapse_alloc")), (256, 1));
}

/// The same without swap, where advised memory gets huge pages if they are free.
fn advised() -> Machine {
    traced(TraceKinds::NONE)
}

/// The same with these events kept.
fn traced(trace: TraceKinds) -> Machine {
    let options = Options { check_every: NonZeroU64::new(1024), trace, trace_max: 100, ..Options::new(1) };
    machine_by(Policy::default(), &options)
}

/// 16 MiB and two CPUs under a policy, with huge pages for whoever asks.
pub(crate) fn machine_by(policy: Policy, options: &Options) -> Machine {
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec {
            node: NodeId(0),
            kind: ZoneKind::Normal,
            span: PfnRange::of(NORMAL, Pages::from_bytes_floor(mib(16))),
        }],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("zones are a layout").content_tags().boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Madvise);
    mm.phys_mut().set_min_free_kbytes(128);
    Machine::new(mm, vec![NodeId(0); 2], prices(), options).expect("there are CPUs")
}

/// Whole slots, each half used in base pages.
async fn half_used(sys: &Thread, slots: u64) -> Result<Area, Stop> {
    let mapped = sys.mmap(Mapping::anon(Bytes::new((slots + 1) * HUGE.get()))).await?;
    let ahead = mapped.start.next_multiple_of(HUGE.get()) - mapped.start;
    let area = mapped.part(Bytes::new(ahead), Bytes::new(slots * HUGE.get()));
    for slot in 0..slots {
        sys.touch(area.part(Bytes::new(slot * HUGE.get()), mib(1)), Access::Write).await?;
    }
    Ok(area)
}

#[test]
fn khugepaged_makes_base_pages_huge_behind_the_program() {
    let results = advised().run_program(
        "program",
        async |sys| {
            let area = half_used(&sys, 2).await?;
            sys.madvise(area, Advice::HugePage).await?;
            // It was woken while the program had the lock of the space, and passed that by: it comes back after 10 s.
            sys.sleep(Nanos::new(11 * SECOND.get())).await?;
            sys.touch(area, Access::Write).await
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!((counter(&results, "pgfault"), counter(&results, "thp_collapse_alloc")), (512, 2));
    assert_eq!(counter(&results, "thp_collapse_alloc_failed"), 0);
}

#[test]
fn khugepaged_is_traced_and_its_time_counted() {
    let names = ["mm_khugepaged_scan_pmd", "mm_collapse_huge_page", "mm_collapse_huge_page_isolate"];
    let kinds = names.into_iter().fold(TraceKinds::NONE, |kinds, name| kinds.with(name).expect("it exists"));
    let results = traced(kinds).run_program(
        "program",
        async |sys| {
            let area = half_used(&sys, 1).await?;
            sys.madvise(area, Advice::HugePage).await?;
            sys.sleep(Nanos::new(11 * SECOND.get())).await
        },
        |_| (),
    );
    let events: Vec<CollapseEvent> = results
        .events
        .iter()
        .filter_map(|traced| if let Event::Collapse(event) = traced.event { Some(event) } else { None })
        .collect();
    let [scan, isolate, done] = events[..] else { panic!("{events:?}") };
    let CollapseEvent::ScanPmd { writable: true, referenced: 256, none_or_zero: 256, unmapped: 0, status, .. } = scan
    else {
        panic!("{scan:?}")
    };
    assert_eq!(status, "succeeded");
    assert!(matches!(isolate, CollapseEvent::Isolate { none_or_zero: 256, status: "succeeded", .. }), "{isolate:?}");
    assert!(matches!(done, CollapseEvent::HugePage { isolated: true, status: "succeeded", .. }), "{done:?}");
    assert!(counter(&results, "order9_khugepaged_cpu_ns") > 512 * 10, "it copied a huge page");
}

/// Two CPUs and huge pages for all, which go to swap in one piece or are split.
pub(crate) fn huge_machine(memory: Bytes, swap_whole: bool, options: &Options) -> Machine {
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec {
            node: NodeId(0),
            kind: ZoneKind::Normal,
            span: PfnRange::of(NORMAL, Pages::from_bytes_floor(memory)),
        }],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    let mut policy = Policy::default();
    policy.thp.swap_whole = swap_whole;
    let mut mm = MmBuilder::new(&layout, policy).expect("zones are a layout").content_tags().boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
    mm.phys_mut().set_min_free_kbytes(1024);
    Machine::new(mm, vec![NodeId(0); 2], prices(), options).expect("there are CPUs")
}

#[test]
fn huge_pages_go_to_swap_whole_and_come_back_as_base_pages() {
    for swap_whole in [true, false] {
        let disks = vec![disk(Pages::from_bytes_floor(mib(128)))];
        let options = Options { check_every: NonZeroU64::new(509), disks, ..Options::new(1) };
        let results = huge_machine(mib(32), swap_whole, &options).run_program(
            "program",
            async |sys| {
                let area = sys.mmap(Mapping::anon(mib(48))).await?;
                sys.touch(area, Access::Write).await?;
                sys.touch(area, Access::Read).await?;
                sys.munmap(area).await
            },
            |tick| {
                if tick.is_last {
                    tick.engine.check().expect("every law holds at the end");
                }
            },
        );
        assert_eq!(results.outcome, Outcome::Completed);
        assert!(counter(&results, "pswpout") > 4096 && counter(&results, "pswpin") > 4096);
        assert_eq!(counter(&results, "thp_swpout") > 4, swap_whole);
        assert_eq!(counter(&results, "thp_split_page") > 4, !swap_whole);
        assert_eq!(counter(&results, "thp_swpout_fallback"), 0);
    }
}

#[test]
fn failures_to_allocate_make_khugepaged_rest() {
    let failures_after = |seconds| {
        let results = advised().run_program(
            "program",
            async move |sys| {
                let area = half_used(&sys, 4).await?;
                let rest = Bytes::new(sys.memory().free.get() - mib(1).get());
                let filler = sys.mmap(Mapping::anon(rest)).await?;
                sys.touch(filler, Access::Write).await?;
                sys.madvise(area, Advice::HugePage).await?;
                sys.sleep(Nanos::new(seconds * SECOND.get())).await
            },
            |_| (),
        );
        assert_eq!(results.outcome, Outcome::Completed);
        assert_eq!(counter(&results, "thp_collapse_alloc"), 0);
        counter(&results, "thp_collapse_alloc_failed")
    };
    // The first pass finds the space locked. The second one fails after 10 s, rests a minute, fails again, and ends.
    assert_eq!([9, 11, 69, 71, 79, 81, 139, 141].map(failures_after), [0, 1, 1, 2, 2, 3, 3, 4]);
}

#[test]
fn what_is_in_swap_is_read_back() {
    let results = run(async |sys| {
        let slot = slot(&sys).await?;
        sys.touch(slot, Access::Write).await?;
        let much = sys.mmap(Mapping::anon(mib(24))).await?;
        sys.touch(much, Access::Write).await?;
        sys.touch(much, Access::Write).await?;
        sys.munmap(much).await?;
        sys.touch(slot.part(Bytes::ZERO, PAGE_SIZE), Access::Write).await?;
        sys.madvise(slot, Advice::Collapse).await?;
        assert_eq!(sys.mincore(slot).await?, 512);
        sys.touch(slot, Access::Read).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert!(counter(&results, "pswpin") > 256);
    assert_eq!(counter(&results, "thp_collapse_alloc"), 1);
}

#[test]
fn what_was_never_touched_cannot_be_collapsed() {
    let results = run(async |sys| {
        let slot = slot(&sys).await?;
        let refused = Err(Stop::Refused { call: "madvise", errno: "EINVAL" });
        assert_eq!(sys.madvise(slot, Advice::Collapse).await, refused);
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(counter(&results, "thp_collapse_alloc"), 0);
}

#[test]
fn a_slot_that_fails_ends_the_call_with_its_mapping() {
    let results = run(async |sys| {
        let mapped = sys.mmap(Mapping::anon(mib(10))).await?;
        let start = Bytes::new(mapped.start.next_multiple_of(HUGE.get()) - mapped.start);
        let slots = [0, 1, 2, 3].map(|slot| mapped.part(start + Bytes::new(slot * HUGE.get()), HUGE));
        // Advice makes two mappings of two slots each.
        sys.madvise(mapped.part(start, mib(4)), Advice::HugePage).await?;
        for touched in [&slots[1], &slots[3]] {
            sys.touch(touched.part(Bytes::ZERO, mib(1)), Access::Write).await?;
        }
        let refused = Err(Stop::Refused { call: "madvise", errno: "EINVAL" });
        assert_eq!(sys.madvise(mapped.part(start, mib(8)), Advice::Collapse).await, refused, "the first has nothing");
        sys.touch(slots[1], Access::Write).await?;
        sys.touch(slots[3], Access::Write).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(counter(&results, "thp_collapse_alloc"), 1, "the second slot alone, not the fourth");
    assert_eq!(counter(&results, "pgfault"), 256 + 256 + 256);
}
