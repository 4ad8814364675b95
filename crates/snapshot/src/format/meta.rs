//! The META section: the model without frames and block types, as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use order9_units::{Pages, PfnRange};
use serde::{Deserialize, Serialize};

use crate::{Calibration, CaptureCost, DaemonWork, Machine, Missing, NodeInfo, Pressure, Snapshot, Source, ZoneInfo};

/// Contents of the section. Fields that a newer minor version adds are ignored.
#[derive(Serialize, Deserialize)]
pub(super) struct Meta<'a> {
    source: Cow<'a, Source>,
    machine: Cow<'a, Machine>,
    nodes: Cow<'a, [NodeInfo]>,
    zones: Cow<'a, [ZoneInfo]>,
    ram: Cow<'a, [PfnRange]>,
    offline: Cow<'a, [PfnRange]>,
    settings: Cow<'a, BTreeMap<String, String>>,
    vmstat: Cow<'a, BTreeMap<String, u64>>,
    meminfo: Cow<'a, BTreeMap<String, u64>>,
    pressure: Option<Pressure>,
    missing: Cow<'a, [Missing]>,
    cost: CaptureCost,
    /// Work of the daemons meanwhile; since version 1.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    daemons: Option<DaemonWork>,
    /// Prices measured on the host; since version 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Calibration>,
    /// Frames in the FRAM sections; `None` where there is no map.
    pub(super) frames: Option<Pages>,
    /// Pageblocks in the TYPE section; `None` where their types are unknown.
    pub(super) blocks: Option<u64>,
}

impl<'a> Meta<'a> {
    /// The part of a snapshot that this section holds.
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        // Names every field, so that a new one cannot be forgotten here.
        let Snapshot {
            source,
            machine,
            nodes,
            zones,
            ram,
            offline,
            frames,
            block_types,
            settings,
            vmstat,
            meminfo,
            pressure,
            missing,
            cost,
            daemons,
            calibration,
            owners: _,
        } = snapshot;
        Self {
            source: Cow::Borrowed(source),
            machine: Cow::Borrowed(machine),
            nodes: Cow::Borrowed(nodes),
            zones: Cow::Borrowed(zones),
            ram: Cow::Borrowed(ram),
            offline: Cow::Borrowed(offline),
            settings: Cow::Borrowed(settings),
            vmstat: Cow::Borrowed(vmstat),
            meminfo: Cow::Borrowed(meminfo),
            pressure: *pressure,
            missing: Cow::Borrowed(missing),
            cost: *cost,
            daemons: *daemons,
            calibration: *calibration,
            frames: frames.as_ref().map(|frames| frames.len()),
            blocks: block_types.as_ref().map(|types| types.len() as u64),
        }
    }

    /// A snapshot with this part, still without frames and block types.
    pub(super) fn into_snapshot(self) -> Snapshot {
        Snapshot {
            source: self.source.into_owned(),
            machine: self.machine.into_owned(),
            nodes: self.nodes.into_owned(),
            zones: self.zones.into_owned(),
            ram: self.ram.into_owned(),
            offline: self.offline.into_owned(),
            frames: None,
            block_types: None,
            settings: self.settings.into_owned(),
            vmstat: self.vmstat.into_owned(),
            meminfo: self.meminfo.into_owned(),
            pressure: self.pressure,
            missing: self.missing.into_owned(),
            cost: self.cost,
            daemons: self.daemons,
            calibration: self.calibration,
            owners: None,
        }
    }
}
