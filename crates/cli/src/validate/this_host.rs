//! The kernel of this host. Its runs follow each other, so that each starts from memory as the one before has left it; that memory is
//! captured before each, and the lab starts from there.

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;

use super::about::{About, Clock, Kind};
use super::{Referee, usage};
use crate::bench::here::{Host, HostOptions};
use crate::failure::Failure;
use crate::source::{Wish, capture_quietly};

/// This host, whose memory is captured so many times in each experiment.
pub(super) struct ThisHost {
    host: Host,
    starts: u64,
}

impl ThisHost {
    pub(super) fn open(starts: u64) -> Result<Self, Failure> {
        Ok(Self { host: Host::open(HostOptions::default())?, starts })
    }

    /// Puts every setting back.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.host.close()
    }
}

impl Referee for ThisHost {
    fn title(&self) -> String {
        self.host.title()
    }

    fn about(&self) -> About {
        About { kind: Kind::Live, facts: self.host.facts().clone(), clock: Clock::Real, reserve: self.host.reserve() }
    }

    /// Files lie on a tmpfs of their own.
    fn storage(&self) -> Option<&MachineSpec> {
        None
    }

    fn starts(&mut self, _: &str) -> Result<usize, Failure> {
        usize::try_from(self.starts).map_err(usage)
    }

    /// Prices of memory work are measured, too: whether a hypervisor takes free pages back is known from nowhere else.
    fn start(&mut self, _: usize) -> Result<Snapshot, Failure> {
        capture_quietly(None, Wish { full_release: true, prices: true, ..Wish::default() })
    }

    fn runs(&self, _: usize, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure> {
        self.host.measure(plan, parameters).map(|measured| measured.runs)
    }
}
