//! Whole experiments: the same results anywhere, outcomes that are defined, records that make sense.

mod digests;
mod replay;

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::{Arc, Mutex};

use order9_import::{Disk, import};
use order9_lab::{Cell, Keeper, MadeUp, Memory, Nobody, Observer, Plan, PlanError, machines, pooled_report, run};
use order9_machine::TraceKinds;
use order9_procfs::command_line::CommandLine;
use order9_procfs::sysctl::SETTINGS;
use order9_record::{Digest, Experiment, Outcome, ProcFile, Run};
use order9_report::compare::Style;
use order9_report::compare::text::Fit;
use order9_report::stats::Generation;
use order9_snapshot::synth::SynthSpec;
use order9_snapshot::{Snapshot, format};
use order9_units::{Bytes, Nanos};
use order9_workloads::{Value, Workload};

/// Snapshots that were kept.
#[derive(Default)]
struct Kept(Mutex<Vec<(String, Snapshot)>>);

impl Keeper for Kept {
    fn snapshot(&self, _: Cell, name: &str, snapshot: &Snapshot) {
        self.0.lock().expect("nobody panics").push((name.to_owned(), snapshot.clone()));
    }
}

impl Observer for Kept {
    fn keeper(&self) -> Option<&dyn Keeper> {
        Some(self)
    }
}

#[test]
fn a_run_starts_from_the_memory_that_another_one_kept() {
    let mut aged = plan(Workload::Uptime);
    aged.policies.truncate(1);
    aged.seeds.truncate(1);
    let keeper = Kept::default();
    let experiment = run(&aged, NonZeroUsize::MIN, &keeper).expect("it runs");
    let kept = keeper.0.into_inner().expect("nobody panics");
    let [(name, snapshot)] = kept.try_into().expect("one day, one snapshot");
    assert_eq!(name, "day-1");
    let mut bytes = Vec::new();
    format::write(&snapshot, &mut bytes).expect("memory takes everything");
    assert_eq!(format::read(bytes.as_slice()).expect("it is sound"), snapshot);
    let memory = Memory::Snapshot { path: name, digest: Digest::of_bytes(&bytes), snapshot: Arc::new(snapshot) };
    let next = Plan { memory, policies: aged.policies.clone(), seeds: vec![1], ..plan(Workload::Idle) };
    let next = on(1, &next).expect("it starts");
    let of = |run: &Run, at: &[u64], name: &str| at[run.counters.position(name).expect("it is counted")];
    let (before, after) = (&experiment.runs[0], &next.runs[0]);
    let end = before.phases.iter().find(|phase| phase.name == "end").expect("the last day ends");
    for name in ["nr_free_pages", "nr_free_pages_blocks", "order9_nr_huge_free", "order9_nr_fragmentation_score"] {
        assert_eq!(of(before, &end.at_begin, name), of(after, &after.phases[0].at_begin, name), "{name}");
    }
}

#[test]
fn pools_of_huge_pages_stay_pools_from_snapshot_to_snapshot() {
    let cmdline = CommandLine::parse("hugepages=8").expect("it has this parameter");
    let mut plan = Plan { cmdline, seeds: vec![1], ..plan(Workload::HugeAlloc) };
    plan.policies.truncate(1);
    // From the second one on some are used, by what the map does not show.
    for free in [8, 5, 5] {
        let keeper = Kept::default();
        run(&plan, NonZeroUsize::MIN, &keeper).expect("it runs");
        let kept = keeper.0.into_inner().expect("nobody panics");
        let (path, mut snapshot) = kept.into_iter().next().expect("fragmented memory is kept");
        let pool = |snapshot: &Snapshot| {
            let policy = plan.policies[0].policy.clone();
            let pool = import(snapshot, policy, Disk::Present)
                .expect("it can be imported")
                .mm
                .pages()
                .hugetlb()
                .hugetlb_pool();
            (pool.total, pool.free)
        };
        assert_eq!(pool(&snapshot), (8, free));
        snapshot.settings.insert(format!("{POOL}/free_hugepages"), "5".to_owned());
        assert_eq!(pool(&snapshot), (8, 5));
        let memory = Memory::Snapshot { path, digest: Digest::of_bytes(&[]), snapshot: Arc::new(snapshot) };
        plan = Plan { cmdline: CommandLine::default(), memory, ..plan };
    }
}

/// Files of the pools of 2 MiB.
const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

