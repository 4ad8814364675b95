//! The kernel of this host. Its runs follow each other, so that each starts from memory as the one before has left it; the lab starts from
//! the memory before the first.

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;

use super::Referee;
use super::about::{About, Clock, Kind};
use crate::bench::here::{Host, HostOptions};
use crate::failure::Failure;
use crate::source::{Wish, capture_quietly};

/// This host.
pub(super) struct ThisHost(Host);

impl ThisHost {
    pub(super) fn open() -> Result<Self, Failure> {
        Host::open(HostOptions::default()).map(Self)
    }

    /// Puts every setting back.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.0.close()
    }
}

impl Referee for ThisHost {
    fn title(&self) -> String {
        self.0.title()
    }

    fn about(&self) -> About {
        About { kind: Kind::Live, facts: self.0.facts().clone(), clock: Clock::Real }
    }

    /// Files lie on a tmpfs of their own.
    fn storage(&self) -> Option<&MachineSpec> {
        None
    }

    /// What memory work costs is measured, too: whether a hypervisor takes free pages back is known from nowhere else.
    fn starts(&mut self, _: &str) -> Result<Vec<Snapshot>, Failure> {
        Ok(vec![capture_quietly(None, Wish { full_release: true, prices: true, ..Wish::default() })?])
    }

    fn runs(&self, _: usize, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure> {
        self.0.measure(plan, parameters).map(|measured| measured.runs)
    }
}
