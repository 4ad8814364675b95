//! The settings that were found, as a file for `order9 apply`.

use std::fmt::Write as _;

use order9_toml::quoted;

use super::answer::{Change, Tuning};
use super::choose::Outcome;

impl Tuning {
    /// Text of a settings file; `None` where today's settings stay.
    #[must_use]
    pub fn to_settings(&self) -> Option<String> {
        let best = self.best.as_ref().filter(|_| matches!(self.outcome, Outcome::Found | Outcome::Nearer))?;
        let mut text = String::new();
        for sentence in &self.sentences {
            let _ = writeln!(text, "# {sentence}");
        }
        let _ = writeln!(text, "# Found by: {}\n\n[settings]", self.command.join(" "));
        for Change { setting, value } in &best.changes {
            // A name with dots is a key in TOML; one with slashes needs quotes.
            let key = if setting.contains('/') { quoted(setting) } else { (*setting).to_owned() };
            let value = value.parse::<i64>().map_or_else(|_| quoted(value), |number| number.to_string());
            let _ = writeln!(text, "{key} = {value}");
        }
        Some(text)
    }
}
