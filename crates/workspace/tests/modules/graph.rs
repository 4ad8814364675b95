//! Modules that reach each other.

use std::collections::{BTreeMap, BTreeSet};

/// Groups of more than one module each of which reaches every other along `edges`, in the order of names.
pub(crate) fn cycles<'a>(edges: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Vec<&'a str>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().insert(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|&from| (from, reach(from, &next))).collect();
    let mut groups = BTreeSet::new();
    for (&from, to) in &reached {
        let back = to.iter().filter(|to| reached.get(**to).is_some_and(|back| back.contains(from)));
        let group: Vec<&str> = back.copied().collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reach<'a>(from: &'a str, next: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for &to in next.get(at).into_iter().flatten() {
            if seen.insert(to) {
                open.push(to);
            }
        }
    }
    seen
}

#[test]
fn a_cycle_is_found_without_what_only_leads_to_it() {
    let edges = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")];
    assert_eq!(cycles(edges.into_iter()), [["b", "c"]]);
}
