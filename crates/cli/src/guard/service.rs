//! The guard at work: looks, acts, logs, and hears signals.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use order9_guard::{Action, Balance, Controller, Decision, GuardFile, Lesson, Stop, Watch};
use order9_journal::{DIRECTORY, exclusive};
use order9_referee::check_compaction;
use order9_units::{Nanos, NodeId};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::balance;
use super::host::{Host, file_of};
use super::listen::{Latest, Listening};
use super::metrics::{Reloads, metrics, replace};
use crate::failure::{Failure, io_sentence};
use crate::output::say;

/// Time after which the textfile is written anew: collectors come every 15 s or so.
const WRITE_EVERY: Duration = Duration::from_secs(5);

/// A guard that runs.
struct Service {
    path: PathBuf,
    file: GuardFile,
    controller: Controller,
    host: Host,
    /// Words of the verdicts that were logged last, by node.
    said: Vec<(NodeId, &'static str)>,
    latest: Latest,
    listening: Option<Listening>,
    written: Option<Instant>,
    reloads: Reloads,
    /// A signal that came during a step.
    heard: Option<i32>,
}

/// Guards this host until a signal ends it.
pub(super) fn run(path: &Path, file: GuardFile) -> Result<(), Failure> {
    check_compaction().map_err(|error| Failure::Usage(error.to_string()))?;
    let host = Host::new();
    let seen = host.look().map_err(|error| Failure::Usage(error.to_string()))?;
    for node in &seen.nodes {
        let file = file_of(node.node);
        if !file.exists() {
            return Err(Failure::file(&file, "not in this kernel: built without CONFIG_COMPACTION or CONFIG_NUMA"));
        }
    }
    let _lock = lock()?;
    let signals = signals()?;
    let mut service = Service {
        path: path.to_owned(),
        controller: controller(&file)?,
        file,
        host,
        said: Vec::new(),
        latest: Latest::default(),
        listening: None,
        written: None,
        reloads: Reloads::default(),
        heard: None,
    };
    service.listen()?;
    // A place that cannot be written ends the guard now, and not after a while.
    service.write_textfile()?;
    service.written = None;
    if seen.stalled.is_none() {
        log("this kernel has no /proc/pressure/memory: the guard cannot tell whether the host is under pressure")?;
    }
    for (node, goal) in seen.nodes.iter().map(|node| (node.node, service.file.config.goal_of(node.node, node.memory))) {
        log(&format!("node {node}: the goal is {goal} free huge pages"))?;
    }
    let ended = service.guard(&signals);
    service.end();
    ended?;
    log("ended")
}

/// A controller with the budgets of the guard before.
fn controller(file: &GuardFile) -> Result<Controller, Failure> {
    let new = || Controller::new(file.config.clone());
    balance::restored(new()).or_else(|refused| {
        log(&refused.to_string())?;
        Ok(new().with_balance(Balance::EMPTY, Nanos::ZERO))
    })
}

/// Takes the lock that two guards never have at once.
fn lock() -> Result<std::fs::File, Failure> {
    let path = Path::new(DIRECTORY).join("guard.lock");
    let failed = |error: std::io::Error| Failure::file(&path, io_sentence(&error));
    std::fs::create_dir_all(DIRECTORY).map_err(failed)?;
    let lock = exclusive(&path).map_err(failed)?;
    lock.ok_or_else(|| {
        Failure::Usage(format!("another order9 guard runs on this host ({})", order9_escape::path(&path)))
    })
}

/// Signals as they come.
fn signals() -> Result<Receiver<i32>, Failure> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let (send, receive) = channel();
    thread::spawn(move || signals.forever().take_while(|signal| send.send(*signal).is_ok()).for_each(drop));
    Ok(receive)
}

