//! Recordings of `order9 record`: from the counters of a run directory to what the workload `trace` replays, and the memory that it
//! starts from.

use std::path::Path;

use order9_record::{self as record, Loaded, Run};
use order9_snapshot::format;
use order9_units::Nanos;
use order9_workloads::{Interval, Kind, Recording, Requests, Value, Workload};

use super::error::{Problem, Said};
use super::memory::{MemoryWish, is_snapshot};
use super::{Asked, LivePlan, Scenario};

/// End of the name of the snapshot with which a recording begins.
const START: &str = "-start";
/// Pages of a huge page.
const HUGE: u64 = order9_units::PAGEBLOCK_PAGES.get();

impl Scenario {
    /// Replays the recording in `directory`.
    pub(super) fn replay(&mut self, directory: &str) -> Result<(), Problem> {
        let mut parameters = self.workload.spec().parameters.iter();
        let parameter = parameters.find(|parameter| parameter.kind == Kind::Recording);
        let parameter = parameter.ok_or(Problem::NoReplay(self.workload.name()))?;
        self.recording = Some((parameter.key, directory.to_owned()));
        Ok(())
    }

    /// Reads the recording that was named. Memory is that of its begin, unless other memory was asked for.
    pub(super) fn load_recording(&mut self) -> Result<(), Problem> {
        let Some((key, directory)) = self.recording.take() else { return Ok(()) };
        let loaded = record::read(Path::new(&directory)).map_err(|error| Problem::Recording(error.to_string()))?;
        let refused = |why: String| Problem::Recording(format!("{}: {why}", order9_toml::shown(&directory)));
        self.chosen.insert(key, Value::Recording(recording(&loaded).map_err(refused)?));
        let has_memory = self.memory.is_some() || self.machine.as_ref().is_some_and(|name| is_snapshot(&name.value));
        if !has_memory {
            let missing = || refused("holds no snapshot of its start: --memory names what to start from".to_owned());
            let start = Path::new(&directory).join(start(&loaded).ok_or_else(missing)?);
            let value = MemoryWish::Snapshot(start.display().to_string());
            self.memory = Some(Asked { said: Said::Nowhere, value });
        }
        Ok(())
    }
}

/// The plan of a recording that has been made, with what a replay of it would do as its parameters.
#[must_use]
pub fn recorded_plan(run: &Run, every: Nanos, command: Vec<String>) -> LivePlan {
    let workload = Workload::Trace;
    let recording = intervals(run).ok().and_then(|intervals| Recording::new(intervals).ok());
    let key = workload.spec().parameters.iter().find(|parameter| parameter.kind == Kind::Recording);
    let chosen = key.zip(recording).map(|(parameter, recording)| (parameter.key, Value::Recording(recording)));
    let chosen = chosen.into_iter().collect();
    LivePlan { workload, chosen, settings: Vec::new(), seeds: vec![1], sample_every: every, machine: None, command }
}

/// File of the snapshot with which a recording begins.
fn start(loaded: &Loaded) -> Option<&str> {
    let ending = format!("{START}.{}", format::EXTENSION);
    loaded.manifest.files.iter().map(|file| file.path.as_str()).find(|path| path.ends_with(&ending))
}

/// The recording that a run directory holds.
fn recording(loaded: &Loaded) -> Result<Recording, String> {
    let inputs = &loaded.manifest.inputs;
    let (name, wanted) = (&inputs.workload.name, Workload::Trace.name());
    let [run] = loaded.runs.as_slice() else {
        return Err(format!("holds {} runs of {name}, expected one recording of `order9 record`", loaded.runs.len()));
    };
    if name != wanted || inputs.memory != record::Memory::Live {
        return Err(format!("holds a run of {name}, expected a recording of `order9 record`"));
    }
    Recording::new(intervals(run)?).map_err(|error| error.to_string())
}

/// Growth of the counters between every two readings.
fn intervals(run: &Run) -> Result<Vec<Interval>, String> {
    let counts = Counts::of(run)?;
    let times = &run.counters.times;
    let mut intervals = Vec::new();
    let mut from = 0;
    for to in 1..times.len() {
        // Two readings at the same time are one.
        if times[to] > times[from] {
            intervals.push(counts.interval(times[to] - times[from], from, to));
            from = to;
        }
    }
    Ok(intervals)
}

/// Columns of counters, added where several kernels or zones have several.
struct Counts<'a> {
    run: &'a Run,
    faults: Vec<&'a [u64]>,
    allocated: Vec<&'a [u64]>,
    freed: Vec<&'a [u64]>,
    anon: Vec<&'a [u64]>,
    file: Vec<&'a [u64]>,
    shared: Vec<&'a [u64]>,
    evicted: Vec<&'a [u64]>,
}

impl<'a> Counts<'a> {
    fn of(run: &'a Run) -> Result<Self, String> {
        let columns = |holds: &dyn Fn(&str) -> bool| -> Vec<&'a [u64]> {
            let columns = run.counters.columns.iter().filter(|column| holds(&column.name));
            columns.map(|column| column.values.as_slice()).collect()
        };
        let needed = |name: &str, holds: &dyn Fn(&str) -> bool| {
            let found = columns(holds);
            if found.is_empty() { Err(format!("has no counter {name}, which a replay needs")) } else { Ok(found) }
        };
        let one = |name: &'static str| needed(name, &move |of: &str| of == name);
        let of_files = columns(&|name| name == "pgsteal_file");
        let by_whom = |name: &str| name.starts_with("pgsteal_kswapd") || name.starts_with("pgsteal_direct");
        Ok(Self {
            run,
            faults: one("pgfault")?,
            allocated: needed("pgalloc_normal", &|name| name.starts_with("pgalloc_"))?,
            freed: one("pgfree")?,
            anon: one("nr_anon_pages")?,
            file: one("nr_file_pages")?,
            shared: columns(&|name| name == "nr_shmem"),
            // Older kernels do not tell files from programs' memory.
            evicted: if of_files.is_empty() { columns(&by_whom) } else { of_files },
        })
    }

    fn interval(&self, length: Nanos, from: usize, to: usize) -> Interval {
        let events = |columns: &[&[u64]]| {
            let growth = columns.iter().map(|values| values[to].saturating_sub(values[from]));
            growth.fold(0, u64::saturating_add)
        };
        let level = |columns: &[&[u64]]| -> i64 {
            let at =
                |row: usize| columns.iter().map(|values| values[row].min(i64::MAX as u64 / 64) as i64).sum::<i64>();
            at(to) - at(from)
        };
        let column = |name: &str| -> Vec<&[u64]> {
            self.run
                .counters
                .position(name)
                .map(|at| self.run.counters.columns[at].values.as_slice())
                .into_iter()
                .collect()
        };
        let event = |name: &str| -> u64 { events(&column(name)) };
        // What khugepaged takes the lab's own takes, too.
        let collapsed = event("thp_collapse_alloc").saturating_mul(HUGE);
        Interval {
            length,
            faults: events(&self.faults),
            huge: event("thp_fault_alloc"),
            fallbacks: event("thp_fault_fallback"),
            allocated: events(&self.allocated).saturating_sub(collapsed),
            freed: events(&self.freed),
            anon: level(&self.anon) + level(&self.shared),
            anon_huge: level(&column("nr_anon_transparent_hugepages")),
            file: level(&self.file) - level(&self.shared),
            evicted: events(&self.evicted),
            dirtied: event("nr_dirtied"),
            requests: Requests::of_counters(event),
        }
    }
}
