//! A combination of everything but the seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use order9_lab::{Plan as Experiment, Settings, asked};
use order9_record::{Digest, Inputs};
use order9_units::Bytes;
use order9_workloads::Value;

use crate::axes::Axes;
use crate::cell::{Cell, PointInputs};
use crate::named::{self, Namer};
use crate::run::{self, Done};

/// A combination of policy, machine, memory, parameters and settings of one workload. With a seed it is a cell.
#[derive(Clone, Debug)]
pub struct Point {
    name: Digest,
    axes: Axes,
    /// The experiment under all policies, with other parameters and settings.
    stem: Arc<Experiment>,
    policy: usize,
    chosen: BTreeMap<&'static str, Value>,
    settings: Settings,
}

impl Point {
    /// The point of `stem` under one of its policies, with other parameters and settings.
    pub(crate) fn new(
        namer: &mut Namer,
        stem: &Arc<Experiment>,
        policy: usize,
        (chosen, settings): (BTreeMap<&'static str, Value>, Settings),
        axes: Axes,
    ) -> Self {
        let nameless = Digest::of_bytes(&[]);
        let mut point = Self { name: nameless, axes, stem: Arc::clone(stem), policy, chosen, settings };
        point.name = namer.point(&point.axes, &asked(&point.experiment(0)));
        point
    }

    /// The point of an experiment under its first policy, with `settings` behind its own. Seeds, and a guard of the policy, are not
    /// part of it.
    #[must_use]
    pub fn of(experiment: &Arc<Experiment>, settings: impl IntoIterator<Item = (String, String)>) -> Self {
        let settings: Settings = experiment.settings.iter().cloned().chain(settings).collect();
        let axes = Axes::of(experiment, &settings);
        Self::new(&mut Namer::default(), experiment, 0, (experiment.chosen.clone(), settings), axes)
    }

    /// The digest of everything that decides its cells, but for their seeds.
    #[must_use]
    pub const fn name(&self) -> Digest {
        self.name
    }

    /// Labels of the point.
    #[must_use]
    pub const fn axes(&self) -> &Axes {
        &self.axes
    }

    /// Name of the cell with this seed.
    #[must_use]
    pub fn cell_name(&self, seed: u64) -> Digest {
        named::cell(self.name, seed)
    }

    /// Everything that decides its cells, as a value that can be sent elsewhere.
    #[must_use]
    pub fn inputs(&self) -> PointInputs {
        let inputs = Inputs { seeds: Vec::new(), ..asked(&self.experiment(0)) };
        PointInputs { name: self.name, axes: self.axes.clone(), inputs }
    }

    /// The cell with this seed, as a value that can be sent elsewhere.
    #[must_use]
    pub fn cell(&self, seed: u64) -> Cell {
        Cell { point: Arc::new(self.inputs()), seed }
    }

    /// Runs the cell with this seed in this thread.
    #[must_use]
    pub fn run(&self, seed: u64) -> Done {
        run::run(self.cell_name(seed), self.axes.clone(), &self.experiment(seed))
    }

    /// Seeds that the plan gives it, where no stop rule does.
    pub(crate) fn seeds(&self) -> &[u64] {
        &self.stem.seeds
    }

    /// Memory of the host that a cell takes while it runs.
    #[must_use]
    pub fn needs(&self) -> Bytes {
        self.stem.needs()
    }

    /// Accesses that a cell makes, by which its time goes; `None` where its parameters do not fit the machine.
    pub(crate) fn steps(&self) -> Option<u64> {
        self.experiment(0).steps()
    }

    /// The experiment of one cell.
    fn experiment(&self, seed: u64) -> Experiment {
        let stem = &*self.stem;
        let policy = &stem.policies[self.policy];
        let own = stem.own_settings.get(&policy.name).cloned();
        Experiment {
            workload: stem.workload,
            chosen: self.chosen.clone(),
            policies: vec![policy.clone()],
            own_settings: own.into_iter().map(|own| (policy.name.clone(), own)).collect(),
            guards: BTreeMap::new(),
            ablation: None,
            machine: stem.machine.clone(),
            memory: stem.memory.clone(),
            cmdline: stem.cmdline.clone(),
            settings: self.settings.clone(),
            reserve: stem.reserve,
            seeds: vec![seed],
            same_lists: stem.same_lists,
            notes: Vec::new(),
            sample_every: stem.sample_every,
            sample_finely: stem.sample_finely,
            maps_every: None,
            check_every: stem.check_every,
            trace: stem.trace,
            command: Vec::new(),
        }
    }
}
