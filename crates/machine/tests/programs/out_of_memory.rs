//! Programs that want more than there is.

use order9_machine::{Event, Options, Outcome, Results, Thread, TraceKinds};
use order9_units::{Bytes, Nanos, Order, Pages};
use order9_workloads::{
    Access, AddressSpace, ChildKind, Files, KernelAlloc, KernelAllocator, KernelSize, Mapping, Measuring, OomScoreAdj,
    Processes, Stop,
};

use crate::{counter, disk, kib, machine_with, mib, run};

async fn hog(sys: Thread, memory: Bytes) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(memory)).await?;
    sys.touch(area, Access::Write).await
}

fn killed(results: &Results) -> Vec<&str> {
    results.kills.iter().map(|kill| kill.victim.as_deref().expect("somebody was killed")).collect()
}

#[test]
fn a_program_larger_than_the_machine_is_killed_and_that_is_the_outcome() {
    let results = run(async |sys| hog(sys, mib(16)).await);
    let Outcome::OutOfMemory(kill) = &results.outcome else { panic!("{:?}", results.outcome) };
    assert_eq!(kill.victim.as_deref(), Some("program"));
    assert!(kill.rss.get() > 1500 && kill.free.get() < 200, "{kill}");
    let told = kill.to_string();
    assert!(told.contains("program asked for a block of order 0") && told.contains("killed program"), "{told}");
    assert_eq!(counter(&results, "pgalloc_normal"), counter(&results, "pgfree"), "all memory comes back");
    assert_eq!(counter(&results, "oom_kill"), 1);
}

#[test]
fn the_largest_process_goes_and_the_others_go_on() {
    let results = run(async |sys| {
        let large = sys.spawn(ChildKind::Process, "large", async |sys| {
            hog(sys.clone(), mib(6)).await?;
            sys.sleep(Nanos::new(1 << 40)).await
        });
        let large = large.await?;
        sys.sleep(Nanos::new(1_000_000_000)).await?;
        let small = sys.spawn(ChildKind::Process, "small", async |sys| hog(sys, mib(3)).await).await?;
        sys.wait(small).await?.result?;
        let ended = sys.wait(large).await?.result;
        assert_eq!(ended, Err(Stop::Killed { process: "large".to_owned() }), "asleep when it was killed");
        Ok(())
    });
    assert_eq!((killed(&results), &results.outcome), (vec!["large"], &Outcome::Completed));
}

/// Starts a process called `name` that takes `memory` and computes for a long time, its `oom_score_adj` as given.
async fn holder(sys: &Thread, name: &str, memory: Bytes, adj: i64) -> Result<<Thread as Processes>::Child, Stop> {
    let body = async move |sys: Thread| {
        sys.set_oom_score_adj(OomScoreAdj::new(adj).expect("in range")).await?;
        hog(sys.clone(), memory).await?;
        sys.compute(Nanos::new(1 << 40)).await
    };
    sys.spawn(ChildKind::Process, name, body).await
}

#[test]
fn oom_score_adj_counts_beside_size() {
    let results = run(async |sys| {
        // A process of 1 MiB that counts as if it had half of the machine's 8 MiB more, and a large one that is never killed.
        let worse = holder(&sys, "worse", mib(1), 500).await?;
        holder(&sys, "never", mib(4), -1000).await?;
        sys.sleep(Nanos::new(1_000_000_000)).await?;
        let asks = sys.spawn(ChildKind::Process, "asks", async |sys| hog(sys, mib(3)).await).await?;
        sys.wait(asks).await?.result?;
        let ended = sys.wait(worse).await?.result;
        assert_eq!(ended, Err(Stop::Killed { process: "worse".to_owned() }), "in the midst of its work");
        assert!(sys.now() < Nanos::new(2_000_000_000), "a process that is killed does not compute to the end");
        // The second time only the process that asks is left: the other one may not be killed.
        hog(sys.clone(), mib(6)).await
    });
    assert_eq!(killed(&results), ["worse", "program"]);
    let [first, second] = [0, 1].map(|nth| results.kills[nth].report.as_str());
    assert!(first.contains("asks invoked oom-killer") && first.contains("oom_score_adj:500"), "{first}");
    assert!(second.lines().any(|line| line.contains("-1000 never")), "{second}");
}