#[test]
fn runs_of_large_machines_go_on_one_after_the_other() {
    let jobs = |name, gib| {
        let plan = Plan { machine: machines::load(name).expect("it is built in"), ..plan(Workload::Idle) };
        plan.jobs(Bytes::from_gib(gib)).map(NonZeroUsize::get)
    };
    assert!(jobs("xeon-2s", 10).expect("it fits") > 1);
    assert_eq!(jobs("server-1t", 10), Ok(1));
    let shortage = jobs("server-1t", 2).expect_err("it does not fit").to_string();
    assert_eq!(shortage, "needs about 7.5 GB of memory, this host has 2.1 GB available");
}

#[test]
fn a_machine_that_starts_full_of_page_cache_reclaims_it() {
    let spec = SynthSpec { fill: 0.98, clean_cache: 0.8, ..SynthSpec::default() };
    let full = MadeUp { spec, seed: None };
    let mut full =
        Plan { memory: Memory::Synthetic(full), check_every: NonZeroU64::new(1 << 16), ..plan(Workload::Usemem) };
    full.chosen.insert("size", Value::Bytes(Bytes::new(512 << 20)));
    full.chosen.insert("loops", Value::Count(1));
    full.chosen.insert("iterations", Value::Count(1));
    full.chosen.insert("threads", Value::Counts(vec![1]));
    full.seeds.truncate(1);
    for run in on(1, &full).expect("it starts").runs {
        assert_eq!(run.outcome, Outcome::Completed, "{}", run.policy);
        let free = run.phases[0].at_begin[run.counters.position("nr_free_pages").expect("it is counted")];
        assert!(free < 256 << 8, "{free} pages are free, twice as many are touched");
    }
}

/// A small use of a workload on the smaller of the two old machines, under two policies and seeds.
fn plan(workload: Workload) -> Plan {
    let mib = |n: u64| Value::Bytes(Bytes::new(n << 20));
    let chosen = match workload {
        Workload::Usemem => [
            ("size", mib(64)),
            ("loops", Value::Count(2)),
            ("iterations", Value::Count(2)),
            ("threads", Value::Counts(vec![1, 3])),
        ]
        .into_iter()
        .collect(),
        Workload::FillAndFree => [("size", mib(64)), ("pattern", Value::Word("random"))].into_iter().collect(),
        Workload::FsMark => [("files", Value::Count(50)), ("iterations", Value::Count(3))].into_iter().collect(),
        Workload::StreamReader => {
            [("size", mib(64)), ("time", Value::Time(Nanos::new(3_000_000_000)))].into_iter().collect()
        }
        Workload::Uptime => [("days", 1), ("files_percent", 1), ("rate_percent", 1)]
            .map(|(key, count)| (key, Value::Count(count)))
            .into_iter()
            .collect(),
        Workload::FragMix => {
            [("fill_percent", Value::Count(10)), ("duration", Value::Time(Nanos::new(2_000_000_000)))].into()
        }
        Workload::HugeAlloc => [("fill_percent", Value::Count(10))].into_iter().collect(),
        Workload::HugeAllocUnmovable => {
            [("spare_percent", Value::Count(90)), ("watch", Value::Time(Nanos::new(40_000_000_000)))].into()
        }
        Workload::HugetlbGrow => [("fill_percent", Value::Count(10)), ("size", mib(64))].into(),
        Workload::JavaHeap => [("fill_percent", Value::Count(10)), ("heap", mib(64))].into(),
        Workload::MapAndWrite => [("size", mib(64)), ("madvise", Value::Word("yes"))].into(),
        Workload::Stutter => {
            [("hog", mib(64)), ("file", mib(64)), ("copies", Value::Count(1)), ("probe", mib(4))].into()
        }
        Workload::ThpChallenge => [("size", mib(64)), ("files_percent", Value::Count(1))].into(),
        Workload::ThpFioscale => [("size", mib(64)), ("files_percent", Value::Count(1))].into(),
        Workload::ThpScale => [("size", mib(64)), ("threads", Value::Counts(vec![1, 3]))].into(),
        Workload::FragmentedNodeFault | Workload::NumaAccessLatency | Workload::VmLargerThanNode => {
            [("size", mib(32))].into()
        }
        Workload::PinnedGuest => [("sizes", Value::Counts(vec![3, 5]))].into(),
        Workload::Idle => [("time", Value::Time(Nanos::new(3_000_000_000)))].into_iter().collect(),
        Workload::LikeHost => [("time", Value::Time(Nanos::new(3_000_000_000)))].into(),
        // Programs from outside are in no list.
        Workload::Trace | Workload::Own(_) => BTreeMap::new(),
    };
    let settings =
        workload.spec().settings(&chosen).iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Plan {
        workload,
        chosen,
        policies: ["linux-4.4", "linux-5.0"].map(|name| order9_policy::load(name).expect("it is built in")).into(),
        own_settings: BTreeMap::new(),
        guards: BTreeMap::new(),
        ablation: None,
        machine: machines::load("desktop-8g").expect("it is built in"),
        memory: Memory::Empty,
        cmdline: CommandLine::default(),
        reserve: Bytes::ZERO,
        settings,
        seeds: vec![1, 2],
        notes: Vec::new(),
        sample_every: workload.spec().counters_every,
        same_lists: false,
        sample_finely: false,
        maps_every: None,
        check_every: None,
        trace: TraceKinds::NONE,
        command: vec!["a test".to_owned()],
    }
}

