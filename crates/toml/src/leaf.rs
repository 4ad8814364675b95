//! The values of a document, each with its whole key and its place.

use toml::de::{DeTable, DeValue};

use crate::error::Problem;
use crate::words::shown;

/// A key with its tables, its value, and where the line of it begins.
#[derive(Clone, Debug)]
pub struct Leaf<'a> {
    /// Key with the tables it is in, by dots.
    pub key: String,
    /// Value of the key.
    pub value: &'a DeValue<'a>,
    /// The byte at which its own name starts.
    pub at: usize,
}

/// The values below `table`, in the order of the text. Tables that are no group of keys are values, to be judged as a whole.
#[must_use]
pub fn leaves<'a>(table: &'a DeTable<'a>, is_group: impl Fn(&str) -> bool) -> Vec<Leaf<'a>> {
    let mut leaves = Vec::new();
    collect(table, "", &is_group, &mut leaves);
    leaves.sort_by_key(|leaf| leaf.at);
    leaves
}

fn collect<'a>(table: &'a DeTable<'a>, prefix: &str, is_group: &dyn Fn(&str) -> bool, leaves: &mut Vec<Leaf<'a>>) {
    for (name, value) in table {
        let key = format!("{prefix}{}", name.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if is_group(&key) && !inner.is_empty() => {
                collect(inner, &format!("{key}."), is_group, leaves);
            }
            value => leaves.push(Leaf { key, value, at: name.span().start }),
        }
    }
}

impl<'a> Leaf<'a> {
    /// The values of a table in the order of the text, their keys below this one; none where the value is no table.
    #[must_use]
    pub fn entries(&self) -> Option<Vec<Self>> {
        let DeValue::Table(table) = self.value else { return None };
        let mut leaves = Vec::new();
        collect(table, &format!("{}.", self.key), &|_| false, &mut leaves);
        leaves.sort_by_key(|leaf| leaf.at);
        Some(leaves)
    }

    /// The elements of a list, each with the key of the list; none where the value is no list.
    #[must_use]
    pub fn elements(&self) -> Option<Vec<Self>> {
        let DeValue::Array(elements) = self.value else { return None };
        let element = |element: &'a toml::Spanned<DeValue<'a>>| Self {
            key: self.key.clone(),
            value: element.get_ref(),
            at: element.span().start,
        };
        Some(elements.iter().map(element).collect())
    }

    /// The refusal of its value.
    pub fn wrong(&self, expected: impl Into<String>) -> Problem {
        Problem::WrongValue { key: shown(&self.key), found: found(self.value), expected: expected.into() }
    }

    /// A string of plain characters: it is printed as it is.
    ///
    /// # Errors
    /// [`Problem::WrongValue`] for everything else.
    pub fn line_of_text(&self) -> Result<String, Problem> {
        match self.value {
            DeValue::String(text) if text.chars().all(order9_escape::is_plain) => Ok(text.clone().into_owned()),
            _ => Err(self.wrong("one line of text")),
        }
    }

    /// A whole number that is not negative.
    #[must_use]
    pub fn whole_number(&self) -> Option<u64> {
        let DeValue::Integer(number) = self.value else { return None };
        u64::from_str_radix(number.as_str(), number.radix()).ok()
    }
}

/// A value as it was written, or what kind of value it is.
#[must_use]
pub fn found(value: &DeValue<'_>) -> String {
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
