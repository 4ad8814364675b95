//! Arguments of the command line, which replace what a file says.

use super::error::{Problem, Said, ScenarioError};
use super::memory::MemoryWish;
use super::{Asked, Scenario};

impl Scenario {
    /// Takes the argument `option`, `--policy` for instance, with its value. What may come several times adds up.
    ///
    /// # Errors
    /// A value that the option does not take.
    ///
    /// # Panics
    /// If there is no such option.
    pub fn argument(&mut self, option: &str, text: &str) -> Result<(), ScenarioError> {
        let said = Said::Argument(format!("{option} {}", order9_toml::shown(text)));
        let asked = || Asked { said: said.clone(), value: text.to_owned() };
        let taken = match option {
            "--policy" => {
                self.policies.retain(|policy| policy.said.is_argument());
                self.policies.push(asked());
                self.ablate = self.ablate.take().filter(|ablate| ablate.said.is_argument());
                self.against = self.against.take().filter(|against| against.said.is_argument());
                Ok(())
            }
            "--ablate" | "--against" => {
                self.policies.retain(|policy| policy.said.is_argument());
                let place = if option == "--ablate" { &mut self.ablate } else { &mut self.against };
                *place = Some(asked());
                Ok(())
            }
            "--machine" => {
                self.prices = self.prices.take().filter(|prices| prices.said.is_argument());
                self.machine = Some(asked());
                Ok(())
            }
            "--prices" => {
                self.prices = Some(asked());
                Ok(())
            }
            "--memory" => {
                self.memory = Some(Asked { said: said.clone(), value: MemoryWish::of(text) });
                Ok(())
            }
            "RECORDING" => self.replay(text),
            "--seeds" => self.count_seeds(text),
            "--threads" => self.choose("threads", text),
            "--param" => pair(text, "KEY=VALUE").and_then(|(key, value)| self.choose(key, value)),
            "--set" => {
                pair(text, "NAME=VALUE").and_then(|(name, value)| self.set(said.clone(), name, value.to_owned()))
            }
            "--cmdline" => self.boot(said.clone(), text),
            "--every" => self.read_every(text),
            "--maps" => self.map_every(text),
            "--check" => self.read_check(text),
            "--events" => text.split(',').try_for_each(|name| self.keep_events(name.trim())),
            _ => unreachable!("no option is called {option}"),
        };
        taken.map_err(|problem| said.error(problem))
    }
}

pub(super) fn pair<'a>(text: &'a str, expected: &'static str) -> Result<(&'a str, &'a str), Problem> {
    text.split_once('=').ok_or(Problem::NoPair(expected))
}
