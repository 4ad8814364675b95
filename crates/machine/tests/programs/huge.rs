//! Huge pages as programs meet them.

use std::num::NonZeroU64;

use order9_machine::{Machine, Options, Outcome, Results, Thread};
use order9_mm::policy::Policy;
use order9_units::{Bytes, PAGE_SIZE, Pages, PfnRange, ZoneKind};
use order9_workloads::{Access, Advice, Area, Mapping, Stop, Sys};

use crate::{NORMAL, counter, disk, machine_of, mib};

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
