//! Policies of each placement of huge pages (`thp-thisnode`), and of what else was proposed with them.
//!
//! Each is what the discussion of 2018 compared: the kernel of that time, with one thing changed.

use std::sync::LazyLock;

use order9_mm::policy::HugePlacement;
use order9_toml::Preset;

/// The kernel that the discussion was about.
const BASE: &str = "linux-4.19";

/// Proposals that are no placement: how compaction deals with other nodes once faults may look there.
const BESIDE: &[(&str, &str, &str)] = &[
    (
        "thp-node-deferral",
        "any node, of which remote ones are left alone for longer",
        "compaction.defer_remote_cap = 10",
    ),
    (
        "thp-stop-at-fragmented",
        "any node, up to the first remote one that is fragmented throughout",
        "compaction.stop_at_fragmented_remote = true",
    ),
];

/// The policies, in the order of the placements.
pub(crate) static PLACEMENTS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    let placements = HugePlacement::ALL.iter().map(|placement| {
        let name = placement.name();
        let summary = format!("huge pages placed by {name} ({})", placement.rule().origin);
        preset(format!("thp-{}", name.replace('_', "-")), &summary, &sets(name))
    });
    let beside = BESIDE.iter().map(|&(name, says, switch)| {
        let also = format!("{}{switch}\n", sets(HugePlacement::Relax.name()));
        preset(name.to_owned(), &format!("huge pages from {says} (proposed in 2018)"), &also)
    });
    placements.chain(beside).collect()
});

fn sets(placement: &str) -> String {
    format!("thp.placement = \"{placement}\"\n")
}

fn preset(name: String, summary: &str, sets: &str) -> Preset {
    let text = format!("base = \"{BASE}\"\nsummary = \"Linux 4.19, {summary}\"\n{sets}");
    // Built once, and used for as long as the program runs.
    Preset { name: name.leak(), text: text.leak() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    #[test]
    fn each_has_the_placement_of_its_name() {
        for (preset, placement) in PLACEMENTS.iter().zip(HugePlacement::ALL) {
            let loaded = load(preset.name).unwrap();
            assert_eq!(loaded.policy.thp.placement, *placement);
            assert_eq!(preset.name, format!("thp-{}", placement.name().replace('_', "-")));
        }
        assert_eq!(load("thp-thisnode").unwrap().policy, load(BASE).unwrap().policy, "the kernel as it was");
        assert_eq!(load("thp-relax").unwrap().policy, load("linux-4.19-relaxthisnode").unwrap().policy);
    }

    #[test]
    fn proposals_beside_placements_change_one_thing_of_relax() {
        let relax = load("thp-relax").unwrap();
        for &(name, ..) in BESIDE {
            let loaded = load(name).unwrap();
            assert_eq!(crate::Diff::new(&relax, &loaded).differences.len(), 1, "{name}");
        }
    }
}
