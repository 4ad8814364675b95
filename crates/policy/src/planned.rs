//! Switches of published changes whose mechanism the engine does not have yet.
//!
//! A file that sets one is refused by name. It may say in `needs` which value it would set, so that whoever runs it knows
//! what the result leaves out. When a mechanism arrives its row moves to the table of switches, and every file that still
//! names it in `needs` is refused until it sets it.

/// A switch without a mechanism.
#[derive(Debug)]
pub struct Planned {
    /// Key of the planned switch.
    pub key: &'static str,
    /// The behaviour that it would change, in one sentence without its stop.
    pub meaning: &'static str,
    /// The values that may be needed.
    pub values: &'static [&'static str],
}

/// The value that takes a need of the base back: the behaviour is off, or does not exist there.
pub(crate) const OFF: &str = "false";

/// Every switch that the engine does not have yet.
pub static PLANNED: &[Planned] = &[Planned {
    key: "thp.khugepaged_sizes",
    meaning: "khugepaged collapses to the enabled sizes below a huge page as well",
    values: &["true"],
}];

/// The planned switch called `key`.
pub(crate) fn find(key: &str) -> Option<&'static Planned> {
    PLANNED.iter().find(|planned| planned.key == key)
}

impl Planned {
    /// The accepted values, for a message.
    pub(crate) fn expected(&self) -> String {
        let values = self.values.join(" or ");
        format!("{values}, or {OFF} to take a need of the base back")
    }

    /// The value written `text`; `None` for [`OFF`].
    pub(crate) fn value(&self, text: &str) -> Option<Option<&'static str>> {
        if text == OFF {
            return Some(None);
        }
        self.values.iter().find(|value| **value == text).map(|value| Some(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn no_switch_is_planned_twice_or_exists_already() {
        for (at, planned) in PLANNED.iter().enumerate() {
            assert!(PLANNED[..at].iter().all(|before| before.key != planned.key), "{} twice", planned.key);
            assert!(table::find(planned.key).is_none(), "{} exists", planned.key);
            assert!(planned.key.contains('.') && !planned.values.contains(&OFF), "{}", planned.key);
        }
    }
}
