//! Why a setting was not read or written.

use core::fmt;

use order9_mm::Errno;

use super::{Model, Setting};

/// Why a setting was not read or written; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// `ENOENT`: [`SETTINGS`](super::SETTINGS) has no such name.
    Unknown,
    /// `ENOENT`: the kernels that the policy in force describes do not have it.
    Absent(&'static Setting),
    /// `EACCES`: it cannot be written.
    ReadOnly(&'static Setting),
    /// `EACCES`: it cannot be read.
    WriteOnly(&'static Setting),
    /// `EINVAL`: not one of the [`Setting::values`].
    Invalid(&'static Setting),
    /// `EINVAL`: more than this, the most under the policy in force.
    TooLarge(&'static Setting, i64),
    /// `ENODEV`: nothing is known of the bandwidth of any node, so that nothing can follow it.
    NoBandwidth(&'static Setting),
    /// Linux has it, the engine not yet.
    NotModelled(&'static Setting),
    /// Linux takes this value, for which the engine lacks this.
    ValueNotModelled(&'static Setting, &'static str),
}

impl SettingError {
    /// The error that Linux returns; `None` where Linux would have accepted the value.
    #[must_use]
    pub const fn errno(self) -> Option<Errno> {
        match self {
            Self::Unknown | Self::Absent(_) => Some(Errno::Enoent),
            Self::ReadOnly(_) | Self::WriteOnly(_) => Some(Errno::Eacces),
            Self::Invalid(_) | Self::TooLarge(..) => Some(Errno::Einval),
            Self::NoBandwidth(_) => Some(Errno::Enodev),
            Self::NotModelled(_) | Self::ValueNotModelled(..) => None,
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => write!(f, "no such setting"),
            Self::Absent(setting) => write!(f, "{} does not exist under this policy", setting.name),
            Self::ReadOnly(setting) => write!(f, "{} is read-only", setting.name),
            Self::WriteOnly(setting) => write!(f, "{} is write-only", setting.name),
            Self::Invalid(setting) => write!(f, "{} takes {}", setting.name, setting.values),
            Self::TooLarge(setting, max) => write!(f, "{} takes at most {max} under this policy", setting.name),
            Self::NoBandwidth(setting) => {
                write!(f, "{} needs a bandwidth of some node, and none is known: all weights are 1", setting.name)
            }
            Self::ValueNotModelled(setting, what) => {
                write!(f, "{} is not modelled with this value: there is no {what}", setting.name)
            }
            Self::NotModelled(setting) => match setting.model {
                Model::Missing(what) => write!(f, "{} is not modelled yet (there is no {what})", setting.name),
                Model::Engine(_) => unreachable!("{} has an effect", setting.name),
            },
        }
    }
}

impl core::error::Error for SettingError {}
