//! Ways in which systems keep settings beyond a restart, one file for each.

mod ansible;
mod cmdline;
mod sysctl_d;
mod systemd;
mod tmpfiles_d;
mod tuned;

use order9_journal::excluded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ApplyError;
use crate::record::Record;
use crate::root::Root;
use crate::target::Target;
use cmdline::Kernel;

/// A way to keep settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// A file of sysctl.d(5): settings below /proc/sys.
    #[serde(rename = "sysctl.d")]
    SysctlD,
    /// A file of tmpfiles.d(5): settings below /sys.
    #[serde(rename = "tmpfiles.d")]
    TmpfilesD,
    /// A service of systemd that writes all of them.
    #[serde(rename = "systemd")]
    Systemd,
    /// A profile of TuneD.
    #[serde(rename = "tuned")]
    Tuned,
    /// Parameters of the kernel, as text.
    #[serde(rename = "cmdline")]
    Cmdline,
    /// Tasks of Ansible, as text.
    #[serde(rename = "ansible")]
    Ansible,
}

/// The text in which settings are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Form {
    /// Way in which it keeps them.
    pub kind: Kind,
    /// The file of this host that has the text; none where it is for somebody to put elsewhere.
    pub path: Option<String>,
    /// The text.
    pub text: String,
}

/// A setting that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    target: Target,
    value: String,
}

impl Kept {
    pub(crate) fn new(target: &Target, value: &str) -> Self {
        // Numbers of a list are separated by single spaces in all forms.
        Self { target: target.clone(), value: value.split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    fn name(&self) -> &str {
        &self.target.name
    }

    fn path(&self) -> &str {
        &self.target.path
    }
}

/// First lines of every file.
const HEADER: &str = "# Written by `order9 apply`. `order9 undo` removes it.\n";

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::SysctlD, Self::TmpfilesD, Self::Systemd, Self::Tuned, Self::Cmdline, Self::Ansible];

    /// Name of the kind.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::SysctlD => "sysctl.d",
            Self::TmpfilesD => "tmpfiles.d",
            Self::Systemd => "systemd",
            Self::Tuned => "tuned",
            Self::Cmdline => "cmdline",
            Self::Ansible => "ansible",
        }
    }

    /// Whether it is a text for another place, and no file of this host.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Cmdline | Self::Ansible)
    }

    /// A step that is left to be done by hand.
    #[must_use]
    pub const fn remark(self) -> Option<&'static str> {
        match self {
            Self::Tuned => Some("`tuned-adm profile order9` makes it the profile in force"),
            Self::SysctlD | Self::TmpfilesD | Self::Systemd | Self::Cmdline | Self::Ansible => None,
        }
    }

    fn holds(self, kept: &Kept, kernel: &Kernel) -> bool {
        match self {
            Self::SysctlD => kept.target.is_sysctl(),
            Self::TmpfilesD => !kept.target.is_sysctl(),
            Self::Cmdline => cmdline::parameter(kept, kernel).is_some(),
            Self::Systemd | Self::Tuned | Self::Ansible => true,
        }
    }
}

/// The forms of `kinds`. They hold what earlier changes keep in the same way as well: a text then takes the place of the one before.
pub(crate) fn forms(root: &Root, kinds: &[Kind], kept: &[Kept], records: &[Record]) -> Result<Vec<Form>, ApplyError> {
    let kernel = Kernel::of(root);
    check_room(kinds, kept, &kernel)?;
    let form = |kind: Kind| {
        let with_earlier = with_earlier(kind, kept, records);
        let held: Vec<_> =
            with_earlier.into_iter().filter(|kept| kind.is_text() || kind.holds(kept, &kernel)).collect();
        match kind {
            _ if held.is_empty() => Vec::new(),
            Kind::SysctlD => vec![sysctl_d::form(&held)],
            Kind::TmpfilesD => vec![tmpfiles_d::form(&held)],
            Kind::Systemd => systemd::forms(&held).to_vec(),
            Kind::Tuned => vec![tuned::form(&held, root)],
            Kind::Cmdline => vec![cmdline::form(&held, &kernel)],
            Kind::Ansible => vec![ansible::form(&held)],
        }
    };
    Ok(kinds.iter().flat_map(|&kind| form(kind)).collect())
}

/// Refuses settings that none of `kinds` can hold. Parameters of the kernel are a text that names what it lacks.
fn check_room(kinds: &[Kind], kept: &[Kept], kernel: &Kernel) -> Result<(), ApplyError> {
    if kinds.iter().all(|kind| *kind == Kind::Cmdline) {
        return Ok(());
    }
    let is_held = |kept: &&Kept| kinds.iter().any(|kind| kind.holds(kept, kernel));
    let left: Vec<_> = kept.iter().filter(|kept| !is_held(kept)).collect();
    let Some(first) = left.first() else { return Ok(()) };
    let hint = if first.target.is_sysctl() {
        "files of /proc/sys are for sysctl.d: add --persist sysctl.d"
    } else {
        "files of /sys are for tmpfiles.d: add --persist tmpfiles.d"
    };
    let settings = left.iter().map(|kept| kept.name().to_owned()).collect();
    Err(ApplyError::CannotHold { kinds: kinds.to_vec(), settings, hint })
}

/// Settings that a form of this kind holds: `kept`, after what earlier changes keep in the same way.
fn with_earlier(kind: Kind, kept: &[Kept], records: &[Record]) -> Vec<Kept> {
    let mut held: Vec<Kept> = Vec::new();
    let earlier = records.iter().filter(|record| record.kinds.contains(&kind));
    let earlier = earlier.flat_map(|record| &record.settings).filter_map(|change| {
        let target = Target::find(&change.path).ok()?;
        Some(Kept::new(&target, change.wanted.as_deref()?))
    });
    for kept in earlier.chain(kept.iter().cloned()) {
        held.retain(|other| other.path() != kept.path() && Some(other.path()) != excluded(kept.path()));
        held.push(kept);
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of every sort.
    pub(super) fn kept() -> Vec<Kept> {
        let of = |(name, value): (&str, &str)| Kept::new(&Target::find(name).expect("a setting"), value);
        let some = [
            ("vm.compaction_proactiveness", "60"),
            ("vm.lowmem_reserve_ratio", "256\t128 32"),
            ("thp/enabled", "madvise"),
            ("thp/defrag", "defer+madvise"),
            ("thp/hugepages-64kB/enabled", "always"),
        ];
        some.map(of).to_vec()
    }

    #[test]
    fn what_no_kind_can_hold_is_refused_by_name() {
        let refused =
            |kinds: &[Kind]| check_room(kinds, &kept(), &Kernel::default()).map_err(|error| error.to_string());
        assert_eq!(
            refused(&[Kind::SysctlD]),
            Err("--persist sysctl.d: thp/enabled, thp/defrag, thp/hugepages-64kB/enabled cannot be kept so; files of /sys are for \
                 tmpfiles.d: add --persist tmpfiles.d"
                .to_owned())
        );
        assert_eq!(
            refused(&[Kind::TmpfilesD]),
            Err("--persist tmpfiles.d: vm.compaction_proactiveness, vm.lowmem_reserve_ratio cannot be kept so; files of /proc/sys are \
                 for sysctl.d: add --persist sysctl.d"
                .to_owned())
        );
        for kinds in [
            &[Kind::SysctlD, Kind::TmpfilesD][..],
            &[Kind::Systemd],
            &[Kind::Cmdline],
            &[Kind::SysctlD, Kind::Tuned],
            &[],
        ] {
            assert_eq!(refused(kinds), Ok(()), "{kinds:?}");
        }
    }
}
