//! Parameters of the kernel (admin-guide/kernel-parameters.rst), to be added to a boot loader by hand.

use std::fmt::Write as _;

use super::{Form, Kept, Kind};
use crate::releases::Release;
use crate::target::of_2_mib;

/// A parameter with what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    /// A word of its own.
    Word(String),
    /// Part of a parameter that names sizes of pages: its name, the size and the mode.
    OfSize(&'static str, String),
}

/// Parameters that say what a file says.
const SAME: [(&str, &str); 4] = [
    ("thp/enabled", "transparent_hugepage"),
    ("thp/shmem_enabled", "transparent_hugepage_shmem"),
    ("vm.nr_hugepages", "hugepages"),
    ("hugetlb/nr_hugepages", "hugepagesz=2M hugepages"),
];

/// Parameters of files that each size of pages has.
const BY_SIZE: [(&str, &str); 2] =
    [("thp/hugepages-2048kB/enabled", "thp_anon"), ("thp/hugepages-2048kB/shmem_enabled", "thp_shmem")];

/// The parameter that says what the setting says; `None` where there is none.
pub(super) fn parameter(kept: &Kept, release: Option<Release>) -> Option<Parameter> {
    let value = &kept.value;
    if let Some((_, name)) = SAME.iter().find(|(of, _)| *of == kept.name()) {
        return Some(Parameter::Word(format!("{name}={value}")));
    }
    if let Some(size) = pool_size(kept) {
        return Some(Parameter::Word(format!("hugepagesz={size} hugepages={value}")));
    }
    if let Some((_, name)) = BY_SIZE.iter().find(|(of, _)| *of == of_2_mib(kept.target.setting.name)) {
        return Some(Parameter::OfSize(name, format!("{}:{value}", size(kept.name())?)));
    }
    let takes_sysctls = release.is_none_or(|release| release >= Release::SYSCTL_PARAMETERS);
    let quoted = if value.contains(' ') { format!("\"{value}\"") } else { value.clone() };
    (kept.target.is_sysctl() && takes_sysctls).then(|| Parameter::Word(format!("sysctl.{}={quoted}", kept.name())))
}

/// The size of the pages whose pool the setting sizes.
fn pool_size(kept: &Kept) -> Option<String> {
    if kept.target.setting.name == "hugetlb/nr_hugepages" { size(kept.path()) } else { None }
}

/// The size of pages in a name: `64K`, `2M`, `1G`.
fn size(name: &str) -> Option<String> {
    let (_, rest) = name.split_once("hugepages-")?;
    let kib: u64 = rest.split_once("kB")?.0.parse().ok()?;
    let units = [(1 << 20, "G"), (1 << 10, "M"), (1, "K")];
    units.iter().find(|(unit, _)| kib.is_multiple_of(*unit)).map(|(unit, word)| format!("{}{word}", kib / unit))
}

pub(super) fn form(held: &[Kept], release: Option<Release>) -> Form {
    let parameters: Vec<_> = held.iter().map(|kept| (kept, parameter(kept, release))).collect();
    let mut words: Vec<String> = Vec::new();
    for (_, name) in BY_SIZE {
        let sizes = parameters.iter().filter_map(|(_, parameter)| match parameter {
            Some(Parameter::OfSize(of, size)) if *of == name => Some(size.as_str()),
            _ => None,
        });
        let mut sizes: Vec<_> = sizes.collect();
        if !sizes.is_empty() {
            if !sizes.iter().any(|size| size.starts_with("2M:")) {
                sizes.push("2M:inherit"); // As without the parameter.
            }
            words.push(format!("{name}={}", sizes.join(";")));
        }
    }
    let has_sizes = !words.is_empty();
    words.extend(parameters.iter().filter_map(|(_, parameter)| match parameter {
        Some(Parameter::Word(word)) => Some(word.clone()),
        _ => None,
    }));
    let mut text = words.join(" ") + "\n";
    if has_sizes {
        text += "# thp_anon= and thp_shmem= set every size that they do not name to never; 2M:inherit is what 2 MiB has without them.\n";
    }
    let lacking: Vec<_> =
        parameters.iter().filter(|(_, parameter)| parameter.is_none()).map(|(kept, _)| kept.name()).collect();
    if !lacking.is_empty() {
        writeln!(text, "# Without a parameter: {}.", lacking.join(", ")).expect("text can be written");
    }
    Form { kind: Kind::Cmdline, path: None, text: text.trim_start().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::kept;
    use super::*;
    use crate::target::Target;

    #[test]
    fn what_has_no_parameter_is_named() {
        let text = "thp_anon=64K:always;2M:inherit sysctl.vm.compaction_proactiveness=60 sysctl.vm.lowmem_reserve_ratio=\"256 128 32\" \
                    transparent_hugepage=madvise\n\
                    # thp_anon= and thp_shmem= set every size that they do not name to never; 2M:inherit is what 2 MiB has without them.\n\
                    # Without a parameter: thp/defrag.\n";
        assert_eq!(form(&kept(), Release::parse("6.12")).text, text);
        let text = "# Without a parameter: vm.compaction_proactiveness.\n";
        assert_eq!(form(&kept()[..1], Release::parse("5.4")).text, text);
    }

    #[test]
    fn pools_have_parameters_by_size() {
        let of = |name: &str| form(&[Kept::new(&Target::find(name).expect("a setting"), "4")], None).text;
        assert_eq!(of("vm.nr_hugepages"), "hugepages=4\n");
        assert_eq!(of("hugetlb/nr_hugepages"), "hugepagesz=2M hugepages=4\n");
        assert_eq!(of("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"), "hugepagesz=1G hugepages=4\n");
    }
}
