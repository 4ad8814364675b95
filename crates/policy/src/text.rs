//! One policy file as text: what it is based on, what it sets, what it would need. Nothing is looked up in other files.

use order9_toml::{Base, Definition, FileError, Kind, Leaf, Place, Preset, found, leaves};
use toml::Spanned;
use toml::de::DeValue;

use crate::error::Problem;
use crate::planned::{self, PLANNED, Planned};
use crate::presets::ALL;
use crate::switch::{Switch, Value, Values};
use crate::table::{self, switches};

/// Keys of a policy file that are no switches.
const OWN_KEYS: [&str; 3] = ["base", "summary", "needs"];

/// Contents of a policy file.
#[derive(Debug, Default)]
pub(crate) struct PolicyText {
    /// Summary of the policy, in one line; may be empty.
    pub(crate) summary: String,
    /// The policy that this one inherits from.
    pub(crate) base: Option<Base>,
    /// The switches it sets.
    pub(crate) settings: Vec<(&'static Switch, Value)>,
    /// Planned switches that the file would set if the engine had them.
    pub(crate) needs: Vec<Needed>,
}

/// A planned switch and the value it should have; `None` takes a need of the base back.
pub(crate) type Needed = (&'static Planned, Option<&'static str>);

impl Definition for PolicyText {
    const KIND: Kind = Kind { one: "policy", many: "policies" };
    type Problem = Problem;

    fn presets() -> &'static [Preset] {
        &ALL
    }

    fn parse(file: &str, text: &str) -> Result<Self, FileError<Problem>> {
        let place = Place::new(file, text);
        let document = place.parse()?;
        let mut policy = Self::default();
        for leaf in leaves(&document, is_group) {
            let line_of_text = || leaf.line_of_text().map_err(|problem| place.error(leaf.at, problem));
            match leaf.key.as_str() {
                "base" => policy.base = Some(Base { name: line_of_text()?, line: place.line(leaf.at) }),
                "summary" => policy.summary = line_of_text()?,
                "needs" => policy.needs = needs(&leaf, place)?,
                _ => policy.settings.push(setting(&leaf).map_err(|problem| place.error(leaf.at, problem))?),
            }
        }
        Ok(policy)
    }

    fn base(&self) -> Option<&Base> {
        self.base.as_ref()
    }
}

/// Whether `key` is a table of switches.
fn is_group(key: &str) -> bool {
    let inside = |full: &str| full.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    all_keys().any(inside)
}

/// Keys of all switches, planned ones too.
fn all_keys() -> impl Iterator<Item = &'static str> {
    switches().map(|switch| switch.key).chain(PLANNED.iter().map(|planned| planned.key))
}

fn switch_called(key: &str) -> Result<&'static Switch, Problem> {
    if let Some(switch) = table::find(key) {
        return Ok(switch);
    }
    match planned::find(key) {
        Some(planned) => Err(Problem::NotModelled { key: planned.key, meaning: planned.meaning }),
        None => Err(order9_toml::Problem::unknown_key(key, all_keys().chain(OWN_KEYS)).into()),
    }
}

fn setting(leaf: &Leaf<'_>) -> Result<(&'static Switch, Value), Problem> {
    let switch = switch_called(&leaf.key)?;
    let value = match (leaf.value, &switch.values) {
        (DeValue::Boolean(flag), _) => Some(Value::Flag(*flag)),
        (DeValue::String(word), values) => values.word(word),
        (_, Values::Number { .. }) => leaf.whole_number().map(Value::Number),
        _ => None,
    };
    match value.filter(|value| switch.values.admits(*value)) {
        Some(value) => Ok((switch, value)),
        None => Err(leaf.wrong(switch.values.expected()).into()),
    }
}

/// The entries of `needs`.
fn needs(leaf: &Leaf<'_>, place: Place<'_>) -> Result<Vec<Needed>, FileError<Problem>> {
    let DeValue::Array(entries) = leaf.value else {
        return Err(place.error(leaf.at, leaf.wrong("an array of \"switch = value\"")));
    };
    entries.iter().map(|entry| need(entry).map_err(|problem| place.error(entry.span().start, problem))).collect()
}

fn need(entry: &Spanned<DeValue<'_>>) -> Result<Needed, Problem> {
    let wrong = |key: &str, expected: String| {
        Problem::Any(order9_toml::Problem::WrongValue { key: key.to_owned(), found: found(entry.get_ref()), expected })
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
        return Err(order9_toml::Problem::unknown_key(key, PLANNED.iter().map(|planned| planned.key)).into());
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
        let text = "summary = 'mine'\nbase = 'linux-5.0'\nneeds = []\n";
        let said = PolicyText::parse("x", text).unwrap();
        assert_eq!((said.summary.as_str(), said.base), ("mine", Some(Base { name: "linux-5.0".to_owned(), line: 2 })));
        assert!(said.needs.is_empty(), "nothing is planned");
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
