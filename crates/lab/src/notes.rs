//! Notes that a reader of tables needs beside the numbers.

use std::collections::BTreeMap;

use order9_record::{Inputs, Run};

/// Notes of several runs, each once, with the policies that it is about. What a policy needs and the engine does not have
/// comes last, one note for all of it: `order9 policies show` says what each would do.
#[must_use]
pub fn notes(inputs: &Inputs, runs: &[Run]) -> Vec<String> {
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for run in runs {
        let needs = inputs.policies.iter().find(|policy| policy.title == run.policy).map(|policy| &policy.needs);
        let keys: Vec<&str> = needs.into_iter().flatten().filter_map(|need| need.split(' ').next()).collect();
        for note in run.notes.iter().filter(|note| !keys.iter().any(|key| note.starts_with(key))) {
            let policies = said.entry(note).or_default();
            if !policies.contains(&run.policy.as_str()) {
                policies.push(&run.policy);
            }
        }
    }
    let about = |policies: &[&str]| {
        if policies.len() == inputs.policies.len() { String::new() } else { format!("{}: ", policies.join(", ")) }
    };
    let said = said.iter().map(|(note, policies)| format!("{}{note}", about(policies)));
    let needy = inputs.policies.iter().filter(|policy| !policy.needs.is_empty());
    let needs = needy
        .map(|policy| format!("{}: not modelled yet: {}", policy.title, policy.needs.join(", ").replace(" = ", "=")));
    said.chain(needs).collect()
}
