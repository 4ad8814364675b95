//! Events as tracefs prints them, so that tools for kernel traces read those of a run.

use std::collections::BTreeMap;
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

/// The events in `text`, which [`write`] wrote; the error is the number of the line that is none.
pub(crate) fn parse(text: &str) -> Result<Vec<Event>, usize> {
    let mut tasks: BTreeMap<&str, Arc<str>> = BTreeMap::new();
    let mut shared = |word| tasks.entry(word).or_insert_with(|| Arc::from(word)).clone();
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#'));
    lines.map(|(number, line)| parse_line(line, &mut shared).ok_or(number)).collect()
}

fn parse_line<'a>(line: &'a str, shared: &mut impl FnMut(&'a str) -> Arc<str>) -> Option<Event> {
    let (task, rest) = line.split_once(" [")?;
    let (comm, pid) = task.trim_end().rsplit_once('-')?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (_, rest) = rest.split_once(' ')?;
    let (time, rest) = rest.split_once(": ")?;
    let (seconds, micros) = time.trim().split_once('.')?;
    let (name, fields) = rest.split_once(':')?;
    let seconds = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
    Some(Event {
        at: Nanos::new(seconds.checked_add(micros.parse::<u64>().ok().filter(|micros| *micros < 1_000_000)? * 1000)?),
        cpu: cpu.parse().ok()?,
        comm: shared(comm.trim_start()),
        pid: pid.parse().ok()?,
        name: shared(name),
        fields: fields.strip_prefix(' ').unwrap_or(fields).to_owned(),
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
        let read = Event { comm: "a\\nb".into(), at: Nanos::new(1_234_567_891_000), ..event };
        assert_eq!(parse(&format!("# head\n{text}")), Ok(vec![read]));
        assert_eq!(parse(&format!("{text}nonsense\n")), Err(2));
    }
}
