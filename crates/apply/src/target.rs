//! The setting that a name means: one of the list, or the like of one for another size of page or another node.

use order9_procfs::sysctl::{SETTINGS, Setting};
use order9_toml::nearest;

use crate::error::Refusal;

/// A file that a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The name in the form of [`Setting::name`].
    pub(crate) name: String,
    pub(crate) path: String,
    /// The setting of the list whose values it takes.
    pub(crate) setting: &'static Setting,
}

/// Parts of names that hold a number, as the list has them: sizes of pages, nodes.
const NUMBERED: [(&str, &str, &str); 2] = [("hugepages-", "2048", "kB"), ("weighted_interleave/node", "0", "")];

/// The name of the file of pages of 2 MiB that says the same of them as `name` does of pages of another size.
pub(crate) fn of_2_mib(name: &str) -> String {
    let other = name.split_once("thp/hugepages-").and_then(|(_, rest)| rest.split_once("kB/"));
    other.map_or_else(|| name.to_owned(), |(_, file)| format!("thp/hugepages-2048kB/{file}"))
}

impl Target {
    /// The file that `name` means: a name with dots or slashes, or a path.
    ///
    /// # Errors
    /// [`Refusal::Unknown`], with the nearest name.
    pub(crate) fn find(name: &str) -> Result<Self, Refusal> {
        let of =
            |setting: &'static Setting| Self { name: setting.name.to_owned(), path: setting.path.to_owned(), setting };
        let unknown = || {
            let nearest = nearest(name, SETTINGS.iter().map(|setting| setting.name));
            Refusal::Unknown { name: order9_toml::shown(name), nearest }
        };
        Setting::find(name).map(of).or_else(|| Self::numbered(name)).ok_or_else(unknown)
    }

    /// The file of another size or node than the one of the list.
    fn numbered(name: &str) -> Option<Self> {
        NUMBERED.iter().find_map(|&(before, listed, after)| {
            let dotted = name.replace('.', "/");
            let name = if name.starts_with('/') { name } else { &dotted };
            let (head, rest) = name.split_once(before)?;
            let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
            // What does not begin like a number is another name of the same file.
            let is_number = !digits.is_empty() && digits.len() < 10 && (digits == "0" || !digits.starts_with('0'));
            let tail = rest[digits.len()..].strip_prefix(after).filter(|_| is_number)?;
            let setting = Setting::find(&format!("{head}{before}{listed}{after}{tail}"))?;
            let own =
                |text: &str| text.replace(&format!("{before}{listed}{after}"), &format!("{before}{digits}{after}"));
            let (path, own_name) = (own(setting.path), own(setting.name));
            // The pools of the list say no size in their names.
            let name = if own_name == setting.name { path.clone() } else { own_name };
            Some(Self { name, path, setting })
        })
    }

    /// Whether it is a file below /proc/sys.
    pub(crate) fn is_sysctl(&self) -> bool {
        !self.setting.is_sysfs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_mean_files_of_any_size_and_node() {
        let thp = "/sys/kernel/mm/transparent_hugepage";
        for (name, own, path) in [
            ("vm.swappiness", "vm.swappiness", "/proc/sys/vm/swappiness".to_owned()),
            ("thp.defrag", "thp/defrag", format!("{thp}/defrag")),
            ("thp/hugepages-64kB/enabled", "thp/hugepages-64kB/enabled", format!("{thp}/hugepages-64kB/enabled")),
            ("thp.hugepages-64kB.enabled", "thp/hugepages-64kB/enabled", format!("{thp}/hugepages-64kB/enabled")),
            (
                "mempolicy/weighted_interleave/node12",
                "mempolicy/weighted_interleave/node12",
                "/sys/kernel/mm/mempolicy/weighted_interleave/node12".to_owned(),
            ),
            (
                "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
                "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
                "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages".to_owned(),
            ),
        ] {
            let target = Target::find(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((target.name.as_str(), target.path), (own, path));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        for (name, sentence) in [
            ("vm.swapines", "no setting is called 'vm.swapines'; did you mean vm.swappiness?"),
            (
                "thp/hugepages-064kB/enabled",
                "no setting is called 'thp/hugepages-064kB/enabled'; did you mean thp/hugepages-64kB/enabled?",
            ),
            ("colour", "no setting is called 'colour'; docs/settings.md names all"),
        ] {
            assert_eq!(Target::find(name).expect_err("there is none").to_string(), sentence);
        }
    }
}
