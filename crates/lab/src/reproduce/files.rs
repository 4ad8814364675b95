//! Files that are built in: claims, the table of experiments, causes, and scenarios that the table names.

use order9_report::claims::{Claim, parse};
use order9_toml::Preset;

/// The table of experiments, and its name in messages.
pub(super) const EXPERIMENTS: (&str, &str) =
    ("claims/reproduce/experiments.toml", include_str!("../../../../claims/reproduce/experiments.toml"));

/// Causes of statements that do not hold.
pub(super) const CAUSES: &str = include_str!("../../../../claims/reproduce/causes.toml");

/// Every claim.
static CLAIMS: &[Preset] = order9_toml::presets![
    "../../../../claims/":
    "000-hugealloc-latency",
    "000-java-heap",
    "000-score-cycle",
    "000-unmovable-backoff",
    "001-fsmark-small-file-stream",
    "002-stutter",
    "002-thp-document",
    "002-thpscale-huge",
    "002-thpscale-latency",
    "002-usemem",
    "003-thpscale-huge",
    "003-thpscale-latency",
    "004-access-latency",
    "004-fragmented-nodes-fault-latency",
    "004-thpfioscale-default-huge-noretry",
    "004-thpfioscale-default-huge-relaxthisnode",
    "004-thpfioscale-default-latency-noretry",
    "004-thpfioscale-default-latency-relaxthisnode",
    "004-thpfioscale-madvhugepage-latency-noretry",
    "004-thpfioscale-madvhugepage-latency-relaxthisnode",
    "004-thread-figures",
    "004-usemem-numa-compact-noretry",
    "004-usemem-numa-compact-relaxthisnode",
    "004-vm-larger-than-node-stall",
];

/// Scenarios that experiments are made of.
static SCENARIOS: &[Preset] =
    order9_toml::presets!["../../../../scenarios/": "stutter-aged", "thpfioscale", "usemem-numa-compact"];

/// Every claim, in the order of the names of their files.
///
/// # Panics
/// Never, as long as the files are what their tests saw.
#[must_use]
pub fn claims() -> Vec<Claim> {
    let claim =
        |preset: &Preset| parse(&format!("{}.toml", preset.name), preset.text).expect("a test reads every claim");
    CLAIMS.iter().map(claim).collect()
}

/// The scenario file of this name, and the names of all.
pub(super) fn scenario(name: &str) -> Result<&'static str, Vec<&'static str>> {
    let found = SCENARIOS.iter().find(|preset| preset.name == name);
    found.map(|preset| preset.text).ok_or_else(|| SCENARIOS.iter().map(|preset| preset.name).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_claim_of_the_folder_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> = files.filter(|name| name.ends_with(".toml")).collect();
        let names: BTreeSet<String> = claims().iter().map(|claim| format!("{}.toml", claim.id)).collect();
        assert_eq!(files, names);
    }
}
