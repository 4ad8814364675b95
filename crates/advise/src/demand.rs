//! The program that runs on the copy and stands for what the host will be asked for.

use std::fmt;

use order9_lab::scenario::{Scenario, ScenarioError};
use order9_workloads::Workload;

use crate::trial::Trial;

/// A program with the parameters that were chosen for it.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The program.
    pub program: Workload,
    /// Parameters of the program, `KEY=VALUE`.
    pub parameters: Vec<String>,
}

/// Parameters of the program that stands for a demand where nobody names one. Daemons get time before it starts and after.
const DEFAULTS: [&str; 3] = ["madvise=yes", "pause=10s", "hold=20s"];

impl Demand {
    /// A scenario of the program on the copy.
    pub(crate) fn scenario(&self, trial: &Trial) -> Result<Scenario, ScenarioError> {
        let mut scenario = trial.scenario(self.program)?;
        for parameter in self.chosen() {
            scenario.argument("--param", parameter)?;
        }
        Ok(scenario)
    }

    /// Whether the parameter of this name was chosen, or is one of the defaults.
    pub(crate) fn chooses(&self, key: &str) -> bool {
        self.chosen().any(|chosen| chosen.split('=').next() == Some(key))
    }

    /// The demand with parameters that another question has by default, where it is the usual program and nobody replaces them.
    #[must_use]
    pub fn with_defaults(mut self, defaults: &[&str]) -> Self {
        let kept: Vec<String> = self.kept(defaults).map(str::to_owned).collect();
        self.parameters.splice(0..0, kept);
        self
    }

    /// Parameters of the program: the defaults that nobody replaces, and those that were chosen.
    fn chosen(&self) -> impl Iterator<Item = &str> {
        self.kept(&DEFAULTS).chain(self.parameters.iter().map(String::as_str))
    }

    /// Parameters of `defaults` that nobody replaces; none where it is not the usual program.
    fn kept<'a>(&'a self, defaults: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        let key = |text: &str| text.split('=').next().map(str::to_owned);
        let is_replaced = move |text: &&str| self.parameters.iter().any(|chosen| key(chosen) == key(text));
        let defaults = if self.program == Workload::MapAndWrite { defaults } else { &[] };
        defaults.iter().copied().filter(move |text| !is_replaced(text))
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program.name())?;
        self.chosen().try_for_each(|parameter| write!(f, " {parameter}"))
    }
}
