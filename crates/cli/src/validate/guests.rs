//! A kernel in guests: each boots once, and each run resumes from the saved state of one of them.

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_referee::guest::{Accel, Guest, GuestSpec, Saved};
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;

use super::about::{About, Clock, Kind};
use super::{Referee, usage};
use crate::bench::guest::{Booted, in_guest, job, title};
use crate::failure::Failure;

/// Saved guests with one kernel.
pub(super) struct Guests {
    title: String,
    facts: order9_live::Facts,
    notes: Vec<String>,
    accel: Accel,
    /// Each guest, with its memory.
    starts: Vec<(Snapshot, Saved)>,
    machine: Option<MachineSpec>,
}

impl Guests {
    /// Boots `starts` guests, at least one, maps the memory of each and saves it. Their title differs from those of `others`. What is known
    /// of the machine is what the first one says.
    pub(super) fn boot(
        spec: &GuestSpec,
        deterministic: bool,
        starts: u64,
        others: &[String],
        machine: Option<MachineSpec>,
    ) -> Result<Self, Failure> {
        let Booted { guest, facts, notes } = Booted::new(spec, deterministic)?;
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let (title, accel) = (title(&facts.kernel, &others), guest.accel());
        let mut all = vec![map_and_save(guest)?];
        for other in 1..starts {
            let booted = Booted::new(&GuestSpec { seed: spec.seed + other, ..spec.clone() }, deterministic)?;
            all.push(map_and_save(booted.guest)?);
        }
        Ok(Self { title, facts, notes, accel, starts: all, machine })
    }
}

fn map_and_save(mut guest: Guest) -> Result<(Snapshot, Saved), Failure> {
    let start = guest.map().map_err(usage)?;
    Ok((start, guest.save().map_err(usage)?))
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

    fn starts(&mut self, _: &str) -> Result<Vec<Snapshot>, Failure> {
        Ok(self.starts.iter().map(|(start, _)| start.clone()).collect())
    }

    fn runs(&self, start: usize, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure> {
        let (_, saved) = &self.starts[start];
        let run = |&seed: &u64| {
            let job = job(plan, parameters, seed, false, &[]);
            Ok(in_guest(saved, &job, &self.title, &self.notes)?.run)
        };
        plan.seeds.iter().map(run).collect()
    }
}
