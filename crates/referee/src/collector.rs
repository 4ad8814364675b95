//! From the messages of a real run to a record of the form that the lab's runs have.

use std::collections::BTreeMap;

use order9_live::{Facts, Message, Sample, StopKind, Supervised, Traced, Unit};
use order9_record as record;
use order9_record::{Counter, Counters, Durations, Monitors, Outcome, Phase, ProcFile, Run};
use order9_units::{CounterMeaning, Nanos};

/// A run as far as it was heard of.
pub struct Collector {
    run: Run,
    facts: Option<Facts>,
    /// Phases with the counters at their begin.
    phases: Vec<(String, Nanos, Vec<u64>)>,
    /// Time of the latest message that had one.
    last: Nanos,
    clock_price: Option<Nanos>,
    monitors: Monitors,
}

/// Time between two readings of files that are kept over time.
const MONITORS_EVERY: Nanos = Nanos::new(1_000_000_000);

impl Collector {
    /// A run that has not begun, of the column `title`.
    #[must_use]
    pub fn new(title: &str, seed: u64) -> Self {
        Self {
            run: Run::new(title, seed),
            facts: None,
            phases: Vec::new(),
            last: Nanos::ZERO,
            clock_price: None,
            monitors: Monitors::new(MONITORS_EVERY),
        }
    }

    /// Takes a message; `meaning` is that of a counter, by its name.
    pub fn take(&mut self, message: Message, meaning: &dyn Fn(&str) -> Option<CounterMeaning>) {
        match message {
            Message::Started { facts, counters, notes } => {
                let column = |name: String| Counter { meaning: meaning(&name), name, values: Vec::new() };
                self.run.counters = Counters { times: Vec::new(), columns: counters.into_iter().map(column).collect() };
                self.run.traces.cpus = facts.cpus;
                self.run.notes.extend(notes);
                self.facts = Some(facts);
            }
            Message::ClockPrice(price) => self.clock_price = Some(price),
            Message::Samples { operations, samples } => self.samples(&operations, &samples),
            Message::Phase { at, name, counters } => {
                self.last = self.last.max(at);
                self.phases.push((name, at, counters));
            }
            Message::Reading { at, counters } => self.reading(at, &counters),
            Message::File { at, path, text } => {
                let files = if at == Nanos::ZERO { &mut self.run.traces.begin } else { &mut self.run.traces.end };
                files.push(ProcFile { path, content: text });
            }
            Message::Events(events) => self.run.traces.events.extend(events.into_iter().map(event)),
            Message::Note(note) => self.run.notes.push(note),
            Message::Ended { at, times: (user, system), stop: _ } => {
                self.last = self.last.max(at);
                self.run.durations = Durations { user, system, elapsed: at };
            }
            Message::Monitored { at, files } => {
                if self.monitors.is_due(at) {
                    let file = |(path, content)| ProcFile { path, content };
                    self.monitors.push(at, files.into_iter().map(file).collect());
                }
            }
            // Whoever supervises the run has taken it.
            Message::Snapshot { .. } => {}
        }
    }

    fn samples(&mut self, operations: &[(String, Unit)], samples: &[Sample]) {
        let ids: Vec<_> = operations.iter().map(|(name, unit)| self.run.operation(name, unit_of(*unit))).collect();
        for sample in samples {
            // A message from a guest may be of anything.
            let Some(&operation) = ids.get(sample.operation as usize) else { continue };
            if sample.value.is_finite() {
                self.last = self.last.max(sample.at);
                self.run.samples.push(record::Sample { operation, at: sample.at, value: sample.value });
            }
        }
    }

    fn reading(&mut self, at: Nanos, values: &[u64]) {
        let counters = &mut self.run.counters;
        if values.len() == counters.columns.len() && counters.times.last().is_none_or(|&last| last <= at) {
            self.last = self.last.max(at);
            counters.push(at, values);
        }
    }

    /// The size of the machine, once the run has begun.
    #[must_use]
    pub const fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// The run, which has ended so.
    #[must_use]
    pub fn finish(self, end: Supervised) -> Run {
        let Self { mut run, facts: _, phases, last, clock_price, monitors } = self;
        run.traces.monitors = monitors.files().map(|(_, monitor)| monitor).collect();
        if run.durations.elapsed == Nanos::ZERO {
            run.durations.elapsed = last;
        }
        run.samples.sort_by_key(|sample| sample.at);
        run.traces.events.sort_by_key(|event| event.at);
        run.phases = whole(phases, &run.counters, run.durations.elapsed);
        run.outcome = outcome(end);
        if let Some(price) = clock_price {
            run.notes.push(format!(
                "each measured time is without the {} ns that pass between two readings of the clock",
                price.get()
            ));
        }
        once(&mut run.notes);
        run
    }
}

