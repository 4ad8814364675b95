//! The text files of one cell, in the form in which mmtests keeps them, for tools and eyes that know it.
//!
//! Seconds count from the start of the run: results carry no date.

use std::io::{self, Write};

use order9_units::Nanos;

use crate::files::{Files, check_name, check_title};
use crate::{Counters, ProcFile, Reading, Run, WriteError, ftrace};

const SECOND: u64 = 1_000_000_000;

/// Writes all text files of `run`, which ran the workload `bench`.
pub(crate) fn write(files: &mut Files, run: &Run, bench: &str) -> Result<(), WriteError> {
    check_title(&run.policy)?;
    check_name("workload", bench)?;
    let cell = format!("{}/iter-{}", run.policy, run.seed);
    files.text(format!("{cell}/tests-timestamp"), |out| timestamp(out, run, bench))?;
    files.gzip(format!("{cell}/tests-sysstate.gz"), |out| sysstate(out, run))?;
    let monitor = |files: &mut Files, name: &str, fill: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        check_name("monitor", name)?;
        files.gzip(format!("{cell}/{name}-{bench}.gz"), fill)?;
        files.text(format!("{cell}/{name}-{bench}.start"), |out| start(out, run))
    };
    monitor(files, "proc-vmstat", &|out| vmstat(out, &run.counters))?;
    for each in &run.traces.monitors {
        monitor(files, &each.name, &|out| readings(out, &each.readings))?;
    }
    logs(files, run, &format!("{cell}/{bench}/logs"))?;
    files.text(ftrace::path(&run.policy, run.seed), |out| ftrace::write(out, &run.traces))
}

/// Writes the times at which the test began and ended, and the output of `time` for it.
fn timestamp(out: &mut dyn Write, run: &Run, bench: &str) -> io::Result<()> {
    let (begin, end) = run.span();
    let (begin, end) = (begin.get() / SECOND, end.get() / SECOND);
    let status = u8::from(run.outcome.message().is_some());
    let [user, system, elapsed] = [run.durations.user, run.durations.system, run.durations.elapsed].map(hundredths);
    writeln!(out, "start :: 0")?;
    writeln!(out, "test begin :: {bench} {begin}")?;
    writeln!(out, "test end :: {bench} {end} {status}")?;
    writeln!(out, "time :: {bench} {user} user {system} system {elapsed} elapsed")?;
    writeln!(out, "finish :: {end}")
}

/// Seconds with two decimals, truncated as `time` truncates them.
fn hundredths(time: Nanos) -> String {
    let hundredths = time.get() / (SECOND / 100);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// The /proc files of both ends.
fn sysstate(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    for (edge, files) in [("start", &run.traces.begin), ("end", &run.traces.end)] {
        for ProcFile { path, content } in files {
            writeln!(out, "file {edge} :: {path}")?;
            out.write_all(content.as_bytes())?;
        }
    }
    Ok(())
}

/// Writes the time at which a monitor started, and /proc/uptime at that time.
fn start(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    writeln!(out, "0\n{} {}", hundredths(run.traces.uptime), hundredths(run.traces.idle))
}

/// /proc/vmstat over time, from the counters that Linux has.
fn vmstat(out: &mut dyn Write, counters: &Counters) -> io::Result<()> {
    let linux = |name: &str| !name.starts_with(Counters::OWN_PREFIX);
    for (row, at) in counters.times.iter().enumerate() {
        writeln!(out, "time: {}", at.get() / SECOND)?;
        for column in counters.columns.iter().filter(|column| linux(&column.name)) {
            writeln!(out, "{} {}", column.name, column.values[row])?;
        }
    }
    Ok(())
}

/// A file over time.
fn readings(out: &mut dyn Write, readings: &[Reading]) -> io::Result<()> {
    for Reading { at, content } in readings {
        writeln!(out, "time: {}", at.get() / SECOND)?;
        out.write_all(content.as_bytes())?;
    }
    Ok(())
}

/// One file per operation that has samples: per sample a line with time in seconds and value in the operation's unit.
fn logs(files: &mut Files, run: &Run, folder: &str) -> Result<(), WriteError> {
    let mut by_operation = vec![Vec::new(); run.operations.len()];
    for sample in &run.samples {
        by_operation[sample.operation.index()].push(sample);
    }
    for (operation, samples) in run.operations.iter().zip(by_operation).filter(|(_, samples)| !samples.is_empty()) {
        // `1-files/sec` is a name in use.
        let name = operation.name.replace('/', "-");
        check_name("operation", &name)?;
        files.text(format!("{folder}/{name}.log"), |out| {
            samples.iter().try_for_each(|sample| {
                let at = sample.at.get();
                writeln!(out, "{}.{:09} {}", at / SECOND, at % SECOND, sample.value)
            })
        })?;
    }
    Ok(())
}
