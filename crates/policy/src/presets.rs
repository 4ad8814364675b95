//! The policies that are built in: the files of `policies/`, those of placements of huge pages, and those of a series of patches.

use std::sync::LazyLock;

use order9_toml::Preset;

use crate::placements::PLACEMENTS;
use crate::series::SERIES;

/// Every built-in policy that can be named.
pub(crate) static ALL: LazyLock<Vec<Preset>> =
    LazyLock::new(|| PRESETS.iter().chain(&*PLACEMENTS).chain(&*SERIES).copied().collect());

/// The files, oldest first.
pub(crate) static PRESETS: &[Preset] = order9_toml::presets![
    "../../../policies/":
    "linux-4.4",
    "linux-4.4-nodefrag",
    "linux-4.19",
    "linux-4.19-relaxthisnode",
    "linux-4.19-noretry",
    "linux-5.0",
    "linux-5.1",
    "linux-5.3-rc3",
    "linux-5.3-shrinker",
    "linux-5.6",
    "linux-5.9",
    "linux-5.10",
    "linux-5.10-lts",
    "linux-6.1",
    "linux-6.1-lts",
    "linux-6.6",
    "linux-6.6-lts",
    "linux-6.12",
    "linux-6.12-lts",
    "linux-6.18",
    "linux-6.18-lts",
    "linux-7.2",
    "order9",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<_> = PRESETS.iter().map(|preset| format!("{}.toml", preset.name)).collect();
        assert_eq!(files.collect::<BTreeSet<_>>(), names);
    }
}
