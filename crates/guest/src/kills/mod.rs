//! Kills at any moment, on a machine that is nobody's: something changes settings as on a host, with a way back on disk, and the next
//! start has to put them back.

mod change;
mod run;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Instant;

use order9_live::{Kills, Victim, settings_of_memory, write_frame};
use serde::Serialize;

use crate::console::say;

/// A process that changes settings, and is killed.
trait Changes {
    /// Starts a process that changes settings, and may put them back itself.
    fn start(&self) -> Result<Child, String>;

    /// Waits for whatever outlives the process that was killed.
    fn wait(&self) -> Result<(), String>;

    /// Does what the next start does: settings are as before then.
    fn take_back(&self) -> Result<(), String>;

    /// The way back, if it lies there.
    fn way_back(&self) -> Option<PathBuf>;
}

/// Runs `victim` once to its end, and `times` times to a kill, at moments that spread from the start to a little after the end.
pub(crate) fn kill(victim: &Victim, times: u32) -> Result<Kills, String> {
    match victim {
        Victim::Run(job) => kill_each(&run::Run::new(job), times),
        Victim::Change(settings) => kill_each(&change::Change { settings }, times),
    }
}

/// Does the work of a process whose only argument is `word`, if that is one of those that are killed.
pub(crate) fn main(word: &str) -> Option<ExitCode> {
    let done = match word {
        run::RUN => run::main(),
        change::CHANGE => change::main(),
        _ => return None,
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{word}: {error}"));
            ExitCode::FAILURE
        }
    })
}

fn kill_each(victim: &impl Changes, times: u32) -> Result<Kills, String> {
    let before = settings_of_memory();
    let begin = Instant::now();
    let status = victim.start()?.wait().map_err(|error| error.to_string())?;
    let whole = begin.elapsed();
    if !status.success() {
        return Err("what nobody kills does not come to its end".to_owned());
    }
    victim.take_back()?;
    let differs = || {
        let now = settings_of_memory();
        now.iter().find(|(path, text)| before.get(*path) != Some(text)).map(|(path, _)| path.display().to_string())
    };
    let mut kills = Kills::default();
    kills.failed.extend(differs().map(|path| format!("with no kill, {path} is not as before")));
    for nth in 0..times {
        let moment = whole * 11 / 10 * nth / times;
        let mut child = victim.start()?;
        sleep(moment);
        // What is through already leaves nothing to be killed.
        let _ = child.kill();
        child.wait().map_err(|error| error.to_string())?;
        victim.wait()?;
        kills.changed += u32::from(differs().is_some());
        kills.ways_back += u32::from(victim.way_back().is_some());
        victim.take_back()?;
        let left = differs().or_else(|| victim.way_back().map(|path| path.display().to_string()));
        kills.failed.extend(left.map(|path| format!("kill {nth} after {moment:?}: {path}")));
    }
    Ok(kills)
}

/// Starts this file with the argument `word`, and gives it `order`.
fn start(word: &str, order: &impl Serialize) -> Result<Child, String> {
    let started = Command::new("/proc/self/exe").arg(word).stdin(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("{word} did not start: {error}"))?;
    let mut frame = Vec::new();
    write_frame(&mut frame, order).map_err(|error| error.to_string())?;
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(&frame).map_err(|error| format!("{word} takes no order: {error}"))?;
    Ok(child)
}
