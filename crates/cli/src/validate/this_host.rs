//! The kernel of this host. Its runs follow each other, so that each starts from memory as the one before has left it; that memory is
//! captured before each, and the lab starts from there.

use std::path::PathBuf;

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_snapshot::Snapshot;
use order9_units::Pages;
use order9_workloads::Parameters;

use super::about::{About, Clock, Kind};
use super::{Referee, usage};
use crate::bench::here::{Host, HostOptions};
use crate::failure::Failure;
use crate::source::{When, Wish, capture_quietly};

/// This host, whose memory is captured so many times in each experiment.
pub(super) struct ThisHost {
    host: Host,
    starts: u64,
    /// Whether files lie on a disk, and not on a tmpfs.
    files_on_disk: bool,
}

impl ThisHost {
    pub(super) fn open(starts: u64, files: Option<PathBuf>) -> Result<Self, Failure> {
        let files_on_disk = files.is_some();
        Ok(Self { host: Host::open(HostOptions { files, ..HostOptions::default() })?, starts, files_on_disk })
    }

    /// Reason why experiments on a machine cannot run here.
    pub(super) fn lacks(&self, machine: &MachineSpec) -> Option<&'static str> {
        let has_swap = machine.disks.iter().any(|disk| disk.swap != Pages::ZERO);
        if machine.nodes.len() > self.host.facts().nodes.len() {
            Some("this host has fewer nodes")
        } else if has_swap {
            Some("swap of this host is none of the lab's")
        } else if machine.file_disk().is_some() && !self.files_on_disk {
            Some("--files has to name a directory on a disk")
        } else {
            None
        }
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
        let (facts, reserve) = (self.host.facts().clone(), self.host.reserve());
        About { kind: Kind::Live, facts, clock: Clock::Real, reserve, files_on_disk: self.files_on_disk }
    }

    /// The lab's disk is that of the prices.
    fn storage(&self) -> Option<&MachineSpec> {
        None
    }

    fn starts(&mut self, _: &str) -> Result<usize, Failure> {
        usize::try_from(self.starts).map_err(usage)
    }

    /// Prices of memory work are measured, too: whether a hypervisor takes free pages back is known from nowhere else.
    fn start(&mut self, _: usize) -> Result<Snapshot, Failure> {
        capture_quietly(None, Wish { full_release: true, prices: When::Before, ..Wish::default() })
    }

    fn runs(&self, _: usize, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure> {
        self.host.measure(plan, parameters).map(|measured| measured.runs)
    }
}
