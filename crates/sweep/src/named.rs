//! Names of cells: the digest of everything that decides what a cell gives.
//!
//! Comments, summaries and sources in policies and machines decide nothing, and neither do the path of a snapshot or the command that
//! asked: a cell keeps its name where they change.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use order9_record::{Digest, Inputs, Memory};

use crate::axes::Axes;
use crate::cell::ENGINE;

/// First line of the text that is digested; a change of the form is another number.
const VERSION: &str = "order9 sweep cell 1";
/// Keys that explain and decide nothing.
const EXPLAINS: [&str; 2] = ["summary", "source"];

/// Digests of texts of policies and machines, each made once.
#[derive(Debug, Default)]
pub(crate) struct Namer(BTreeMap<Digest, Digest>);

impl Namer {
    /// The name of a point, from the inputs of any of its cells.
    pub(crate) fn point(&mut self, axes: &Axes, inputs: &Inputs) -> Digest {
        let mut text = format!("{VERSION}\nengine {ENGINE}\n");
        let mut say = |what: &str, value: &str| {
            // Lengths keep one text from passing for two.
            let _ = writeln!(text, "{what} {} {value}", value.len());
        };
        axes.labels().for_each(|(axis, label)| say(axis, label));
        say("parameters", &format!("{:?}", inputs.workload.parameters));
        say("machine text", &self.of_text(&inputs.machine.text).to_string());
        say("memory at start", &memory(&inputs.memory));
        say("cmdline", &inputs.cmdline);
        let settings = |settings: &[(String, String)]| format!("{settings:?}");
        say("all settings", &settings(&inputs.settings));
        say("reserve", &inputs.reserve.get().to_string());
        say("recorded", &format!("{:?}", inputs.recorded));
        for policy in &inputs.policies {
            say("policy text", &self.of_text(&policy.text).to_string());
            say("policy settings", &settings(&policy.settings));
            say("guard", &policy.guard);
        }
        Digest::of_bytes(text.as_bytes())
    }

    /// The digest of what a TOML text decides.
    fn of_text(&mut self, text: &str) -> Digest {
        *self.0.entry(Digest::of_bytes(text.as_bytes())).or_insert_with(|| {
            let decides = toml::from_str(text).map(|mut table: toml::Table| {
                without_explanations(&mut table);
                format!("{table:?}")
            });
            Digest::of_bytes(decides.as_deref().unwrap_or(text).as_bytes())
        })
    }
}

/// The name of the cell of `point` with this seed.
pub(crate) fn cell(point: Digest, seed: u64) -> Digest {
    Digest::of_bytes(format!("{point} {seed}").as_bytes())
}

fn memory(memory: &Memory) -> String {
    match memory {
        Memory::Empty => "empty".to_owned(),
        Memory::Synthetic { arguments } => format!("synthetic {arguments}"),
        Memory::Snapshot { digest, .. } => format!("snapshot {digest}"),
        Memory::Live => "live".to_owned(),
    }
}

fn without_explanations(table: &mut toml::Table) {
    EXPLAINS.iter().for_each(|key| drop(table.remove(*key)));
    for (_, value) in table.iter_mut() {
        match value {
            toml::Value::Table(inner) => without_explanations(inner),
            toml::Value::Array(values) => {
                values.iter_mut().filter_map(toml::Value::as_table_mut).for_each(without_explanations);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_explains_decides_nothing() {
        let mut namer = Namer::default();
        let one = "summary = \"a\"\n[tlb]\ncount = 4 # mine\nsource = \"a book\"\n";
        let other = "# said elsewhere\n[tlb]\ncount = 4\n";
        assert_eq!(namer.of_text(one), namer.of_text(other));
        assert_ne!(namer.of_text(one), namer.of_text("[tlb]\ncount = 5\n"));
    }
}