fn on(jobs: usize, plan: &Plan) -> Result<Experiment, PlanError> {
    run(plan, NonZeroUsize::new(jobs).expect("at least one"), &Nobody)
}

#[test]
fn what_is_looked_at_does_not_change_what_happens() {
    let mut watched = plan(Workload::Usemem);
    let plain = on(1, &watched).expect("it runs");
    watched.trace = TraceKinds::NONE.with("mm_page_alloc_extfrag").expect("it exists");
    let traced = on(1, &watched).expect("it runs");
    assert_eq!(plain.runs[0].samples, traced.runs[0].samples);
    assert_eq!(plain.runs[0].counters, traced.runs[0].counters);
}

#[test]
fn seeds_vary_memory_that_is_made_up_unless_it_has_a_seed_of_its_own() {
    let free = |seed| {
        let memory = Memory::Synthetic(MadeUp { seed, ..MadeUp::default() });
        let idle = Plan { memory, ..plan(Workload::Idle) };
        let at_start = |run: &Run| run.traces.begin.iter().map(|file| file.content.clone()).collect::<String>();
        on(2, &idle).expect("it runs").runs.iter().take(2).map(at_start).collect::<Vec<_>>()
    };
    let (own, fixed, as_first) = (free(None), free(Some(7)), free(Some(1)));
    assert_ne!(own[0], own[1], "every run has its own memory");
    assert_eq!(fixed[0], fixed[1]);
    assert_eq!(own[0], as_first[0], "that of seed 1 is the plain one");
    assert_ne!(own[0], fixed[0]);
}

#[test]
fn records_are_whole_and_become_tables() {
    let experiment = on(2, &plan(Workload::Usemem)).expect("it runs");
    experiment.check().expect("records make sense");
    let columns = |title| (title, experiment.runs.iter().filter(|run| run.policy == title).collect::<Vec<_>>());
    let columns = [columns("linux-4.4"), columns("linux-5.0")];
    let text = pooled_report(Workload::Usemem, &columns, Style::from(Generation::Y2019)).to_text(Fit::Published);
    for row in ["Amean  System-1", "Amean  Elapsd-3", "Duration Elapsed", "Ops Minor Faults"] {
        let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.lines().any(|line| squeeze(line).starts_with(&squeeze(row))), "no {row} in\n{text}");
    }
    let run = &experiment.runs[0];
    let phases: Vec<_> = run.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["prepare", "threads-1", "threads-3", "clean-up"]);
    assert_eq!(run.phases.last().map(|phase| phase.end), Some(run.durations.elapsed));
    let files: Vec<_> = run.traces.end.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["/proc/vmstat", "/proc/zoneinfo", "/proc/meminfo", "/proc/diskstats"]);
}

/// Name and numbers of the only line of a /proc/diskstats, as iostat reads them.
fn diskstats(content: &str) -> (String, Vec<u64>) {
    let [line] = content.lines().collect::<Vec<_>>()[..] else { panic!("one disk: {content}") };
    let mut words = line.split_whitespace();
    assert_eq!((words.next(), words.next()), (Some("8"), Some("0")));
    let name = words.next().expect("a name").to_owned();
    (name, words.map(|word| word.parse().expect("a number")).collect())
}

#[test]
fn disks_are_read_over_time_and_count_what_the_kernel_counts() {
    let mut plan = plan(Workload::FsMark);
    plan.seeds = vec![1];
    for run in on(2, &plan).expect("it runs").runs {
        let of = |files: &[ProcFile]| {
            diskstats(&files.iter().find(|file| file.path == "/proc/diskstats").expect("it is kept").content)
        };
        let ((_, begin), (name, end)) = (of(&run.traces.begin), of(&run.traces.end));
        assert_eq!((begin, end.len()), (vec![0; 17], 17), "{name}");
        let monitor = run.traces.monitors.iter().find(|monitor| monitor.name == "proc-diskstats").expect("it is read");
        assert!(monitor.readings.iter().all(|reading| diskstats(&reading.content).1[6] <= end[6]));
        let column = &run.counters.columns[run.counters.position("pgpgout").expect("it is counted")];
        let written = column.values.last().expect("it is read");
        assert!(end[6] >= written * 2, "sectors of 512 bytes and KiB of {name}");
    }
}

