//! `order9 validate`: real kernels and the lab from the same memory, side by side.

mod about;
mod grown;
mod guests;
mod in_lab;
mod kept;
mod part;
mod place;
mod this_host;

use std::path::Path;

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::{LivePlan, Real};
use order9_lab::{Fidelity, Plan, Sides, fidelity, live_inputs};
use order9_record::{Experiment, Outcome, Run};
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::ValidateArgs;
use crate::bench::guest::{Booted, machine_of, specs, title};
use crate::failure::Failure;
use crate::output::{print, print_json, say};
use crate::run::{command, named};
use about::{About, Kind};
use grown::{Grown, kept_starts};
use guests::{Boots, Guests};
use kept::Kept;
use part::Part;
use place::Place;
use this_host::ThisHost;

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// A real kernel, whose runs start from memory that the lab can start from too.
trait Referee {
    /// Title of its column.
    fn title(&self) -> String;
    /// Machine and clock of the kernel.
    fn about(&self) -> About;
    /// Machine whose disks and swap the kernel has; `None` where it has none.
    fn storage(&self) -> Option<&MachineSpec>;
    /// Whether there are runs of this experiment, or can be.
    fn has(&self, _experiment: &str) -> bool {
        true
    }
    /// Number of memories from which the next runs start, those of this experiment; at least one.
    fn starts(&mut self, experiment: &str) -> Result<usize, Failure>;
    /// The memory with this number, asked for right before its runs.
    fn start(&mut self, number: usize) -> Result<Snapshot, Failure>;
    /// All runs of the plan, from the memory with this number.
    fn runs(&self, start: usize, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure>;
    /// Whether the runs from the memory with this number are taken now, and have to be kept.
    fn is_new(&self, _start: usize) -> bool {
        true
    }
}

/// Runs of both sides.
#[derive(Default)]
struct Both {
    real: Vec<Run>,
    lab: Vec<Run>,
}

/// An experiment with its name.
struct Asked {
    name: String,
    plan: LivePlan,
}

/// Verdicts for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    experiments: &'a [Fidelity],
}

/// Judges every experiment under every kernel, prints a table for each, and stores what was asked for.
pub(crate) fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let mut session =
        Session { args, asked: asked(args)?, place: Place::new(args)?, judged: Vec::new(), broken: Vec::new() };
    if let Some(root) = &args.again {
        session.again(root)?;
    } else if args.kernels.kernels.is_empty() {
        let mut host = ThisHost::open(args.starts(), args.files.clone())?;
        let judged = session.here(&mut host);
        host.close()?;
        judged?;
    } else {
        for machine in session.machines() {
            session.on(machine.as_deref())?;
        }
    }
    session.end()
}

fn asked(args: &ValidateArgs) -> Result<Vec<Asked>, Failure> {
    // The machine of a scenario says what a guest gets, and what this host has to have.
    let plans = named(&args.what, args.case.as_deref(), args.chosen())?;
    let plans = plans.live(Real::Guests, &command()).map_err(usage)?;
    let asked = plans.into_iter().map(|(case, plan)| {
        let name = case.or_else(|| args.case.clone()).unwrap_or_else(|| plan.workload.name().to_owned());
        Asked { name, plan }
    });
    Ok(asked.collect())
}

/// Experiments, and the verdicts so far.
struct Session<'a> {
    args: &'a ValidateArgs,
    asked: Vec<Asked>,
    place: Place,
    judged: Vec<Fidelity>,
    /// Experiments that broke off.
    broken: Vec<String>,
}

