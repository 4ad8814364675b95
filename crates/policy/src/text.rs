//! One policy file as text: what it is based on, what it sets, what it would need. Nothing is looked up in other files.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{PolicyError, Problem};
use crate::nearest::{nearest, shown};
use crate::planned::{self, PLANNED, Planned};
use crate::switch::{Switch, Value, Values};
use crate::table::{self, SWITCHES};

/// Keys of a policy file that are no switches.
const OWN_KEYS: [&str; 3] = ["base", "summary", "needs"];

/// What a policy file says.
#[derive(Debug, Default)]
pub(crate) struct PolicyText {
    /// What it is, in one line; may be empty.
    pub(crate) summary: String,
    /// Name or path of its base, and the line that says so.
    pub(crate) base: Option<(String, usize)>,
    /// The switches it sets.
    pub(crate) settings: Vec<(&'static Switch, Value)>,
    /// What it would set if it could.
    pub(crate) needs: Vec<Needed>,
}

/// A planned switch and the value it should have; `None` takes a need of the base back.
pub(crate) type Needed = (&'static Planned, Option<&'static str>);

/// Where messages about a text point to.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

/// A key with its tables, its value, and where the line of it begins.
struct Leaf<'a> {
    key: String,
    value: &'a DeValue<'a>,
    at: usize,
}

impl PolicyText {
    /// Reads the policy `text`, called `file` in messages.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, PolicyError> {
        let place = Place { file, text };
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            place.error(at, Problem::Syntax(shown(error.message())))
        })?;
        let mut leaves = Vec::new();
        collect(document.get_ref(), "", &mut leaves);
        leaves.sort_by_key(|leaf| leaf.at);
        let mut policy = Self::default();
        for leaf in &leaves {
            let refused = |problem| place.error(leaf.at, problem);
            match leaf.key.as_str() {
                "base" => policy.base = Some((line_of_text(leaf).map_err(refused)?, place.line(leaf.at))),
                "summary" => policy.summary = line_of_text(leaf).map_err(refused)?,
                "needs" => policy.needs = needs(leaf, place)?,
                _ => policy.settings.push(setting(leaf).map_err(refused)?),
            }
        }
        Ok(policy)
    }
}

impl Place<'_> {
    fn error(self, at: usize, problem: Problem) -> PolicyError {
        PolicyError::At { file: self.file.to_owned(), line: self.line(at), problem }
    }

    /// The line of byte `at`, from 1 on.
    fn line(self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }
}

/// Gathers the values below `table`; tables whose name no switch begins with are values, to be refused as a whole.
fn collect<'a>(table: &'a DeTable<'a>, prefix: &str, leaves: &mut Vec<Leaf<'a>>) {
    for (name, value) in table {
        let key = format!("{prefix}{}", name.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if is_group(&key) && !inner.is_empty() => {
                collect(inner, &format!("{key}."), leaves);
            }
            value => leaves.push(Leaf { key, value, at: name.span().start }),
        }
    }
}

/// Whether `key` is a table of switches.
fn is_group(key: &str) -> bool {
    let inside = |full: &str| full.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    all_keys().any(inside)
}

/// Keys of all switches, planned ones too.
fn all_keys() -> impl Iterator<Item = &'static str> {
    SWITCHES.iter().map(|switch| switch.key).chain(PLANNED.iter().map(|planned| planned.key))
}

fn switch_called(key: &str) -> Result<&'static Switch, Problem> {
    if let Some(switch) = table::find(key) {
        return Ok(switch);
    }
    match planned::find(key) {
        Some(planned) => Err(Problem::NotModelled { key: planned.key, meaning: planned.meaning }),
        None => Err(unknown(key, all_keys().chain(OWN_KEYS))),
    }
}

fn unknown(key: &str, names: impl Iterator<Item = &'static str>) -> Problem {
    Problem::UnknownKey { key: shown(key), nearest: nearest(key, names) }
}

fn setting(leaf: &Leaf<'_>) -> Result<(&'static Switch, Value), Problem> {
    let switch = switch_called(&leaf.key)?;
    let value = match (leaf.value, &switch.values) {
        (DeValue::Boolean(flag), _) => Some(Value::Flag(*flag)),
        (DeValue::String(word), values) => values.word(word),
        (DeValue::Integer(number), Values::Number { .. }) => {
            u64::from_str_radix(number.as_str(), number.radix()).ok().map(Value::Number)
        }
        _ => None,
    };
    match value.filter(|value| switch.values.admits(*value)) {
        Some(value) => Ok((switch, value)),
        None => Err(wrong(leaf, switch.values.expected())),
    }
}

fn wrong(leaf: &Leaf<'_>, expected: impl Into<String>) -> Problem {
    Problem::WrongValue { key: leaf.key.clone(), found: found(leaf.value), expected: expected.into() }
}

