//! An experiment on a real kernel: what a person asks for, as far as it means something there.

use std::collections::BTreeMap;

use order9_procfs::sysctl::Setting;
use order9_units::Nanos;
use order9_workloads::{Facts, Parameters, Value, Workload};

use super::Scenario;
use super::error::{Problem, ScenarioError};
use super::plan::with_demanded;
use crate::error::PlanError;
use crate::plan::Settings;

/// A workload on a real kernel: the kernel, its memory and its prices are what they are.
#[derive(Clone, Debug)]
pub struct LivePlan {
    /// The workload to run.
    pub workload: Workload,
    /// Parameters that were chosen; the others have their defaults on the machine.
    pub chosen: BTreeMap<&'static str, Value>,
    /// Settings to write before the start, by their Linux names, in this order.
    pub settings: Settings,
    /// Seeds, at least one.
    pub seeds: Vec<u64>,
    /// Interval between readings of the counters; not zero.
    pub sample_every: Nanos,
    /// The machine of guests, where one was asked for.
    pub machine: Option<String>,
    /// The command line that asked for it, for the manifest.
    pub command: Vec<String>,
}

/// Place of a real kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    /// On this host, whose machine is what it is.
    Host,
    /// In guests, whose machine is made.
    Guests,
}

impl Scenario {
    /// The experiment for a real kernel; `command` is the command line that asked. Without `--seeds` there is one run.
    ///
    /// # Errors
    /// What only the lab can do.
    pub fn live(mut self, real: Real, command: Vec<String>) -> Result<LivePlan, ScenarioError> {
        let machine_of_lab = self.machine.as_ref().filter(|_| real == Real::Host);
        let of_lab = [
            (self.policies.first().map(|asked| &asked.said), "a policy: a real kernel does what it does"),
            (self.ablate.as_ref().map(|asked| &asked.said), "an ablation: a real kernel cannot be taken apart"),
            (machine_of_lab.map(|asked| &asked.said), "a machine: the program runs on this one, without --kernel"),
            (self.prices.as_ref().map(|asked| &asked.said), "prices: time is real"),
            (self.memory.as_ref().map(|asked| &asked.said), "contents of memory: memory is as it is"),
        ];
        if let Some((said, what)) = of_lab.into_iter().find_map(|(said, what)| Some((said?, what))) {
            return Err(said.clone().error(Problem::OnlyInTheLab(what)));
        }
        self.load_recording()?;
        let (workload, chosen) = (self.workload, self.chosen);
        Ok(LivePlan {
            settings: with_demanded(workload.spec().settings(&chosen), self.settings),
            workload,
            chosen,
            seeds: self.seeds.unwrap_or_else(|| vec![1]),
            sample_every: self.every.unwrap_or(workload.spec().counters_every),
            machine: self.machine.map(|asked| asked.value),
            command,
        })
    }
}

impl LivePlan {
    /// Paths of the settings, and what is to be written there.
    pub fn paths(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let found = |name: &str| Setting::find(name).expect("a scenario has settings that there are").path;
        self.settings.iter().map(move |(name, value)| (found(name), value.as_str()))
    }

    /// The chosen parameters, and defaults on a machine with these facts.
    ///
    /// # Errors
    /// A parameter that the machine does not admit, or more than the machine can hold.
    pub fn parameters(&self, facts: &Facts) -> Result<Parameters, PlanError> {
        let parameters = crate::cell::parameters(self.workload, &self.chosen, facts)?;
        crate::limits::check(self.workload, self.sample_every, &parameters, facts)?;
        Ok(parameters)
    }
}
