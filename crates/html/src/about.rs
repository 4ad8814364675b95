//! The head of a report: what was run, with what it can be run again, and what a reader must know.

use std::path::Path;

use order9_record::{Inputs, Loaded, Memory};
use order9_report::number::{count_of, duration};
use serde::Serialize;

/// Inputs of the runs of one or several directories.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// One for each directory.
    pub experiments: Vec<Experiment>,
    /// Sentences that a reader of the results needs.
    pub notes: Vec<String>,
}

/// Inputs of one directory.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    /// Path of the directory as it was named.
    pub directory: String,
    /// Names and values, in words.
    pub facts: Vec<(&'static str, String)>,
    /// Commands that repeat the runs.
    pub commands: Vec<String>,
    /// The policies.
    pub policies: Vec<Text>,
    /// The whole machine.
    pub machine: Text,
    /// End of every run.
    pub runs: Vec<RunEnd>,
}

/// A long text under a name.
#[derive(Clone, Debug, Serialize)]
pub struct Text {
    /// Title of the policy, or name of the machine.
    pub name: String,
    /// Settings and missing mechanisms in a line; empty where there are none.
    pub about: String,
    /// The TOML file.
    pub text: String,
}

/// End of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunEnd {
    policy: String,
    seed: u64,
    elapsed: String,
    outcome: String,
    digest: String,
}

impl Experiment {
    /// The inputs of the run directory at `path`.
    #[must_use]
    pub fn of(path: &Path, loaded: &Loaded) -> Self {
        let manifest = &loaded.manifest;
        let inputs = &manifest.inputs;
        let directory = path.display().to_string();
        let mut commands = vec![inputs.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")];
        if inputs.memory != Memory::Live {
            commands.push(format!("order9 run --repeat {}", quoted(&directory)));
        }
        let runs = manifest.cells.iter().map(|cell| RunEnd {
            policy: cell.policy.clone(),
            seed: cell.seed,
            elapsed: duration(cell.durations.elapsed),
            outcome: cell.outcome.message().unwrap_or("completed").to_owned(),
            digest: cell.digest.to_string(),
        });
        let policy = |policy: &order9_record::Policy| Text {
            name: policy.title.clone(),
            about: pairs(&policy.settings),
            text: policy.text.clone(),
        };
        Self {
            facts: facts(inputs, &manifest.digest.to_string()),
            commands,
            policies: inputs.policies.iter().map(policy).collect(),
            machine: Text {
                name: inputs.machine.name.clone(),
                about: String::new(),
                text: inputs.machine.text.clone(),
            },
            runs: runs.collect(),
            directory,
        }
    }
}

fn facts(inputs: &Inputs, digest: &str) -> Vec<(&'static str, String)> {
    let parameters = inputs.workload.parameters.iter();
    let parameters: Vec<_> = parameters.map(|(key, value)| format!("{key} = {value}")).collect();
    let policies: Vec<_> = inputs.policies.iter().map(|policy| policy.title.as_str()).collect();
    let seeds: Vec<_> = inputs.seeds.iter().map(u64::to_string).collect();
    let recorded = &inputs.recorded;
    let all = [
        ("workload", inputs.workload.name.clone()),
        ("parameters", parameters.join(", ")),
        ("policies", policies.join(", ")),
        ("machine", inputs.machine.name.clone()),
        ("memory at the start", memory(&inputs.memory)),
        ("kernel command line", inputs.cmdline.clone()),
        ("settings", pairs(&inputs.settings)),
        ("seeds", seeds.join(", ")),
        ("counters read", format!("every {}", duration(recorded.every))),
        ("events kept", recorded.events.join(", ")),
        (
            "laws checked",
            if recorded.check_every == 0 {
                String::new()
            } else {
                format!("every {}", count_of(recorded.check_every, "step"))
            },
        ),
        ("version", format!("order9 {}", inputs.order9)),
        ("digest", digest.to_owned()),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn memory(memory: &Memory) -> String {
    match memory {
        Memory::Empty => "empty, as after boot".to_owned(),
        Memory::Synthetic { arguments } => format!("made up: {arguments}"),
        Memory::Snapshot { path, digest } => format!("the snapshot {path} (digest {digest})"),
        Memory::Live => "a live host, as it was".to_owned(),
    }
}

fn pairs(settings: &[(String, String)]) -> String {
    settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(["size=1G", "", "a b", "it's"].map(quoted), ["size=1G", "''", "'a b'", "'it'\\''s'"]);
    }
}
