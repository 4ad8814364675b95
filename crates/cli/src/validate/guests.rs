//! A kernel in guests: each boots once, and each run resumes from the saved state of one of them.

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_referee::guest::{Accel, Guest, GuestSpec, Saved};
use order9_snapshot::Snapshot;
use order9_units::Bytes;
use order9_workloads::Parameters;

use super::about::{About, Clock, Kind};
use super::{Referee, usage};
use crate::bench::guest::{Booted, in_guest, job};
use crate::failure::Failure;

/// Guests to boot, by numbers that decide their random numbers: from the first one on, less than `starts`.
pub(super) struct Boots {
    /// Title of the kernel, which differs from those of others.
    pub(super) title: String,
    /// Number of the first.
    pub(super) first: u64,
    /// Number past the last.
    pub(super) starts: u64,
    /// Whether their time is counted instructions.
    pub(super) deterministic: bool,
}

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
    /// Maps the memory of each guest that was asked for and saves it: of `first`, which has booted, unless others come before it, and of
    /// those that boot now. What is known of the machine is what `first` says.
    pub(super) fn boot(
        first: Booted,
        spec: &GuestSpec,
        boots: &Boots,
        machine: Option<MachineSpec>,
    ) -> Result<Self, Failure> {
        let Booted { guest, facts, notes } = first;
        let accel = guest.accel();
        let mut starts = Vec::new();
        match boots.first {
            0 => starts.push(map_and_save(guest)?),
            _ => drop(guest),
        }
        for number in boots.first.max(1)..boots.starts {
            let booted = Booted::new(&GuestSpec { seed: spec.seed + number, ..spec.clone() }, boots.deterministic)?;
            starts.push(map_and_save(booted.guest)?);
        }
        Ok(Self { title: boots.title.clone(), facts, notes, accel, starts, machine })
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
        let facts = self.facts.clone();
        About { kind: Kind::Guest, facts, clock, reserve: Bytes::ZERO, files_on_disk: false }
    }

    fn storage(&self) -> Option<&MachineSpec> {
        self.machine.as_ref()
    }

    fn starts(&mut self, _: &str) -> Result<usize, Failure> {
        Ok(self.starts.len())
    }

    fn start(&mut self, number: usize) -> Result<Snapshot, Failure> {
        Ok(self.starts[number].0.clone())
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
