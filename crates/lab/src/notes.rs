//! Notes that a reader of tables needs beside the numbers.

use std::collections::BTreeMap;

use order9_record::{Inputs, Policy, Run};

/// Notes of several runs, each once, with the policies that it is about. What the policy of one of these runs needs and the
/// engine does not have comes last, one note for all of it: `order9 policies show` says what each would do.
#[must_use]
pub fn notes(inputs: &Inputs, runs: &[&Run]) -> Vec<String> {
    let with_runs = |policy: &&Policy| runs.iter().any(|run| run.policy == policy.title);
    let policies: Vec<&Policy> = inputs.policies.iter().filter(with_runs).collect();
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for run in runs {
        let needs = policies.iter().find(|policy| policy.title == run.policy).map(|policy| &policy.needs);
        let keys: Vec<&str> = needs.into_iter().flatten().filter_map(|need| need.split(' ').next()).collect();
        for note in run.notes.iter().filter(|note| !keys.iter().any(|key| note.starts_with(key))) {
            let policies = said.entry(note).or_default();
            if !policies.contains(&run.policy.as_str()) {
                policies.push(&run.policy);
            }
        }
    }
    let about = |titles: &[&str]| {
        if titles.len() == policies.len() { String::new() } else { format!("{}: ", titles.join(", ")) }
    };
    let said = said.iter().map(|(note, policies)| format!("{}{note}", about(policies)));
    let needy = policies.iter().filter(|policy| !policy.needs.is_empty());
    let needs = needy
        .map(|policy| format!("{}: not modelled yet: {}", policy.title, policy.needs.join(", ").replace(" = ", "=")));
    said.chain(needs).collect()
}
