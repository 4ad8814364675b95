//! Wishes: settings with the values they are to have, from arguments and from files.

use order9_toml::{FileError, Leaf, Place, Problem, leaves, shown};
use toml::de::DeValue;

use crate::error::{ApplyError, Refusal};
use crate::target::Target;

/// A setting that is to have a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The argument, or the file with its line, for messages.
    pub(crate) said: String,
    pub(crate) target: Target,
    pub(crate) value: String,
}

impl Wish {
    pub(crate) fn refused(&self, refusal: Refusal) -> ApplyError {
        ApplyError::Wish { said: self.said.clone(), refusal }
    }

    fn new(said: String, name: &str, value: &str) -> Result<Self, ApplyError> {
        match Target::find(name) {
            Ok(target) => Ok(Self { said, target, value: value.trim().to_owned() }),
            Err(refusal) => Err(ApplyError::Wish { said, refusal }),
        }
    }
}

/// The wish in an argument `NAME=VALUE`.
///
/// # Errors
/// Another form, or a name that no setting has.
pub fn argument(text: &str) -> Result<Wish, ApplyError> {
    let said = format!("--set {}", shown(text));
    match text.split_once('=') {
        Some((name, value)) => Wish::new(said, name.trim(), value),
        None => Err(ApplyError::Wish { said, refusal: Refusal::NoPair }),
    }
}

/// Wishes of a file and of arguments, which replace those of the file for the same setting.
#[must_use]
pub fn joined(mut file: Vec<Wish>, arguments: Vec<Wish>) -> Vec<Wish> {
    file.retain(|wish| arguments.iter().all(|argument| argument.target.path != wish.target.path));
    file.extend(arguments);
    file
}

/// The wishes in the `text` of the TOML file called `file`: names of settings with numbers or words, at the top or in a table
/// `settings`, as scenarios have it.
///
/// # Errors
/// A text that is no TOML, or a value that no setting can have, with its line.
pub fn settings_file(file: &str, text: &str) -> Result<Vec<Wish>, ApplyError> {
    let place = Place::new(file, text);
    let table = place.parse::<Problem>()?;
    let wish = |leaf: &Leaf<'_>| {
        let value = written(leaf).map_err(|problem| -> FileError<Problem> { place.error(leaf.at, problem) })?;
        let name = leaf.key.strip_prefix("settings.").unwrap_or(&leaf.key);
        Wish::new(format!("{file}, line {}", place.line(leaf.at)), name, &value)
    };
    leaves(&table, |_| true).iter().filter(|leaf| !is_empty_table(leaf)).map(wish).collect()
}

fn is_empty_table(leaf: &Leaf<'_>) -> bool {
    matches!(leaf.value, DeValue::Table(table) if table.is_empty())
}

/// The value as it is written to a setting.
fn written(leaf: &Leaf<'_>) -> Result<String, Problem> {
    match leaf.value {
        DeValue::Integer(_) => {
            leaf.whole_number().map(|number| number.to_string()).ok_or_else(|| leaf.wrong("a whole number"))
        }
        DeValue::String(_) => leaf.line_of_text(),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        _ => Err(leaf.wrong("a whole number or a word")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_settings_at_the_top_or_in_a_table() {
        let text = "vm.swappiness = 10\n\n[settings]\nvm.page-cluster = 0x2\n\"thp/defrag\" = \"defer\"\n";
        let wishes = settings_file("s.toml", text).expect("it is sound");
        let read: Vec<_> =
            wishes.iter().map(|wish| (wish.said.as_str(), wish.target.name.as_str(), wish.value.as_str())).collect();
        let expected = [
            ("s.toml, line 1", "vm.swappiness", "10"),
            ("s.toml, line 4", "vm.page-cluster", "2"),
            ("s.toml, line 5", "thp/defrag", "defer"),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn an_argument_replaces_a_line_of_the_file() {
        let file = settings_file("s.toml", "vm.swappiness = 10\nvm.page-cluster = 2\n").expect("it is sound");
        let wishes = joined(file, vec![argument("/proc/sys/vm/swappiness=20").expect("it is sound")]);
        let read: Vec<_> = wishes.iter().map(|wish| (wish.target.name.as_str(), wish.value.as_str())).collect();
        assert_eq!(read, [("vm.page-cluster", "2"), ("vm.swappiness", "20")]);
    }

    #[test]
    fn refusals_name_the_place() {
        let file = |text: &str| settings_file("s.toml", text).expect_err("it is wrong").to_string();
        assert_eq!(
            file("[settings]\nvm.swapiness = 1\n"),
            "s.toml, line 2: no setting is called 'vm.swapiness'; did you mean vm.swappiness?"
        );
        assert_eq!(
            file("vm.swappiness = [1]\n"),
            "s.toml, line 1: vm.swappiness is an array, expected a whole number or a word"
        );
        assert_eq!(file("vm.swappiness = -1\n"), "s.toml, line 1: vm.swappiness is -1, expected a whole number");
        assert!(file("vm.swappiness =\n").starts_with("s.toml, line 1: "));
        let argument = argument("vm.swappiness").expect_err("it is no pair").to_string();
        assert_eq!(argument, "--set vm.swappiness: expected NAME=VALUE");
    }
}
