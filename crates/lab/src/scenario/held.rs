//! Experiments on a map that was read already, such as that of a host a moment ago: the same memory under its settings and under
//! others.

use std::sync::Arc;

use order9_snapshot::Snapshot;

use super::argument::pair;
use super::error::{Said, ScenarioError};
use super::memory::MemoryWish;
use super::setting::named;
use super::{Asked, Scenario};

impl Scenario {
    /// Starts from `snapshot`, called `name` in messages.
    #[must_use]
    pub fn on_map(self, name: &str, snapshot: Arc<Snapshot>) -> Self {
        let memory = Asked { said: Said::Nowhere, value: MemoryWish::Held(name.to_owned(), snapshot) };
        Self { memory: Some(memory), ..self }
    }

    /// Adds a policy that is `policy` with these settings, each `NAME=VALUE`, written before the start.
    ///
    /// # Errors
    /// The first that is no setting; values are judged by [`Scenario::plan`].
    pub fn vary(&mut self, policy: &str, settings: &[String]) -> Result<(), ScenarioError> {
        let mut changed = policy.to_owned();
        for text in settings {
            let said = || Said::Argument(format!("--set {}", order9_toml::shown(text)));
            let (name, value) = pair(text, "NAME=VALUE").map_err(|problem| said().error(problem))?;
            let setting = named(name).map_err(|problem| said().error(problem))?;
            changed += &format!("+{}={value}", setting.name);
        }
        let shown: Vec<_> = settings.iter().map(|text| format!("--set {}", order9_toml::shown(text))).collect();
        self.policies.push(Asked { said: Said::Argument(shown.join(" ")), value: changed });
        Ok(())
    }
}