/// Phases one after the other, the first from the begin on; one for all where the workload names none.
fn whole(phases: Vec<(String, Nanos, Vec<u64>)>, counters: &Counters, end: Nanos) -> Vec<Phase> {
    let row = |at: usize| counters.columns.iter().map(|column| column.values.get(at).copied().unwrap_or(0)).collect();
    let first: Vec<u64> = row(0);
    let last: Vec<u64> = row(counters.times.len().saturating_sub(1));
    let width = counters.columns.len();
    let mut known: Vec<(String, Nanos, Vec<u64>)> =
        phases.into_iter().filter(|(_, _, counters)| counters.len() == width).collect();
    known.sort_by_key(|(_, begin, _)| *begin);
    if known.is_empty() {
        known.push(("run".to_owned(), Nanos::ZERO, first.clone()));
    }
    // What comes before the first phase belongs to it, as in the lab.
    (known[0].1, known[0].2) = (Nanos::ZERO, first);
    let ends: Vec<(Nanos, Vec<u64>)> = known.iter().skip(1).map(|(_, begin, at)| (*begin, at.clone())).collect();
    let ends = ends.into_iter().chain([(end, last)]);
    known
        .into_iter()
        .zip(ends)
        .map(|((name, begin, at_begin), (end, at_end))| Phase { name, begin, end: end.max(begin), at_begin, at_end })
        .collect()
}

fn outcome(end: Supervised) -> Outcome {
    match end {
        Supervised::Completed => Outcome::Completed,
        Supervised::Stopped(StopKind::Memory, message) => Outcome::OutOfMemory { message },
        Supervised::Stopped(StopKind::Other, message) => Outcome::Failed { message },
        Supervised::Ended(why) => Outcome::Failed { message: format!("order9 ended the program: {why}") },
        Supervised::Interrupted => Outcome::Failed { message: "interrupted".to_owned() },
    }
}

/// Leaves each note once, and says how often it came.
fn once(notes: &mut Vec<String>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for note in notes.iter() {
        *counts.entry(note.clone()).or_default() += 1;
    }
    let mut seen = Vec::new();
    for note in notes.drain(..) {
        let Some(count) = counts.remove(&note) else { continue };
        seen.push(if count == 1 { note } else { format!("{note} ({count} times)") });
    }
    *notes = seen;
}

fn event(traced: Traced) -> record::Event {
    let Traced { at, cpu, pid, comm, name, fields } = traced;
    record::Event { at, cpu, comm: comm.into(), pid, name: name.into(), fields }
}

const fn unit_of(unit: Unit) -> record::Unit {
    match unit {
        Unit::Nanos => record::Unit::Nanos,
        Unit::PerSecond => record::Unit::PerSecond,
        Unit::Percent => record::Unit::Percent,
        Unit::Count => record::Unit::Count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            memory: 1 << 30,
            cpus: 2,
            nodes: vec![1 << 30],
            disk: None,
            available: 1 << 29,
            kernel: "6.1".to_owned(),
        }
    }

    fn collected(messages: Vec<Message>, end: Supervised) -> Run {
        let mut collector = Collector::new("live-6.1", 1);
        let counters = vec!["pgfault".to_owned(), "unheard_of".to_owned()];
        collector.take(Message::Started { facts: facts(), counters, notes: Vec::new() }, &|name| {
            (name == "pgfault").then(|| CounterMeaning::event(order9_units::CounterUnit::Events))
        });
        for message in messages {
            collector.take(message, &|_| None);
        }
        collector.finish(end)
    }

    #[test]
    fn messages_become_a_run_with_phases_that_touch() {
        let (one, two, three) = (Nanos::new(1), Nanos::new(2), Nanos::new(3));
        let run = collected(
            vec![
                Message::Reading { at: Nanos::ZERO, counters: vec![10, 1] },
                Message::Phase { at: one, name: "prepare".to_owned(), counters: vec![11, 1] },
                Message::Samples {
                    operations: vec![("alloc".to_owned(), Unit::Nanos)],
                    samples: vec![
                        Sample { operation: 0, at: two, value: 7.0 },
                        Sample { operation: 0, at: one, value: 5.0 },
                        Sample { operation: 9, at: one, value: 5.0 },
                    ],
                },
                Message::Phase { at: two, name: "measure".to_owned(), counters: vec![15, 2] },
                Message::Ended { at: three, times: (one, two), stop: None },
                Message::Reading { at: three, counters: vec![20, 3] },
            ],
            Supervised::Completed,
        );
        let edges: Vec<_> = run.phases.iter().map(|phase| (phase.name.as_str(), phase.begin, phase.end)).collect();
        assert_eq!(edges, [("prepare", Nanos::ZERO, two), ("measure", two, three)]);
        assert_eq!((&run.phases[0].at_begin, &run.phases[1].at_begin), (&vec![10, 1], &vec![15, 2]));
        assert_eq!((run.growth("pgfault"), run.growth("unheard_of")), (Some(10), Some(2)));
        assert_eq!(run.values("alloc").collect::<Vec<_>>(), [5.0, 7.0]);
        assert_eq!(run.counters.columns[1].meaning, None);
        assert_eq!((run.outcome, run.durations.elapsed), (Outcome::Completed, three));
    }

    #[test]
    fn a_run_that_broke_off_has_what_was_heard() {
        let note = || Message::Note("odd".to_owned());
        let run = collected(
            vec![Message::Reading { at: Nanos::new(4), counters: vec![1, 2] }, note(), note()],
            Supervised::Stopped(StopKind::Memory, "killed".to_owned()),
        );
        assert_eq!(run.phases.len(), 1);
        assert_eq!(run.durations.elapsed, Nanos::new(4));
        assert_eq!(run.notes, ["odd (2 times)"]);
        assert_eq!(run.outcome, Outcome::OutOfMemory { message: "killed".to_owned() });
    }
}
