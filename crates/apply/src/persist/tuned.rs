//! A profile of TuneD (tuned.conf(5)), on top of the one in force.

use super::{Form, HEADER, Kept, Kind};
use crate::root::Root;

const PROFILE: &str = "order9";
/// Name of the profile in force.
const ACTIVE: &str = "/etc/tuned/active_profile";
/// Place of an administrator's profiles where TuneD has them in a folder of their own, as it does from 2.24 on.
const PROFILES: &str = "/etc/tuned/profiles";

/// Options of TuneD's plugin `vm`, by the settings that they set.
const VM: [(&str, &str); 2] = [("thp/enabled", "transparent_hugepages"), ("thp/defrag", "transparent_hugepage.defrag")];

pub(super) fn form(held: &[Kept], root: &Root) -> Form {
    let has_folder = root.missing_folders(&format!("{PROFILES}/")).is_ok_and(|missing| missing.is_empty());
    let folder = if has_folder { PROFILES } else { "/etc/tuned" };
    let path = format!("{folder}/{PROFILE}/tuned.conf");
    let include = base(root, &path).map(|base| format!("include={base}\n")).unwrap_or_default();
    let vm = |kept: &Kept| VM.iter().find(|(name, _)| *name == kept.name()).map(|(_, option)| (*option).to_owned());
    let sysctl = |kept: &Kept| kept.target.is_sysctl().then(|| kept.name().to_owned());
    let sysfs = |kept: &Kept| (sysctl(kept).is_none() && vm(kept).is_none()).then(|| kept.path().to_owned());
    let sections = [section("sysctl", held, &sysctl), section("vm", held, &vm), section("sysfs", held, &sysfs)];
    let text = format!("{HEADER}[main]\nsummary=Memory settings of order9\n{include}{}", sections.concat());
    Form { kind: Kind::Tuned, path: Some(path), text }
}

/// A section with the settings that have a key in it; nothing where none has.
fn section(name: &str, held: &[Kept], key: &dyn Fn(&Kept) -> Option<String>) -> String {
    let lines: String = held.iter().filter_map(|kept| Some(format!("{}={}\n", key(kept)?, kept.value))).collect();
    if lines.is_empty() { lines } else { format!("\n[{name}]\n{lines}") }
}

/// The profile to build on: the one in force, or the one that order9's own builds on.
fn base(root: &Root, path: &str) -> Option<String> {
    let active = root.read(ACTIVE).ok()?;
    let active = active.trim();
    if active != PROFILE {
        return (!active.is_empty()).then(|| active.to_owned());
    }
    let own = root.read(path).ok()?;
    own.lines().find_map(|line| line.strip_prefix("include=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::tests::kept;
    use super::*;

    #[test]
    fn a_profile_builds_on_the_one_in_force() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::directory(directory.path());
        root.put(ACTIVE, "throughput-performance\n").expect("it can be written");
        let Form { path, text, .. } = form(&kept(), &root);
        let expected = "# Written by `order9 apply`. `order9 undo` removes it.\n\
                        [main]\n\
                        summary=Memory settings of order9\n\
                        include=throughput-performance\n\
                        \n\
                        [sysctl]\n\
                        vm.compaction_proactiveness=60\n\
                        vm.lowmem_reserve_ratio=256 128 32\n\
                        \n\
                        [vm]\n\
                        transparent_hugepages=madvise\n\
                        transparent_hugepage.defrag=defer+madvise\n\
                        \n\
                        [sysfs]\n\
                        /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled=always\n";
        assert_eq!((path.as_deref(), text.as_str()), (Some("/etc/tuned/order9/tuned.conf"), expected));
        // Once it is in force itself, it still builds on the other one.
        root.put("/etc/tuned/order9/tuned.conf", &text).expect("it can be written");
        root.put(ACTIVE, "order9\n").expect("it can be written");
        assert_eq!(form(&kept(), &root).text, expected);
    }

    #[test]
    fn profiles_lie_where_this_tuned_has_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::directory(directory.path());
        root.put("/etc/tuned/profiles/other/tuned.conf", "").expect("it can be written");
        let Form { path, text, .. } = form(&kept()[..1], &root);
        assert_eq!(path.as_deref(), Some("/etc/tuned/profiles/order9/tuned.conf"));
        assert!(text.ends_with("order9\n\n[sysctl]\nvm.compaction_proactiveness=60\n"), "{text}");
    }
}
