//! Events as tracefs prints them, so that tools for kernel traces read those of a run.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use order9_units::Nanos;

use crate::{Event, Traces};

/// The head of a trace file; the column marks are those of the kernel documentation (trace/ftrace).
fn head(out: &mut dyn Write, events: usize, cpus: u32) -> io::Result<()> {
    writeln!(out, "# tracer: nop\n#")?;
    writeln!(out, "# entries-in-buffer/entries-written: {events}/{events}   #P:{cpus}\n#")?;
    out.write_all(
        b"#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
",
    )
}

/// Writes all events. Times are truncated to microseconds as the kernel's are; the order stays.
pub(crate) fn write(out: &mut dyn Write, traces: &Traces) -> io::Result<()> {
    head(out, traces.events.len(), traces.cpus)?;
    traces.events.iter().try_for_each(|event| line(out, event))
}

fn line(out: &mut dyn Write, event: &Event) -> io::Result<()> {
    let Event { at, cpu, comm, pid, name, fields } = event;
    let (seconds, micros) = (at.get() / 1_000_000_000, at.get() / 1000 % 1_000_000);
    let comm = one_line(comm);
    let fields = one_line(fields);
    writeln!(out, "{comm:>16}-{pid:<7} [{cpu:03}] ..... {seconds:5}.{micros:06}: {name}: {fields}")
}

/// Path of the trace of a cell in its run directory.
pub(crate) fn path(policy: &str, seed: u64) -> String {
    format!("{policy}/iter-{seed}/trace.txt")
}

/// The events of a trace file that [`write`] wrote, or the first line that is none.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Event>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut names = Names::default();
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#'));
    let event = |(number, line): (usize, &str)| {
        parsed(line, &mut names).ok_or_else(|| {
            format!("line {number}: expected `TASK-PID [CPU] FLAGS SECONDS: EVENT: FIELDS`, found {line:?}")
        })
    };
    lines.map(event).collect()
}

/// Names that are shared by all events which have them.
#[derive(Default)]
struct Names(BTreeSet<Arc<str>>);

impl Names {
    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let new: Arc<str> = name.into();
        self.0.insert(new.clone());
        new
    }
}

fn parsed(line: &str, names: &mut Names) -> Option<Event> {
    // Names of tasks may hold blanks, hyphens and brackets: the first place where a pid stands before a CPU decides.
    let (task, cpu, rest) = line.match_indices(" [").find_map(|(at, _)| {
        let (cpu, rest) = line[at + 2..].split_once("] ")?;
        let (comm, pid) = line[..at].trim_end().rsplit_once('-')?;
        Some(((comm, pid.parse().ok()?), cpu.parse().ok()?, rest))
    })?;
    let (_, rest) = rest.split_once(' ')?;
    let (time, rest) = rest.split_once(": ")?;
    let (seconds, micros) = time.trim_start().split_once('.')?;
    let (name, fields) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let micros = seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros.parse().ok()?)?;
    Some(Event {
        at: Nanos::new(micros.checked_mul(1000)?),
        cpu,
        comm: names.shared(task.0.trim_start()),
        pid: task.1,
        name: names.shared(name),
        fields: fields.to_owned(),
    })
}

/// A control character would break the line in two.
fn one_line(text: &str) -> String {
    order9_escape::line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_back_whatever_the_task_is_called() {
        let event = |comm: &str, fields: &str| Event {
            at: Nanos::new(1_234_567_891_000),
            cpu: 3,
            comm: comm.into(),
            pid: 42,
            name: "mm_page_alloc".into(),
            fields: fields.to_owned(),
        };
        let comms = ["kworker/u8:1-ev", "a [007] b", "x-1 y", "a name longer than sixteen"];
        let events: Vec<Event> = comms.into_iter().map(|comm| event(comm, "order=9 x=a: b")).collect();
        let events = [events, vec![event("none", "")]].concat();
        let traces = Traces { events, cpus: 4, ..Traces::default() };
        let mut out = Vec::new();
        write(&mut out, &traces).unwrap();
        assert_eq!(read(&out), Ok(traces.events));
        let refused = read(b"# a head\nno event\n").unwrap_err();
        assert!(
            refused.starts_with("line 2: expected `TASK-PID") && refused.ends_with("found \"no event\""),
            "{refused}"
        );
    }

    #[test]
    fn an_event_is_one_line_whatever_the_task_is_called() {
        let event = Event {
            at: Nanos::new(1_234_567_891_234),
            cpu: 3,
            comm: "a\nb".into(),
            pid: 42,
            name: "mm_page_alloc".into(),
            fields: "order=9".to_owned(),
        };
        let mut out = Vec::new();
        line(&mut out, &event).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "            a\\nb-42      [003] .....  1234.567891: mm_page_alloc: order=9\n");
    }
}
