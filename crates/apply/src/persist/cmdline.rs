//! Parameters of the kernel (admin-guide/kernel-parameters.rst), to be added to a boot loader by hand.
//!
//! The kernel reads them from left to right. `hugepages=` counts for the `hugepagesz=` before it, and where there is none, for the pool of the
//! default size; a pool that is named twice keeps its first size. Parameters `sysctl.` are written by the end of the boot, and override what
//! others have set.

use std::fmt::Write as _;

use super::{Form, Kept, Kind};
use crate::releases::Release;
use crate::root::Root;
use crate::target::of_2_mib;

/// A parameter with what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    /// A word of its own.
    Word(String),
    /// A mode of pages of one size: the name of the parameter, the size and the mode.
    OfSize(&'static str, String),
    /// A pool of huge pages: the size of its pages, unless that is the default and nobody knows it, and their number.
    Pool(Option<String>, String),
}

/// Parameters that say what a file says.
const SAME: [(&str, &str); 2] =
    [("thp/enabled", "transparent_hugepage"), ("thp/shmem_enabled", "transparent_hugepage_shmem")];

/// Parameters of files that each size of pages has.
const BY_SIZE: [(&str, &str); 2] =
    [("thp/hugepages-2048kB/enabled", "thp_anon"), ("thp/hugepages-2048kB/shmem_enabled", "thp_shmem")];

/// The kernel for which parameters are.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernel {
    release: Option<Release>,
    /// Size of huge pages where none is named.
    default_size: Option<String>,
}

impl Kernel {
    /// The kernel of a host.
    pub(super) fn of(root: &Root) -> Self {
        let meminfo = root.read("/proc/meminfo").unwrap_or_default();
        let default_size = meminfo.lines().find_map(|line| {
            let kib = line.strip_prefix("Hugepagesize:")?.trim().strip_suffix(" kB")?;
            short(kib.parse().ok()?)
        });
        Self { release: root.release().and_then(|release| Release::parse(&release)), default_size }
    }
}

/// The parameter that says what the setting says; `None` where there is none.
pub(super) fn parameter(kept: &Kept, kernel: &Kernel) -> Option<Parameter> {
    let value = &kept.value;
    if let Some((_, name)) = SAME.iter().find(|(of, _)| *of == kept.name()) {
        return Some(Parameter::Word(format!("{name}={value}")));
    }
    if kept.name() == "vm.nr_hugepages" {
        return Some(Parameter::Pool(kernel.default_size.clone(), value.clone()));
    }
    if kept.target.setting.name == "hugetlb/nr_hugepages" {
        return Some(Parameter::Pool(Some(size(kept.path())?), value.clone()));
    }
    if let Some((_, name)) = BY_SIZE.iter().find(|(of, _)| *of == of_2_mib(kept.target.setting.name)) {
        return Some(Parameter::OfSize(name, format!("{}:{value}", size(kept.name())?)));
    }
    let takes_sysctls = kernel.release.is_none_or(|release| release >= Release::SYSCTL_PARAMETERS);
    let quoted = if value.contains(' ') { format!("\"{value}\"") } else { value.clone() };
    (kept.target.is_sysctl() && takes_sysctls).then(|| Parameter::Word(format!("sysctl.{}={quoted}", kept.name())))
}

/// The size of pages in a name: `64K`, `2M`, `1G`.
fn size(name: &str) -> Option<String> {
    let (_, rest) = name.split_once("hugepages-")?;
    short(rest.split_once("kB")?.0.parse().ok()?)
}

/// A size in KiB, as parameters name it.
fn short(kib: u64) -> Option<String> {
    let units = [(1 << 20, "G"), (1 << 10, "M"), (1, "K")];
    units.iter().find(|(unit, _)| kib.is_multiple_of(*unit)).map(|(unit, word)| format!("{}{word}", kib / unit))
}

pub(super) fn form(held: &[Kept], kernel: &Kernel) -> Form {
    let parameters: Vec<_> = held.iter().map(|kept| (kept, parameter(kept, kernel))).collect();
    let found: Vec<&Parameter> = parameters.iter().filter_map(|(_, parameter)| parameter.as_ref()).collect();
    let by_size = by_size(&found);
    let has_sizes = !by_size.is_empty();
    let alone = found.iter().filter_map(|parameter| match parameter {
        Parameter::Word(word) => Some(word.clone()),
        Parameter::OfSize(..) | Parameter::Pool(..) => None,
    });
    let words: Vec<String> = pools(&found).into_iter().chain(by_size).chain(alone).collect();
    let mut text = words.join(" ") + "\n";
    if has_sizes {
        text += "# thp_anon= and thp_shmem= set every size that they do not name to never; 2M:inherit is what 2 MiB has without them.\n";
    }
    if words.iter().any(|word| word.contains("hugepages=")) {
        text += "# They take the place of other hugepages= for these pools: of two, the kernel keeps the first.\n";
    }
    let lacking: Vec<_> =
        parameters.iter().filter(|(_, parameter)| parameter.is_none()).map(|(kept, _)| kept.name()).collect();
    if !lacking.is_empty() {
        writeln!(text, "# Without a parameter: {}.", lacking.join(", ")).expect("text can be written");
    }
    Form { kind: Kind::Cmdline, path: None, text: text.trim_start().to_owned() }
}

