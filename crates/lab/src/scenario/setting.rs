//! Parameters of the kernel, and settings, tried on a small machine under every policy before anything runs.

use order9_mm::policy::Policy;
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};
use order9_policy::Loaded;
use order9_procfs::command_line::{BootParameter, CommandLine, CommandLineError, PARAMETERS};
use order9_procfs::sysctl::{self, SETTINGS, Setting, SettingError};
use order9_toml::{nearest, shown};
use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

use super::error::{Problem, Said, ScenarioError};
use super::{Asked, Scenario};
use crate::plan::Plan;

impl Scenario {
    /// Writes a setting before the start. Written twice, the later value counts.
    pub(super) fn set(&mut self, said: Said, name: &str, value: String) -> Result<(), Problem> {
        let setting = named(name)?;
        self.settings.retain(|asked| asked.value.0 != setting.name);
        self.settings.push(Asked { said, value: (setting.name, value) });
        Ok(())
    }
}

impl Scenario {
    /// Boots the kernel with the parameters in `text`, instead of others.
    pub(super) fn boot(&mut self, said: Said, text: &str) -> Result<(), Problem> {
        let nearest = |name: &str| nearest(name, PARAMETERS.iter().map(|parameter| parameter.name));
        let value = CommandLine::parse(text).map_err(|error| match error {
            CommandLineError::Unknown(name) => Problem::NoBootParameter { nearest: nearest(&name), name: shown(&name) },
            CommandLineError::NotModelled { .. } => Problem::CommandLine(error),
        })?;
        self.cmdline = Asked { said, value };
        Ok(())
    }
}

/// The setting of this name.
pub(super) fn named(name: &str) -> Result<&'static Setting, Problem> {
    let nearest = || nearest(name, SETTINGS.iter().map(|setting| setting.name));
    Setting::find(name).ok_or_else(|| Problem::NoSetting { name: shown(name), nearest: nearest() })
}

/// The setting called `name`, where a kernel with this policy takes `value` for it.
///
/// # Errors
/// A name that no setting has, a setting that the kernel does not have or that cannot be written, a value that it refuses.
pub fn taken(policy: &Loaded, name: &str, value: &str) -> Result<&'static Setting, Problem> {
    let setting = named(name)?;
    let written = sysctl::write(&mut small(policy.policy.clone()), setting.name, value);
    written.map_err(|error| problem(error, setting.name, value, &policy.name))?;
    Ok(setting)
}

/// Refuses the first parameter of the kernel that some policy does not have.
pub(super) fn check_boot(line: &Asked<CommandLine>, policies: &[Loaded]) -> Result<(), ScenarioError> {
    for policy in policies {
        if let Some(BootParameter { name, meaning, .. }) = line.value.first_absent(&policy.policy.thp) {
            let why = format!("{name}= does not exist under {}", policy.name);
            return Err(line.said.clone().error(Problem::Setting { why, meaning }));
        }
    }
    Ok(())
}

/// Refuses the first setting that some policy does not take.
pub(super) fn check(settings: &[Asked<(&'static str, String)>], policies: &[Loaded]) -> Result<(), ScenarioError> {
    for policy in policies {
        let mut mm = small(policy.policy.clone());
        for Asked { said, value: (name, value) } in settings {
            let written = sysctl::write(&mut mm, name, value);
            written.map_err(|error| said.clone().error(problem(error, name, value, &policy.name)))?;
        }
    }
    Ok(())
}

impl Plan {
    /// Whether the kernels of all policies have the setting and take the value.
    #[must_use]
    pub fn takes(&self, name: &str, value: &str) -> bool {
        self.policies.iter().all(|policy| sysctl::write(&mut small(policy.policy.clone()), name, value).is_ok())
    }
}

fn problem(error: SettingError, name: &str, value: &str, policy: &str) -> Problem {
    match error {
        SettingError::Invalid(setting) => {
            let unit = if setting.unit.is_empty() { String::new() } else { format!(" ({})", setting.unit) };
            Problem::value(name, value, format!("{}{unit}", setting.values))
        }
        SettingError::Absent(setting) => {
            Problem::Setting { why: format!("{name} does not exist under {policy}"), meaning: setting.meaning }
        }
        SettingError::TooLarge(_, max) => Problem::value(name, value, format!("at most {max} under {policy}")),
        SettingError::NoBandwidth(setting)
        | SettingError::NotModelled(setting)
        | SettingError::ValueNotModelled(setting, _)
        | SettingError::ReadOnly(setting)
        | SettingError::WriteOnly(setting) => Problem::Setting { why: error.to_string(), meaning: setting.meaning },
        SettingError::Unknown => Problem::NoSetting { name: name.to_owned(), nearest: None },
    }
}

/// The smallest machine that has settings, and a bandwidth for those that follow it: whether the machine of the scenario has one
/// is asked when it starts.
pub(crate) fn small(policy: Policy) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 12));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("one zone of whole pageblocks").boot();
    mm.set_node_bandwidth([(NodeId(0), 1)]);
    mm
}
