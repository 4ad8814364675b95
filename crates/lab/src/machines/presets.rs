//! The machines that are built in: the files of `machines/`.

use order9_toml::Preset;

/// Every built-in machine, smallest first.
pub(super) static PRESETS: &[Preset] = order9_toml::presets![
    "../../../../machines/":
    "guest-zram",
    "guest-disk",
    "guest-disk-zram",
    "guest-2n",
    "desktop-8g",
    "xeon-1s",
    "epyc-vm",
    "xeon-2s",
    "xeon-2s-ssd",
    "xeon-2s-8",
    "broadwell-2s",
    "rome-2s",
    "threadripper-1950x",
    "threadripper-guest",
    "spr-2s",
    "spr-cxl",
    "naples-2s",
    "naples-2s-seek",
    "server-1t",
];

/// Former names: what was measured on one host is not what every host is.
pub(super) static RENAMED: &[(&str, &str)] = &[("this-host", "epyc-vm")];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<_> = PRESETS.iter().map(|preset| format!("{}.toml", preset.name)).collect();
        assert_eq!(files.collect::<BTreeSet<_>>(), names);
    }
}