impl Service {
    /// Looks and acts until a signal ends it.
    fn guard(&mut self, signals: &Receiver<i32>) -> Result<(), Failure> {
        loop {
            let seen = self.host.look().map_err(|error| Failure::Usage(error.to_string()))?;
            let decision = self.controller.decide(&seen);
            // Whoever reads of a decision finds it in the metrics.
            self.publish()?;
            self.tell(&decision)?;
            if let Some(action) = decision.action {
                self.act(action, &decision, signals)?;
            }
            let pause = Duration::from_nanos(self.controller.pause().get());
            match self.heard.take().map_or_else(|| signals.recv_timeout(pause), Ok) {
                Ok(SIGHUP) => self.reload()?,
                Err(RecvTimeoutError::Timeout) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Logs verdicts that are others than before. Those with an action are logged with what it gave.
    fn tell(&mut self, decision: &Decision) -> Result<(), Failure> {
        let words: Vec<_> = decision.verdicts.iter().map(|(node, verdict)| (*node, verdict.word())).collect();
        let new = decision.verdicts.iter().zip(&words).filter(|(_, word)| !self.said.contains(word));
        for ((node, verdict), _) in new.filter(|((_, verdict), _)| verdict.word() != "compact") {
            log(&format!("node {node}: {verdict}"))?;
        }
        self.said = words;
        Ok(())
    }

    fn act(&mut self, action: Action, decision: &Decision, signals: &Receiver<i32>) -> Result<(), Failure> {
        // Whoever kills the guard now gives the next one nothing to spend.
        self.keep(self.controller.balance().spent())?;
        let (controller, heard) = (&mut self.controller, &mut self.heard);
        let (took, how) = self.host.act(action, |cpu, seen| {
            *heard = signals.try_recv().ok();
            if heard.is_some() { Watch::Stops(Stop::Signal) } else { controller.watch(cpu, seen) }
        })?;
        let after = self.host.look().map_err(|error| Failure::Usage(error.to_string()))?;
        let lesson = self.controller.learn(action, &took, &after);
        self.keep(self.controller.balance())?;
        let what = match action {
            Action::Compact { node, .. } => {
                let verdict = decision.verdicts.iter().find(|(of, _)| *of == node);
                verdict.map_or_else(String::new, |(node, verdict)| format!("node {node}: {verdict}"))
            }
            Action::Collapse { .. } => format!("{action}, {how}"),
        };
        let result = match (action, lesson) {
            (Action::Collapse { .. }, Lesson::Worth { gain }) => format!("{gain} huge pages collapsed"),
            (_, lesson) => lesson.to_string(),
        };
        log(&format!("{what}: {result}, in {took}"))
    }

    /// Keeps what the budgets hold for the guard after this one. A folder that is full ends no guard.
    fn keep(&self, balance: Balance) -> Result<(), Failure> {
        balance::keep(balance).or_else(|failure| log(&failure.to_string()))
    }

    /// Reads the configuration anew; a bad one leaves the one before in force.
    fn reload(&mut self) -> Result<(), Failure> {
        let (before, listened) = (self.file.clone(), self.file.listen.clone());
        let taken = super::read(&self.path).and_then(|file| {
            self.file = file;
            if self.file.listen == listened { Ok(()) } else { self.listen() }
        });
        match taken {
            Ok(()) => {
                self.reloads.taken += 1;
                self.controller.reconfigure(self.file.config.clone());
                self.remove_textfile(&before, self.file.textfile != before.textfile);
                self.written = None;
                log(&format!("{}: read anew", order9_escape::path(&self.path)))
            }
            Err(failure) => {
                self.reloads.refused += 1;
                self.file = before;
                log(&format!("{failure}: the configuration before stays in force"))
            }
        }
    }

    /// Listens where the configuration says; where that fails, where it was before.
    fn listen(&mut self) -> Result<(), Failure> {
        let new = self.file.listen.as_ref().map(|place| {
            Listening::start(place, &self.latest)
                .map_err(|error| Failure::Usage(format!("metrics.listen: {}", io_sentence(&error))))
        });
        self.listening = new.transpose()?;
        Ok(())
    }

    /// Gives metrics to whoever asks.
    fn publish(&mut self) -> Result<(), Failure> {
        let text = metrics(&self.controller, self.reloads);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = text;
        if self.written.is_some_and(|written| written.elapsed() < WRITE_EVERY) {
            return Ok(());
        }
        // A disk that is full ends no guard.
        self.write_textfile().or_else(|failure| log(&failure.to_string()))
    }

    fn write_textfile(&mut self) -> Result<(), Failure> {
        self.written = Some(Instant::now());
        let Some(path) = &self.file.textfile else { return Ok(()) };
        let text = metrics(&self.controller, self.reloads);
        replace(path, &text).map_err(|error| Failure::file(path, io_sentence(&error)))
    }

    /// Removes the textfile of a configuration: metrics of a guard that no longer writes them would mislead.
    fn remove_textfile(&self, file: &GuardFile, is_over: bool) {
        if let Some(path) = file.textfile.as_ref().filter(|_| is_over) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn end(&mut self) {
        self.listening = None;
        self.remove_textfile(&self.file, true);
    }
}

/// Time is the journal's business.
fn log(text: &str) -> Result<(), Failure> {
    say(&format!("order9 guard: {text}\n"))
}