/// A value as it was written, or what kind of value it is.
fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", shown(text)),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Integer(number) => shown(&number.to_string()),
        DeValue::Float(number) => shown(&number.to_string()),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// A string without control characters: it is printed as it is.
fn line_of_text(leaf: &Leaf<'_>) -> Result<String, Problem> {
    match leaf.value {
        DeValue::String(text) if !text.chars().any(char::is_control) => Ok(text.clone().into_owned()),
        _ => Err(wrong(leaf, "one line of text")),
    }
}

/// The entries of `needs`.
fn needs(leaf: &Leaf<'_>, place: Place<'_>) -> Result<Vec<Needed>, PolicyError> {
    let DeValue::Array(entries) = leaf.value else {
        return Err(place.error(leaf.at, wrong(leaf, "an array of \"switch = value\"")));
    };
    entries.iter().map(|entry| need(entry).map_err(|problem| place.error(entry.span().start, problem))).collect()
}

fn need(entry: &Spanned<DeValue<'_>>) -> Result<Needed, Problem> {
    let wrong = |key: &str, expected: String| Problem::WrongValue {
        key: key.to_owned(),
        found: found(entry.get_ref()),
        expected,
    };
    let parts = entry.get_ref().as_str().and_then(|text| text.split_once('='));
    let Some((key, value)) = parts else {
        return Err(wrong("an entry of needs", "\"switch = value\"".to_owned()));
    };
    let key = key.trim();
    if let Some(switch) = table::find(key) {
        return Err(Problem::Modelled { key: switch.key });
    }
    let Some(planned) = planned::find(key) else {
        return Err(unknown(key, PLANNED.iter().map(|planned| planned.key)));
    };
    match planned.value(value.trim()) {
        Some(value) => Ok((planned, value)),
        None => Err(wrong(planned.key, planned.expected())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tables_and_dotted_keys_are_the_same() {
        for text in ["[pcp]\nhigh = 'low_mark'", "pcp.high = 'low_mark'", "pcp = { high = 'low_mark' }"] {
            let said = PolicyText::parse("x", text).unwrap();
            let [(switch, value)] = said.settings[..] else { panic!("one setting in {text}") };
            assert_eq!((switch.key, value), ("pcp.high", Value::Word("low_mark")));
        }
    }

    #[test]
    fn base_summary_and_needs_are_read() {
        let text = "summary = 'mine'\nbase = 'linux-5.0'\nneeds = ['compaction.capture=true', 'thp.cow = false']\n";
        let said = PolicyText::parse("x", text).unwrap();
        assert_eq!((said.summary.as_str(), said.base), ("mine", Some(("linux-5.0".to_owned(), 2))));
        let needs: Vec<_> = said.needs.iter().map(|(planned, value)| (planned.key, *value)).collect();
        assert_eq!(needs, [("compaction.capture", Some("true")), ("thp.cow", None)]);
    }

    /// Lines that are nearly right, to get past the parser of TOML.
    fn line() -> impl Strategy<Value = String> {
        let keys: Vec<_> = all_keys().chain(OWN_KEYS).chain(["pcp", "[pcp]", "", "\"\\n\"", "x"]).collect();
        let values = prop_oneof![
            Just("true".to_owned()),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| number.to_string()),
            "[0-9]{1,40}",
            "0x[0-9a-f]{1,20}",
            "'[a-z_ =.]{0,20}'",
            "\\[('[a-z_.]{0,20}( = [a-z]{1,5})?',? ?){0,3}\\]",
            "\\{[a-z]{0,5}\\}",
            Just("1979-05-27".to_owned()),
        ];
        let entry = (proptest::sample::select(keys), values).prop_map(|(key, value)| format!("{key} = {value}"));
        prop_oneof![9 => entry, 1 => ".*"]
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = PolicyText::parse("x", &text);
        }

        #[test]
        fn any_likely_text_is_read_or_refused_in_one_line(lines in prop::collection::vec(line(), 0..6)) {
            if let Err(error) = PolicyText::parse("x", &lines.join("\n")) {
                let message = error.to_string();
                prop_assert!(!message.chars().any(char::is_control) && message.chars().count() < 1000, "{}", message);
            }
        }

        #[test]
        fn what_is_read_can_be_set(lines in prop::collection::vec(line(), 0..3)) {
            let Ok(said) = PolicyText::parse("x", &lines.join("\n")) else { return Ok(()) };
            let mut policy = order9_mm::policy::Policy::default();
            for (switch, value) in said.settings {
                (switch.set)(&mut policy, value);
                prop_assert_eq!(switch.get(&policy), value);
            }
        }
    }
}
