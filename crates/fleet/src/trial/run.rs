//! Tries a question on the hosts of a sample, several at a time, and keeps every answer as soon as it is there.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use order9_advise::Trial;
use order9_advise::what_if::WhatIf;
use order9_lab::Plan;
use order9_units::Bytes;

use super::{Question, Tried};
use crate::features::column;
use crate::host::Host;
use crate::read::{digest, open};

/// Answers of hosts in the order of the sample's groups; a host that could not be tried has the problem, in words.
pub type Answers = Vec<Vec<Result<Tried, String>>>;

/// Tries `question` on the hosts of `sample` (by place in `hosts`, group by group) on so many threads, with `memory` for all of them.
/// An answer that `folder` holds already is taken from there, and each new one is kept there.
///
/// # Errors
/// Where `folder` cannot be written to.
pub fn run(
    (question, hosts, sample): (&Question, &[Host], &[Vec<usize>]),
    folder: &Path,
    (threads, memory): (NonZeroUsize, Bytes),
    progress: &(dyn Fn(usize) + Sync),
) -> io::Result<Answers> {
    fs::create_dir_all(folder)?;
    let order: Vec<usize> = sample.iter().flatten().copied().collect();
    let left: Vec<usize> = order.iter().copied().filter(|&host| kept(folder, &hosts[host]).is_none()).collect();
    progress(order.len() - left.len());
    let threads = fitting(question, hosts, &left, memory).map_or(threads, |fit| threads.min(fit));
    let jobs = NonZeroUsize::new(threads.get() / left.len().max(1)).unwrap_or(NonZeroUsize::MIN);
    let problems: Mutex<Vec<(usize, String)>> = Mutex::default();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(order.len() - left.len()));
    let failed: Mutex<Option<io::Error>> = Mutex::default();
    let work = || {
        while let Some(&host) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
            match question.on(&hosts[host], jobs, memory) {
                Ok(tried) => {
                    if let Err(error) = keep(folder, &hosts[host], &tried) {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return;
                    }
                }
                Err(problem) => problems.lock().unwrap_or_else(PoisonError::into_inner).push((host, problem)),
            }
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| (0..threads.get().min(left.len())).for_each(|_| drop(scope.spawn(work))));
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
    let answer = |&host: &usize| {
        let problem = problems.iter().find(|(of, _)| *of == host).map(|(_, problem)| problem.clone());
        kept(folder, &hosts[host]).ok_or_else(|| problem.unwrap_or_else(|| "its answer was not kept".to_owned()))
    };
    Ok(sample.iter().map(|hosts| hosts.iter().map(answer).collect()).collect())
}

impl Question {
    /// The answer of one host.
    fn on(&self, host: &Host, jobs: NonZeroUsize, memory: Bytes) -> Result<Tried, String> {
        let (trial, what_if, plan) = self.plan(host, memory)?;
        let comparison = what_if.compare(&trial, &plan, jobs).map_err(|error| error.to_string())?;
        Ok(Tried::of(&comparison))
    }

    fn plan(&self, host: &Host, memory: Bytes) -> Result<(Trial, WhatIf, Plan), String> {
        let path = Path::new(&host.file.path);
        if digest(path)? != host.file.digest {
            return Err("it has changed since the fleet was read".to_owned());
        }
        let trial = Trial {
            name: host.name.clone(),
            snapshot: Arc::new(open(path, memory)?),
            policy: self.policy.clone(),
            prices: self.prices.clone(),
            seeds: self.seeds,
            notes: Vec::new(),
            command: self.command.clone(),
        };
        let what_if = WhatIf { cases: vec![self.settings.clone()], demand: self.demand.clone() };
        let plan = what_if.plan(&trial).map_err(|error| error.to_string())?;
        plan.jobs(memory).map_err(|shortage| format!("a run of this machine {shortage}"))?;
        Ok((trial, what_if, plan))
    }
}

/// Runs that fit into `memory` at the same time, by the largest host; `None` where none can be planned.
fn fitting(question: &Question, hosts: &[Host], left: &[usize], memory: Bytes) -> Option<NonZeroUsize> {
    let present = column("present_pages");
    let largest = left.iter().max_by_key(|&&host| hosts[host].number(present))?;
    let (_, _, plan) = question.plan(&hosts[*largest], memory).ok()?;
    plan.jobs(memory).ok()
}

fn kept(folder: &Path, host: &Host) -> Option<Tried> {
    serde_json::from_slice(&fs::read(place(folder, host)).ok()?).ok()
}

/// Keeps an answer: whole, or not at all.
fn keep(folder: &Path, host: &Host, tried: &Tried) -> io::Result<()> {
    let place = place(folder, host);
    let made = place.with_extension("part");
    fs::write(&made, serde_json::to_vec(tried)?)?;
    fs::rename(made, place)
}

fn place(folder: &Path, host: &Host) -> std::path::PathBuf {
    folder.join(format!("{}.json", host.file.digest))
}