#[test]
fn children_have_the_oom_score_adj_of_who_starts_them() {
    let results = run(async |sys| {
        sys.set_oom_score_adj(OomScoreAdj::MIN).await?;
        let child = sys.spawn(ChildKind::Process, "child", async |sys| hog(sys, mib(16)).await).await?;
        sys.wait(child).await?.result
    });
    let Outcome::OutOfMemory(kill) = &results.outcome else { panic!("{:?}", results.outcome) };
    assert_eq!(kill.victim, None);
}

#[test]
fn all_threads_of_a_killed_process_end() {
    let results = run(async |sys| {
        let victim = sys.spawn(ChildKind::Process, "victim", async |sys| {
            let mut threads = Vec::new();
            for _ in 0..4 {
                threads.push(sys.spawn(ChildKind::Thread, "victim", async |sys| hog(sys, mib(4)).await).await?);
            }
            for thread in threads {
                sys.wait(thread).await?.result?;
            }
            Ok(())
        });
        let victim = victim.await?;
        sys.wait(victim).await?.result
    });
    assert!(matches!(results.outcome, Outcome::OutOfMemory(_)), "{:?}", results.outcome);
    assert_eq!(killed(&results), ["victim"]);
}

#[test]
fn a_file_larger_than_memory_ends_with_nobody_to_kill() {
    let results = run(async |sys| {
        let _kept = sys.mmap(Mapping::anon(kib(4))).await?;
        sys.create_file(mib(16)).await.map(|_| ())
    });
    let Outcome::OutOfMemory(kill) = &results.outcome else { panic!("{:?}", results.outcome) };
    assert_eq!(kill.victim, None);
    assert!(kill.to_string().ends_with("nobody could be killed"), "{kill}");
}

#[test]
fn the_report_of_a_kill_has_the_lines_of_the_kernel() {
    let results = run(async |sys| hog(sys, mib(16)).await);
    let report = &results.kills[0].report;
    let starts = [
        "program invoked oom-killer: gfp_mask=",
        "Mem-Info:",
        "active_anon:",
        "Node 0 active_anon:",
        "Node 0 Normal free:",
        "lowmem_reserve[]: 0 0 0 0",
        "Node 0 Normal: ",
        "0 pages in swap cache",
        "Free swap  = 0kB",
        "Total swap = 0kB",
        "2048 pages RAM",
        "Tasks state (memory values in pages):",
        "[      1]     4096     ",
        "Out of memory: Killed process 1 (program) total-vm:16384kB, anon-rss:",
    ];
    let mut lines = report.lines();
    for start in starts {
        assert!(lines.any(|line| line.starts_with(start)), "no line starts with {start:?}, or not there: {report}");
    }
}

#[test]
fn why_a_request_goes_on_or_gives_up_can_be_traced() {
    let kinds = ["compact_retry", "reclaim_retry_zone"];
    let trace = kinds.into_iter().fold(TraceKinds::NONE, |trace, name| trace.with(name).expect("it is a tracepoint"));
    let options = Options { trace, trace_max: 10_000, disks: vec![disk(Pages::new(2048))], ..Options::new(1) };
    let results = machine_with(mib(8), 2, &options).run_program(
        "program",
        async |sys: Thread| {
            let area = sys.mmap(Mapping::anon(mib(7))).await?;
            for page in (0..area.length.get()).step_by(4 * 4096) {
                sys.pin(area.part(Bytes::new(page), kib(4))).await?;
                sys.touch(area.part(Bytes::new(page), kib(16)), Access::Write).await?;
            }
            let block = KernelAlloc::new(KernelSize::Block(Order::new(3).expect("a small order")));
            for _ in 0..200 {
                sys.kernel_alloc(block).await?;
            }
            hog(sys, mib(32)).await
        },
        |_| (),
    );
    let decided = |name: &str| results.events.iter().filter(|traced| traced.name() == name).count();
    assert!(kinds.iter().all(|name| decided(name) > 0), "{:?}", kinds.map(decided));
    let last = results.events.iter().rev().find(|traced| traced.name() == "reclaim_retry_zone");
    let Some(Event::ReclaimRetryZone { wmark_check, .. }) = last.map(|traced| traced.event) else { panic!("{last:?}") };
    assert!(!wmark_check, "who is killed had nothing left to hope for");
}
