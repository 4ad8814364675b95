//! Slices and instants of a cell: who ran on which CPU, how long daemons and compaction worked, how long operations took.
//!
//! Slices come from pairs of events, as far as a run was asked to keep them, from samples that are lengths of time, and from
//! phases. Events that are no end of a slice are instants.

use std::collections::BTreeMap;

use order9_record::{Event, Run, Unit};

/// A part of a timeline under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// Name of the slice.
    pub(super) name: String,
    /// First instant, in nanoseconds.
    pub(super) begin: u64,
    /// The instant after the last one.
    pub(super) end: u64,
    /// Fields, as the events have them.
    pub(super) fields: String,
}

/// Things that happened, by the name of their track, in the order in which tracks are shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Timeline {
    /// Slices; those of a track may overlap.
    pub(super) slices: BTreeMap<Track, Vec<Slice>>,
    /// Events that are no end of a slice, by their names. Their slices have no length.
    pub(super) instants: BTreeMap<String, Vec<Slice>>,
}

/// A track of slices, in the order in which tracks are shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Track {
    /// Phases of the workload.
    Phases,
    /// Tasks on a CPU.
    Cpu(u32),
    /// A kswapd or kcompactd at work.
    Daemon(String),
    /// Compaction, or reclaim of its own, that a task does.
    Task(String),
    /// An operation whose length was measured.
    Operation(String),
}

impl Track {
    /// Name of the track.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Phases => "phases".to_owned(),
            Self::Cpu(cpu) => format!("CPU {cpu}"),
            Self::Daemon(name) | Self::Task(name) | Self::Operation(name) => name.clone(),
        }
    }
}

/// The timeline of a cell.
pub(super) fn timeline(run: &Run, events: &[Event]) -> Timeline {
    let last = events.last().map_or(0, |event| event.at.get());
    let mut building = Building { end: run.span().1.get().max(last), ..Building::default() };
    building.phases(run);
    building.samples(run);
    events.iter().for_each(|event| building.event(event));
    building.finish()
}

/// A slice that has begun.
struct Open {
    name: String,
    begin: u64,
    fields: String,
}

#[derive(Default)]
struct Building {
    timeline: Timeline,
    open: BTreeMap<Track, Open>,
    /// End of the cell.
    end: u64,
}

impl Building {
    fn phases(&mut self, run: &Run) {
        for phase in &run.phases {
            self.add(Track::Phases, &phase.name, phase.begin.get(), phase.end.get(), String::new());
        }
    }

    /// A sample is taken when its operation ends.
    fn samples(&mut self, run: &Run) {
        for sample in &run.samples {
            let operation = &run.operations[sample.operation.index()];
            if operation.unit == Unit::Nanos && sample.value >= 0.0 {
                let end = sample.at.get();
                let begin = end.saturating_sub(sample.value as u64);
                self.add(Track::Operation(operation.name.clone()), &operation.name, begin, end, String::new());
            }
        }
    }

    fn event(&mut self, event: &Event) {
        let node = || event.field("nid").unwrap_or("0");
        let task = |what: &str| Track::Task(format!("{what} {}-{}", event.comm, event.pid));
        match &*event.name {
            "sched_switch" => self.switch(event),
            "mm_vmscan_kswapd_wake" => self.begin(Track::Daemon(format!("kswapd{}", node())), "kswapd", event),
            "mm_vmscan_kswapd_sleep" => self.end(&Track::Daemon(format!("kswapd{}", node())), event),
            "mm_compaction_kcompactd_wake" => {
                self.begin(Track::Daemon(format!("kcompactd{}", node())), "kcompactd", event);
            }
            "mm_compaction_kcompactd_sleep" => self.end(&Track::Daemon(format!("kcompactd{}", node())), event),
            "mm_compaction_begin" => self.begin(task("compaction"), "compaction", event),
            "mm_compaction_end" => self.end(&task("compaction"), event),
            "mm_vmscan_direct_reclaim_begin" => self.begin(task("direct reclaim"), "direct reclaim", event),
            "mm_vmscan_direct_reclaim_end" => self.end(&task("direct reclaim"), event),
            name => {
                let (at, fields) = (event.at.get(), format!("{} task={}-{}", event.fields, event.comm, event.pid));
                let instant =
                    Slice { name: name.to_owned(), begin: at, end: at, fields: fields.trim_start().to_owned() };
                self.timeline.instants.entry(name.to_owned()).or_default().push(instant);
            }
        }
    }

    /// The task before the first switch of a CPU has run from the start.
    fn switch(&mut self, event: &Event) {
        let Some(Switch { prev, next }) = Switch::of(&event.fields) else { return };
        let (track, at) = (Track::Cpu(event.cpu), event.at.get());
        let is_first = !self.timeline.slices.contains_key(&track) && !self.open.contains_key(&track);
        if is_first && let Some(prev) = prev.named() {
            self.add(track.clone(), &prev, 0, at, String::new());
        } else {
            self.close(&track, at, "");
        }
        if let Some(name) = next.named() {
            self.open.insert(track, Open { name, begin: at, fields: format!("pid={}", next.pid) });
        } else {
            // So that the next switch is not taken for the first.
            self.timeline.slices.entry(track).or_default();
        }
    }