impl Session<'_> {
    /// Machines that experiments ask for, each once.
    fn machines(&self) -> Vec<Option<String>> {
        let mut machines: Vec<Option<String>> = Vec::new();
        for Asked { plan, .. } in &self.asked {
            if !machines.contains(&plan.machine) {
                machines.push(plan.machine.clone());
            }
        }
        machines
    }

    /// Holds the lab against the kernel of this host, in the experiments that can run here.
    fn here(&mut self, host: &mut ThisHost) -> Result<(), Failure> {
        for machine in self.machines() {
            let spec = machine_of(&self.args.kernels, machine.as_deref())?;
            let Some(lack) = spec.as_ref().and_then(|spec| host.lacks(spec)) else {
                self.judge(host, machine.as_deref())?;
                continue;
            };
            for Asked { name, .. } in self.asked.iter().filter(|asked| asked.plan.machine == machine) {
                say(&format!("order9: SKIPPED: {name} under {}: {lack}\n", host.title()))?;
            }
        }
        Ok(())
    }

    /// Holds the lab against every kernel on one machine, in the experiments that ask for it.
    fn on(&mut self, machine: Option<&str>) -> Result<(), Failure> {
        let args = self.args;
        let spec = machine_of(&args.kernels, machine)?;
        let mut titles = Vec::new();
        for guest in specs(&args.kernels, spec.as_ref())? {
            // A guest without a run of either side would be booted in vain.
            let starts = args.starts();
            let first = Booted::new(&guest, args.kernels.deterministic)?;
            let title = title(&first.facts.kernel, &titles.iter().map(String::as_str).collect::<Vec<_>>());
            titles.push(title.clone());
            let kept =
                args.more.then(|| self.kept(&title, machine, starts)).transpose()?.filter(|(_, there)| *there > 0);
            let there = kept.as_ref().map_or(0, |(_, there)| *there as u64);
            if there >= starts {
                let (mut kept, _) = kept.expect("more than none");
                self.judge(&mut kept, machine)?;
                continue;
            }
            let more = Boots { title, first: there, starts, deterministic: args.kernels.deterministic };
            let mut guests = Guests::boot(first, &guest, &more, spec.clone())?;
            match kept {
                Some((kept, there)) => self.judge(&mut Grown::new(kept, there, guests), machine)?,
                None => self.judge(&mut guests, machine)?,
            }
        }
        Ok(())
    }

    /// Runs under a kernel that the experiments on this machine have already, and from how many memories.
    fn kept(&self, title: &str, machine: Option<&str>, wanted: u64) -> Result<(Kept, usize), Failure> {
        let here = self.asked.iter().filter(|asked| asked.plan.machine.as_deref() == machine);
        let experiments: Vec<&str> = here.map(|asked| asked.name.as_str()).collect();
        let spec = machine_of(&self.args.kernels, machine)?;
        kept_starts(self.place.root(), title, spec, &experiments, wanted)
    }

    /// Holds the lab against the runs of every kernel that were kept below `root`.
    fn again(&mut self, root: &Path) -> Result<(), Failure> {
        for kernel in Kept::kernels(root)? {
            for machine in self.machines() {
                let mut kept = Kept::new(&kernel, machine_of(&self.args.kernels, machine.as_deref())?);
                self.judge(&mut kept, machine.as_deref())?;
            }
        }
        if self.judged.is_empty() && self.broken.is_empty() {
            return Err(Failure::file(
                root,
                "holds no real runs of what is asked for; `order9 validate -o` stores them",
            ));
        }
        Ok(())
    }

    /// Holds the lab against a kernel in every experiment on this machine.
    fn judge(&mut self, referee: &mut impl Referee, machine: Option<&str>) -> Result<(), Failure> {
        for asked in self.asked.iter().filter(|asked| asked.plan.machine.as_deref() == machine) {
            if !referee.has(&asked.name) {
                say(&format!("order9: SKIPPED: {} under {}: no runs were stored\n", asked.name, referee.title()))?;
                continue;
            }
            let starts = referee.starts(&asked.name)?;
            let first = referee.start(0)?;
            if let Some(missing) = missing_setting(&asked.plan, &first) {
                say(&format!("order9: SKIPPED: {} under {}: there is no {missing}\n", asked.name, referee.title()))?;
                continue;
            }
            let fidelity = match self.one(referee, asked, (first, starts))? {
                Ok(fidelity) => fidelity,
                Err(broken) => {
                    say(&format!("order9: {}: {broken}\n", asked.name))?;
                    self.broken.push(format!("{} under {}", asked.name, referee.title()));
                    continue;
                }
            };
            if !self.args.json {
                print(&format!("{fidelity}\n"))?;
            }
            self.judged.push(fidelity);
            self.place.keep(&Json { experiments: &self.judged })?;
        }
        Ok(())
    }

    /// One experiment under one kernel; an error of its own where a run broke off, which has done less than others.
    fn one(
        &self,
        referee: &mut impl Referee,
        asked: &Asked,
        (first, starts): (Snapshot, usize),
    ) -> Result<Result<Fidelity, String>, Failure> {
        let few = self.args.lab_runs();
        if few < starts as u64 {
            let need = starts;
            return Err(usage(format!("--lab-runs {few}: {need} memories need a run each, so at least {need}")));
        }
        let mut all = Both::default();
        let mut first = Some(first);
        for number in 0..starts {
            let start = first.take().map_or_else(|| referee.start(number), Ok)?;
            match self.from(referee, asked, Part { start: number, of: starts }, &start)? {
                Ok(both) => {
                    all.real.extend(both.real);
                    all.lab.extend(both.lab);
                }
                Err(broken) => return Ok(Err(broken)),
            }
        }
        let time_is_real = referee.about().clock.compares(self.args.prices.is_some());
        Ok(Ok(fidelity(&asked.name, asked.plan.workload, Sides { real: &all.real, lab: &all.lab, time_is_real })))
    }

    /// Runs of both sides from one memory; an error of its own where one broke off.
    fn from(
        &self,
        referee: &impl Referee,
        asked: &Asked,
        part: Part,
        start: &Snapshot,
    ) -> Result<Result<Both, String>, Failure> {
        let plan = LivePlan { seeds: part.of(self.args.runs), ..asked.plan.clone() };
        let about = referee.about();
        let parameters = plan.parameters(&about.facts.for_workloads()).map_err(usage)?;
        let folder = self.place.folder(&referee.title(), &asked.name, part)?;
        let start = if referee.is_new(part.start) { folder.keep_start(start)? } else { folder.start() };
        let real = referee.runs(part.start, &plan, &parameters)?;
        if let Some(broken) = broken(&real) {
            return Ok(Err(broken));
        }
        let lab_plan = in_lab::plan(self.args, &plan, &parameters, part, &start, about.starts_alike())?;
        let machine = storage(lab_plan.machine, &about, referee)?;
        let lab_plan = Plan { machine, reserve: about.reserve, ..lab_plan };
        let lab = in_lab::run(&lab_plan)?;
        if let Some(broken) = broken(&lab.runs) {
            return Ok(Err(broken));
        }
        folder.keep_runs("lab", &lab)?;
        if !referee.is_new(part.start) {
            return Ok(Ok(Both { real, lab: lab.runs }));
        }
        let real = Experiment::new(live_inputs(&plan, &parameters, about.machine(), &[&referee.title()]), real);
        folder.keep_runs("real", &real)?;
        folder.keep_about(&about)?;
        Ok(Ok(Both { real: real.runs, lab: lab.runs }))
    }

    /// Prints what is left to be printed, and says whether everything is good enough.
    fn end(&self) -> Result<(), Failure> {
        if self.args.json {
            print_json(&Json { experiments: &self.judged })?;
        }
        if !self.broken.is_empty() {
            return Err(usage(format!("not judged, since a run broke off: {}", self.broken.join(", "))));
        }
        if self.judged.is_empty() {
            return Err(usage("nothing was judged: every experiment was skipped"));
        }
        let (all, good) = self.judged.iter().map(Fidelity::score).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        if good == all {
            Ok(())
        } else {
            Err(Failure::Short(format!("{} of {all} quantities are outside their goals", all - good)))
        }
    }
}

/// The machine of the lab with the disks that the kernel has: a guest's own, or the disk of this host, which is that of the prices.
fn storage(lab: MachineSpec, about: &About, referee: &impl Referee) -> Result<MachineSpec, Failure> {
    match about.kind {
        Kind::Guest => Ok(lab.with_disks_of(referee.storage())),
        Kind::Live if !about.files_on_disk => Ok(lab.with_disks_of(None)),
        Kind::Live if lab.file_disk().is_some() => Ok(lab),
        Kind::Live => Err(usage("--files: the machine of --prices has no disk for files")),
    }
}

/// A setting of the plan that the kernel whose memory this is does not have.
fn missing_setting(plan: &LivePlan, start: &Snapshot) -> Option<&'static str> {
    plan.paths().map(|(path, _)| path).find(|&path| !start.settings.contains_key(path))
}

/// Reason of the first run that did not come to its end.
fn broken(runs: &[Run]) -> Option<String> {
    let run = runs.iter().find(|run| run.outcome != Outcome::Completed)?;
    Some(format!("{}, run {}: {}", run.policy, run.seed, run.outcome.message().unwrap_or_default()))
}
