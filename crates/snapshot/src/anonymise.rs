//! Anonymous snapshots: nothing but what an inspection reads, so that its numbers stay and the host is hard to recognise.

use crate::{CaptureCost, Snapshot};

/// Counters of nodes and zones that `inspect` and `ask` read.
const OF_PLACES: [&str; 3] = ["nr_slab_reclaimable", "nr_inactive_file", "nr_active_file"];
/// Lines of /proc/meminfo that `advise` and the default demand of `what-if` read.
const OF_MEMINFO: [&str; 5] = ["MemAvailable", "SwapTotal", "HugePages_Total", "HugePages_Free", "HugePages_Rsvd"];

impl Snapshot {
    /// Drops the owners of memory, the command line, the release beyond its first two numbers, the time since boot, stall times, the cost of
    /// the capture, and every counter that an inspection does not show. Frames, zones, settings, measured prices and the work of daemons
    /// meanwhile stay.
    pub fn anonymise(&mut self) {
        let machine = &mut self.machine;
        machine.kernel_command_line.clear();
        machine.kernel_parameters_dropped = 0;
        machine.kernel_release = series(&machine.kernel_release);
        machine.uptime = None;
        self.pressure = None;
        self.owners = None;
        self.cost = CaptureCost::default();
        self.vmstat.retain(|name, _| crate::inspection::shows_counter(name));
        self.meminfo.retain(|name, _| OF_MEMINFO.contains(&name.as_str()));
        let of_nodes = self.nodes.iter_mut().map(|node| &mut node.counters);
        let of_zones = self.zones.iter_mut().map(|zone| &mut zone.counters);
        of_nodes.chain(of_zones).for_each(|counters| counters.retain(|name, _| OF_PLACES.contains(&name.as_str())));
    }
}

/// The first two numbers of a release; nothing where it has not so many.
fn series(release: &str) -> String {
    let numbers: Vec<&str> =
        release.split(|c: char| !c.is_ascii_digit()).take(2).filter(|part| !part.is_empty()).collect();
    if numbers.len() == 2 { numbers.join(".") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::Census;
    use crate::inspection::Inspection;
    use crate::owners::Owners;
    use crate::prices::Prices;
    use crate::synth::{SynthSpec, synth};

    #[test]
    fn the_release_ends_with_its_second_number() {
        for (release, expected) in
            [("6.12.3-acme-web7", "6.12"), ("5.14.0-503.el9", "5.14"), ("6.8", "6.8"), ("lab", ""), ("", "")]
        {
            assert_eq!(series(release), expected);
        }
    }

    #[test]
    fn an_inspection_says_the_same_numbers() {
        let (mut snapshot, _) = synth(&SynthSpec::default()).expect("a machine");
        snapshot.machine.kernel_release = "6.8.12-acme".to_owned();
        snapshot.machine.kernel_command_line = "hugepages=8".to_owned();
        snapshot.vmstat.extend([("thp_fault_alloc".to_owned(), 7), ("pgfault".to_owned(), 12_345)]);
        let mut anonymous = snapshot.clone();
        anonymous.owners = Some(Owners::default());
        anonymous.anonymise();
        let [before, after] = [&snapshot, &anonymous].map(|snapshot| {
            let census = Census::of(snapshot).expect("a sound map");
            Inspection::of(snapshot, Some(&census), &Prices::of(snapshot))
        });
        assert_eq!((&after.total, &after.nodes, &after.settings), (&before.total, &before.nodes, &before.settings));
        assert_eq!(after.counters, before.counters);
        assert_eq!((after.machine.kernel_release.as_str(), after.machine.uptime), ("6.8", None));
        assert!(anonymous.owners.is_none());
        assert!(!anonymous.vmstat.contains_key("pgfault") && anonymous.machine.kernel_command_line.is_empty());
    }
}