    /// A slice begins; one that never ended ends here.
    fn begin(&mut self, track: Track, name: &str, event: &Event) {
        self.close(&track, event.at.get(), "");
        let open = Open { name: name.to_owned(), begin: event.at.get(), fields: event.fields.clone() };
        self.open.insert(track, open);
    }

    fn end(&mut self, track: &Track, event: &Event) {
        self.close(track, event.at.get(), &event.fields);
    }

    fn close(&mut self, track: &Track, at: u64, fields: &str) {
        if let Some(Open { name, begin, fields: first }) = self.open.remove(track) {
            let fields = format!("{first} {fields}").trim().to_owned();
            self.add(track.clone(), &name, begin, at, fields);
        }
    }

    fn add(&mut self, track: Track, name: &str, begin: u64, end: u64, fields: String) {
        let slice = Slice { name: name.to_owned(), begin, end, fields };
        self.timeline.slices.entry(track).or_default().push(slice);
    }

    fn finish(mut self) -> Timeline {
        let open: Vec<Track> = self.open.keys().cloned().collect();
        let end = self.end;
        open.iter().for_each(|track| self.close(track, end, ""));
        self.timeline.slices.retain(|_, slices| !slices.is_empty());
        self.timeline
    }
}

/// Fields of `sched_switch`. Names of tasks may hold blanks.
struct Switch<'a> {
    prev: Task<'a>,
    next: Task<'a>,
}

struct Task<'a> {
    comm: &'a str,
    pid: u32,
}

impl<'a> Switch<'a> {
    fn of(fields: &'a str) -> Option<Self> {
        let (prev, next) = fields.strip_prefix("prev_comm=")?.rsplit_once(" next_comm=")?;
        let task = |text: &'a str, pid| {
            let (comm, rest) = text.rsplit_once(pid)?;
            let digits = rest.split(' ').next()?;
            Some(Task { comm, pid: digits.parse().ok()? })
        };
        Some(Self { prev: task(prev, " prev_pid=")?, next: task(next, " next_pid=")? })
    }
}

impl Task<'_> {
    /// Name and number of a task; `None` for the idle one.
    fn named(&self) -> Option<String> {
        (self.pid != 0).then(|| format!("{}-{}", self.comm, self.pid))
    }
}

#[cfg(test)]
mod tests {
    use order9_units::Nanos;

    use super::*;

    fn event(at: u64, name: &str, fields: &str) -> Event {
        let (comm, fields) = ("a b".into(), fields.to_owned());
        Event { at: Nanos::new(at), cpu: 1, comm, pid: 7, name: name.into(), fields }
    }

    fn switch(at: u64, prev: u32, next: u32) -> Event {
        let fields = format!(
            "prev_comm=a b prev_pid={prev} prev_prio=120 prev_state=1 next_comm=c next_pid={next} next_prio=120"
        );
        event(at, "sched_switch", &fields)
    }

    fn slices(events: &[Event]) -> Vec<(String, String, u64, u64)> {
        let timeline = timeline(&Run::new("p", 1), events);
        let of_track = |(track, slices): (Track, Vec<Slice>)| {
            slices.into_iter().map(move |slice| (track.name(), slice.name, slice.begin, slice.end))
        };
        timeline.slices.into_iter().flat_map(of_track).collect()
    }

    fn slice(track: &str, name: &str, begin: u64, end: u64) -> (String, String, u64, u64) {
        (track.to_owned(), name.to_owned(), begin, end)
    }

    #[test]
    fn tasks_run_from_switch_to_switch() {
        let events = [switch(5, 7, 0), switch(8, 0, 9), switch(10, 9, 7)];
        let last = event(12, "mm_page_free", "pfn=0x1");
        let expected = [slice("CPU 1", "a b-7", 0, 5), slice("CPU 1", "c-9", 8, 10), slice("CPU 1", "c-7", 10, 12)];
        assert_eq!(slices(&[&events[..], &[last]].concat()), expected);
    }

    #[test]
    fn daemons_and_compaction_work_from_event_to_event() {
        let events = [
            event(1, "mm_vmscan_kswapd_wake", "nid=1 zid=2 order=9"),
            event(2, "mm_compaction_begin", "sync=1"),
            event(4, "mm_compaction_end", "sync=1 status=2"),
            event(6, "mm_vmscan_kswapd_sleep", "nid=1"),
            event(7, "mm_compaction_kcompactd_wake", "nid=0"),
            event(9, "mm_page_free", "pfn=0x1"),
        ];
        let expected = [
            slice("kcompactd0", "kcompactd", 7, 9),
            slice("kswapd1", "kswapd", 1, 6),
            slice("compaction a b-7", "compaction", 2, 4),
        ];
        assert_eq!(slices(&events), expected);
    }
}