#[test]
fn a_workload_larger_than_the_machine_ends_out_of_memory() {
    let mut large = plan(Workload::FillAndFree);
    large.chosen.insert("size", Value::Bytes(Bytes::from_gib(9)));
    large.seeds = vec![1];
    large.machine.disks.clear();
    for run in on(2, &large).expect("it runs").runs {
        let Outcome::OutOfMemory { message } = &run.outcome else { panic!("{:?}", run.outcome) };
        assert!(message.contains("fill-and-free asked for a block of order 0"), "{message}");
    }
}

#[test]
fn made_up_memory_is_the_machines() {
    let mut aged = plan(Workload::Usemem);
    aged.memory = Memory::Synthetic(MadeUp::default());
    aged.seeds = vec![1];
    let experiment = on(2, &aged).expect("it runs");
    let level = |run: &Run, name: &str| {
        let at = run.counters.position(name).expect("the engine has it");
        run.counters.columns[at].values[0]
    };
    for run in &experiment.runs {
        assert_eq!(run.outcome, Outcome::Completed);
        let free = level(run, "nr_free_pages") * 4096;
        assert!((1 << 30..3 << 30).contains(&free), "of 8 GiB, 30 % are free: {free}");
    }
}

#[test]
fn settings_are_written_before_the_start_and_refused_in_words() {
    let mut set = plan(Workload::Idle);
    set.settings = vec![("vm.min_free_kbytes".to_owned(), "131072".to_owned())];
    let experiment = on(1, &set).expect("it runs");
    let zoneinfo = &experiment.runs[0].traces.begin[1].content;
    let min: u64 =
        zoneinfo.lines().filter_map(|line| line.trim().strip_prefix("min ")?.trim().parse::<u64>().ok()).sum();
    assert!((32_760..=32_768).contains(&min), "131072 kB are 32768 pages, shared out between zones: {min}");

    let refused = |name: &str, value: &str| {
        let mut plan = plan(Workload::Idle);
        plan.settings = vec![(name.to_owned(), value.to_owned())];
        on(1, &plan).expect_err("it is refused").to_string()
    };
    assert!(refused("vm.watermark_scale_factor", "0").starts_with("vm.watermark_scale_factor = 0: "));
    let planned = SETTINGS.iter().find(|setting| setting.path.ends_with("/laptop_mode")).expect("it is in the list");
    let told = refused(planned.path, "1");
    assert!(told.contains("not modelled yet"), "{told}");
}

#[test]
fn the_kernel_is_booted_with_its_command_line() {
    let with = |text: &str, settings: &[(&str, &str)]| {
        let mut plan = plan(Workload::Usemem);
        plan.cmdline = CommandLine::parse(text).expect("it has these parameters");
        plan.settings = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        on(2, &plan).expect("it runs").runs.remove(0)
    };
    let log = |run: &Run| {
        let files = run.traces.end.iter().filter(|file| file.path == "/dev/kmsg");
        files.map(|file| file.content.clone()).collect::<String>()
    };
    let huge = |run: &Run| {
        let at = run.counters.position("thp_fault_alloc").expect("it is recorded");
        *run.counters.columns[at].values.last().expect("it was read")
    };
    let never = with("transparent_hugepage=never", &[]);
    assert_eq!((log(&never).as_str(), huge(&never)), ("Kernel command line: transparent_hugepage=never\n", 0));
    assert!(huge(&with("transparent_hugepage=never", &[("thp/enabled", "always")])) > 0, "settings come later");
    let ignored = with("transparent_hugepage=on", &[]);
    let warning = "huge_memory: transparent_hugepage= cannot parse, ignored";
    assert_eq!(log(&ignored), format!("Kernel command line: transparent_hugepage=on\n{warning}\n"));
    assert!(huge(&ignored) > 0 && ignored.notes.contains(&warning.to_owned()), "{:?}", ignored.notes);
    let plain = with("", &[]);
    assert!(log(&plain).is_empty() && plain.digest() != never.digest());
}

#[test]
fn parameters_out_of_range_are_refused_in_words() {
    let mut plan = plan(Workload::Usemem);
    plan.chosen = BTreeMap::from([("anon_percent", Value::Count(101))]);
    let told = on(1, &plan).expect_err("it is refused").to_string();
    assert_eq!(told, "usemem: anon_percent is 101, expected a number from 1 to 100");
}
