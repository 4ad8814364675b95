//! A kernel in a guest, which boots once; each run resumes from its saved state.

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_referee::guest::{Accel, GuestSpec, Saved};
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;

use super::about::{About, Clock, Kind};
use super::{Referee, usage};
use crate::bench::guest::{Booted, in_guest, job, title};
use crate::failure::Failure;

/// A saved guest.
pub(super) struct Guests {
    title: String,
    facts: order9_live::Facts,
    notes: Vec<String>,
    accel: Accel,
    start: Snapshot,
    saved: Saved,
    machine: Option<MachineSpec>,
}

impl Guests {
    /// Boots the guest, maps its memory and saves it. Its title differs from those of `others`.
    pub(super) fn boot(
        spec: &GuestSpec,
        deterministic: bool,
        others: &[String],
        machine: Option<MachineSpec>,
    ) -> Result<Self, Failure> {
        let Booted { mut guest, facts, notes } = Booted::new(spec, deterministic)?;
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let (title, accel) = (title(&facts.kernel, &others), guest.accel());
        let start = guest.map().map_err(usage)?;
        let saved = guest.save().map_err(usage)?;
        Ok(Self { title, facts, notes, accel, start, saved, machine })
    }
}

impl Referee for Guests {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn about(&self) -> About {
        let clock = match self.accel {
            Accel::Kvm => Clock::Real,
            Accel::Counted => Clock::Counted,
            Accel::Tcg => Clock::Translated,
        };
        About { kind: Kind::Guest, facts: self.facts.clone(), clock }
    }

    fn storage(&self) -> Option<&MachineSpec> {
        self.machine.as_ref()
    }

    fn start(&mut self, _: &str) -> Result<Snapshot, Failure> {
        Ok(self.start.clone())
    }

    fn runs(&self, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure> {
        let run = |&seed: &u64| {
            let job = job(plan, parameters, seed, false, &[]);
            Ok(in_guest(&self.saved, &job, &self.title, &self.notes)?.run)
        };
        plan.seeds.iter().map(run).collect()
    }
}
