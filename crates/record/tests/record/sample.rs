//! A small experiment with something of everything.

use order9_record::{
    Counters, Durations, Event, Experiment, Inputs, Machine, Memory, Monitor, Outcome, Phase, Policy, ProcFile,
    Reading, Recorded, Run, Sample, Unit, Workload,
};
use order9_units::{Bytes, CounterMeaning, CounterUnit, Nanos};

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn inputs() -> Inputs {
    let policy = |title: &str| Policy {
        title: title.to_owned(),
        text: "[pcp]\nbatch_max = 63\n".to_owned(),
        settings: Vec::new(),
        guard: String::new(),
        needs: vec!["compaction".to_owned()],
    };
    Inputs {
        order9: "0.1.0".to_owned(),
        command: ["order9", "run", "usemem", "--threads", "1,3"].map(str::to_owned).to_vec(),
        seeds: vec![0, 1],
        threads: vec![1, 3],
        workload: Workload {
            name: "usemem".to_owned(),
            parameters: "size = \"1GiB\"\nshare = 0.8".parse().expect("TOML"),
            better: None,
        },
        machine: Machine { name: "xeon-1s".to_owned(), text: "cpus = 8\n".to_owned() },
        memory: Memory::Synthetic { arguments: "--size 1G --seed 7".to_owned() },
        cmdline: "transparent_hugepage=madvise".to_owned(),
        reserve: Bytes::ZERO,
        settings: vec![("vm.swappiness".to_owned(), "10".to_owned()), ("thp/defrag".to_owned(), "defer".to_owned())],
        recorded: Recorded {
            maps: None,
            every: Nanos::new(SECOND),
            finely: false,
            events: vec!["mm_page_alloc_extfrag".to_owned()],
            check_every: 0,
        },
        policies: vec![policy("linux-5.0"), policy("linux-5.1")],
    }
}

/// Two policies, one of which has two seeds; `scale` makes them differ.
pub(crate) fn experiment() -> Experiment {
    let runs = [("linux-5.0", 0, 3), ("linux-5.0", 1, 4), ("linux-5.1", 0, 2)];
    Experiment { inputs: inputs(), runs: runs.map(|(policy, seed, scale)| run(policy, seed, scale)).to_vec() }
}

pub(crate) fn run(policy: &str, seed: u64, scale: u64) -> Run {
    let mut run = Run::new(policy, seed);
    let latency = run.operation("fault-both-3", Unit::Nanos);
    let rate = run.operation("1-files/sec", Unit::PerSecond);
    for n in 0..5 {
        let at = Nanos::new(n * SECOND / 3);
        run.samples.push(Sample { operation: latency, at, value: (n * scale * 1001) as f64 });
    }
    run.samples.push(Sample { operation: rate, at: Nanos::new(2 * SECOND), value: 0.1 * scale as f64 });
    run.counters = Counters::new([
        ("nr_free_pages", CounterMeaning::level(CounterUnit::Pages)),
        ("pgfault", CounterMeaning::event(CounterUnit::Events)),
        ("order9_lock_wait_ns", CounterMeaning::event(CounterUnit::Nanoseconds)),
    ]);
    for n in 0..3 {
        run.counters.push(Nanos::new(n * SECOND), &[1000 - n, n * scale * 512, n]);
    }
    let phase = |name: &str, begin: u64, end: u64| Phase {
        name: name.to_owned(),
        begin: Nanos::new(begin * SECOND),
        end: Nanos::new(end * SECOND),
        at_begin: vec![1000 - begin, begin * scale * 512, begin],
        at_end: vec![1000 - end, end * scale * 512, end],
    };
    run.phases = vec![phase("prepare", 0, 1), phase("measure-3", 1, 2)];
    run.durations =
        Durations { user: Nanos::new(1_239_999_999), system: Nanos::new(12 * SECOND), elapsed: Nanos::new(2 * SECOND) };
    run.notes.push("compaction answers: skipped".to_owned());
    if seed == 1 {
        run.outcome = Outcome::OutOfMemory { message: "usemem-1 asked for order 0".to_owned() };
    }
    traces(&mut run);
    run
}

fn traces(run: &mut Run) {
    let event = |at: u64, comm: &str, fields: &str| Event {
        at: Nanos::new(at),
        cpu: 2,
        comm: comm.into(),
        pid: 101,
        name: "mm_page_alloc".into(),
        fields: fields.to_owned(),
    };
    let file = |path: &str, content: &str| ProcFile { path: path.to_owned(), content: content.to_owned() };
    run.traces.cpus = 8;
    run.traces.events = vec![event(1_999, "usemem-1", "pfn=0x100 order=9"), event(SECOND, "kswapd0", "order=0")];
    run.traces.begin =
        vec![file("/proc/vmstat", "nr_free_pages 1000\n"), file("/proc/zoneinfo", "Node 0, zone      DMA\n")];
    run.traces.end = vec![file("/proc/vmstat", "nr_free_pages 998\n")];
    let line = "Node 0, zone   Normal      1      0 \n";
    let reading = |second: u64| Reading { at: Nanos::new(second * SECOND), content: line.to_owned() };
    run.traces.monitors = vec![Monitor { name: "proc-buddyinfo".to_owned(), readings: vec![reading(0), reading(10)] }];
    run.traces.uptime = Nanos::new(42 * SECOND);
}

/// What is loaded of a run: all but its traces.
pub(crate) fn without_traces(run: &Run) -> Run {
    Run { traces: Default::default(), ..run.clone() }
}