/// Pools, that of no named size before all others. Of two settings of one pool the later one counts, as it does for the running kernel.
fn pools(parameters: &[&Parameter]) -> Vec<String> {
    let mut pools: Vec<(&Option<String>, String)> = Vec::new();
    for parameter in parameters {
        if let Parameter::Pool(size, count) = parameter {
            pools.retain(|(of, _)| *of != size);
            let size_of = size.as_ref().map_or_else(String::new, |size| format!("hugepagesz={size} "));
            pools.push((size, format!("{size_of}hugepages={count}")));
        }
    }
    pools.sort_by_key(|(size, _)| size.is_some());
    pools.into_iter().map(|(_, words)| words).collect()
}

/// Modes by size, a parameter for each: the kernel adds them up, and a boot loader may take the semicolon between two for the end of its command.
fn by_size(parameters: &[&Parameter]) -> Vec<String> {
    let mut words = Vec::new();
    for (_, name) in BY_SIZE {
        let sizes = parameters.iter().filter_map(|parameter| match parameter {
            Parameter::OfSize(of, size) if *of == name => Some(size.as_str()),
            _ => None,
        });
        let mut sizes: Vec<_> = sizes.collect();
        if !sizes.is_empty() && !sizes.iter().any(|size| size.starts_with("2M:")) {
            sizes.push("2M:inherit"); // As without the parameter.
        }
        words.extend(sizes.into_iter().map(|size| format!("{name}={size}")));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::tests::kept;
    use super::*;
    use crate::target::Target;

    fn kernel(release: &str, default_size: &str) -> Kernel {
        Kernel { release: Release::parse(release), default_size: Some(default_size.to_owned()) }
    }

    #[test]
    fn what_has_no_parameter_is_named() {
        let text = "thp_anon=64K:always thp_anon=2M:inherit sysctl.vm.compaction_proactiveness=60 \
                    sysctl.vm.lowmem_reserve_ratio=\"256 128 32\" transparent_hugepage=madvise\n\
                    # thp_anon= and thp_shmem= set every size that they do not name to never; 2M:inherit is what 2 MiB has without them.\n\
                    # Without a parameter: thp/defrag.\n";
        assert_eq!(form(&kept(), &kernel("6.12", "2M")).text, text);
        let text = "# Without a parameter: vm.compaction_proactiveness.\n";
        assert_eq!(form(&kept()[..1], &kernel("5.4", "2M")).text, text);
    }

    /// Parameters of pools, in the order in which settings came.
    fn pools_of(settings: &[(&str, &str)], kernel: &Kernel) -> String {
        let kept = |&(name, value): &(&str, &str)| Kept::new(&Target::find(name).expect("a setting"), value);
        let text = form(&settings.iter().map(kept).collect::<Vec<_>>(), kernel).text;
        text.lines().next().expect("a line").to_owned()
    }

    #[test]
    fn pools_have_parameters_by_size() {
        const ONE_G: &str = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";
        let of = |settings: &[(&str, &str)]| pools_of(settings, &kernel("6.12", "2M"));
        assert_eq!(of(&[("vm.nr_hugepages", "4")]), "hugepagesz=2M hugepages=4");
        assert_eq!(of(&[("hugetlb/nr_hugepages", "4")]), "hugepagesz=2M hugepages=4");
        assert_eq!(
            of(&[(ONE_G, "4"), ("vm.nr_hugepages", "5")]),
            "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=5"
        );
        let both = [("vm.nr_hugepages", "5"), ("hugetlb/nr_hugepages", "7")];
        assert_eq!(of(&both), "hugepagesz=2M hugepages=7", "the later one, as in the running kernel");
        let large = kernel("6.12", "1G");
        assert_eq!(pools_of(&both, &large), "hugepagesz=1G hugepages=5 hugepagesz=2M hugepages=7");
        // Behind a size it would be ignored.
        let unknown = Kernel::default();
        let words = pools_of(&[(ONE_G, "1"), ("vm.swappiness", "9"), ("vm.nr_hugepages", "5")], &unknown);
        assert_eq!(words, "hugepages=5 hugepagesz=1G hugepages=1 sysctl.vm.swappiness=9");
    }

    #[test]
    fn the_default_size_is_the_host_s() {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(folder.path().join("proc")).expect("it can be made");
        let root = Root::directory(folder.path());
        assert_eq!(Kernel::of(&root).default_size, None);
        let text = "HugePages_Total:       0\nHugepagesize:    1048576 kB\nHugetlb:               0 kB\n";
        std::fs::write(folder.path().join("proc/meminfo"), text).expect("it can be written");
        assert_eq!(Kernel::of(&root).default_size.as_deref(), Some("1G"));
    }
}
