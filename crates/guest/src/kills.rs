//! Kills of a run at any moment, on a machine that is nobody's: the run changes settings as a host's does, with a journal, and the
//! next start has to put them back.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_live::{
    JOURNAL_DIRECTORY, Job, Journal, Kills, Limits, Message, Supervised, Witness, read_frame, settings_of_memory,
    supervise, write_frame,
};

use crate::console::say;
use crate::work::PROGRAM;

/// Argument with which this file is a run: its job comes from the standard input.
pub(crate) const RUN: &str = "run";
/// Time that the program of a run which was killed has to end.
const ENDS: Duration = Duration::from_secs(20);

/// The run: what a command on a host does, but for hearing what the program says.
pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(Supervised::Completed) => ExitCode::SUCCESS,
        Ok(end) => {
            say(&format!("the run: {end:?}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&format!("the run: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Supervised, String> {
    let job: Job = read_frame(std::io::stdin()).map_err(|error| format!("no job came: {error}"))?;
    let (journal, _) = Journal::open(Path::new(JOURNAL_DIRECTORY)).map_err(|error| error.to_string())?;
    let limits = Limits { interrupted: &AtomicBool::new(false), guards_machine: true, time: None };
    let mut command = Command::new("/proc/self/exe");
    command.arg(PROGRAM);
    let end = supervise(&job, Some(&journal), limits, command, &mut Deaf).map_err(|error| error.to_string());
    journal.restore().map_err(|error| error.to_string())?;
    end
}

/// Hears nothing.
struct Deaf;

impl Witness for Deaf {
    fn message(&mut self, _: Message) {}

    fn snapshot(&mut self, _: &str) {}
}

/// Runs `job` once to its end, and `times` times to a kill, at moments that spread from the start to a little after the end.
pub(crate) fn kill(job: &Job, times: u32) -> Result<Kills, String> {
    let journal = Path::new(JOURNAL_DIRECTORY);
    let undo = journal.join("undo");
    let job = &Job { journal: Some(undo.clone()), ..job.clone() };
    let before = settings_of_memory();
    let begin = Instant::now();
    let status = start(job)?.wait().map_err(|error| format!("the run: {error}"))?;
    let whole = begin.elapsed();
    if !status.success() {
        return Err("the run that nobody kills does not come to its end".to_owned());
    }
    let differs = || {
        let now = settings_of_memory();
        now.iter().find(|(path, text)| before.get(*path) != Some(text)).map(|(path, _)| path.display().to_string())
    };
    let mut kills = Kills::default();
    kills.failed.extend(differs().map(|path| format!("after a run that nobody kills, {path} is not as before")));
    for nth in 0..times {
        let moment = whole * 11 / 10 * nth / times;
        let mut child = start(job)?;
        sleep(moment);
        // A run that is through already leaves nothing to be killed.
        let _ = child.kill();
        child.wait().map_err(|error| format!("the run: {error}"))?;
        wait_for_programs()?;
        kills.changed += u32::from(differs().is_some());
        kills.journals += u32::from(undo.exists());
        // The next start; it ends at once, since nothing else is to be done.
        Journal::open(journal).map_err(|error| error.to_string())?;
        let left = differs().or_else(|| undo.exists().then(|| undo.display().to_string()));
        kills.failed.extend(left.map(|path| format!("kill {nth} after {moment:?}: {path}")));
    }
    Ok(kills)
}

fn start(job: &Job) -> Result<Child, String> {
    let started = Command::new("/proc/self/exe").arg(RUN).stdin(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("the run did not start: {error}"))?;
    let mut frame = Vec::new();
    write_frame(&mut frame, job).map_err(|error| error.to_string())?;
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(&frame).map_err(|error| format!("the run takes no job: {error}"))?;
    Ok(child)
}

/// Waits until no program runs: a program ends behind its supervisor.
fn wait_for_programs() -> Result<(), String> {
    let until = Instant::now() + ENDS;
    while programs() > 0 {
        if Instant::now() > until {
            return Err(format!("a program runs {} s after its supervisor was killed", ENDS.as_secs()));
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Programs that run.
fn programs() -> usize {
    let is_program = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).nth(1) == Some(PROGRAM.as_bytes())
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter(|entry| is_program(&entry.path())).count()
}
