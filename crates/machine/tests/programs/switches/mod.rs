//! Every switch of the policy decides something: for each there is a small world that goes otherwise when it is flipped.
//!
//! Which world shows which switch stands in witnesses.txt, one line each: switch, policy, value it is flipped to, world.

mod alone;
mod engine;
mod huge_pages;
mod targeted;
mod worlds;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use order9_mm::policy::Policy;
use order9_policy::{Switch, Values, load, switches};

use self::worlds::{Seen, WORLDS, World};

const WITNESSES: &str = include_str!("witnesses.txt");

/// A line of witnesses.txt.
struct Witness<'a> {
    key: &'a str,
    base: &'a str,
    value: &'a str,
    world: &'a str,
}

fn witnesses() -> impl Iterator<Item = Witness<'static>> {
    WITNESSES.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [key, base, value, world] = words[..] else { panic!("witnesses.txt: {line:?} is no witness") };
        Witness { key, base, value, world }
    })
}

fn world(name: &str) -> World {
    let found = WORLDS.iter().find(|(own, _)| *own == name);
    found.unwrap_or_else(|| panic!("witnesses.txt: there is no world {name}")).1
}

fn policy(name: &str) -> Policy {
    load(name).unwrap_or_else(|error| panic!("witnesses.txt: {error}")).policy
}

#[test]
fn every_switch_of_the_policy_changes_a_run() {
    // Witnesses of one base and world share the run that nothing was flipped in.
    let mut shared: BTreeMap<(&str, &str), Vec<Witness<'_>>> = BTreeMap::new();
    for witness in witnesses() {
        shared.entry((witness.base, witness.world)).or_default().push(witness);
    }
    let work: Vec<_> = shared.into_iter().collect();
    let next = AtomicUsize::new(0);
    let unmoved: Vec<String> = thread::scope(|scope| {
        let run = || {
            let mut unmoved = Vec::new();
            while let Some(((base, name), witnesses)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                let world = world(name);
                let own = world(policy(base));
                for Witness { key, value, .. } in witnesses {
                    let flipped = world(policy(&format!("{base}+{key}={value}")));
                    if flipped == own {
                        unmoved.push(format!("{key} {base} {value} {name}"));
                    }
                }
            }
            unmoved
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("worlds do not panic")).collect()
    });
    assert!(unmoved.is_empty(), "these switches change nothing of their worlds: {unmoved:#?}");
}

#[test]
fn every_switch_has_a_witness() {
    for switch in switches() {
        assert!(shown(switch), "{}: no line in witnesses.txt; search_for_witnesses looks for one", switch.key);
    }
    assert_eq!(witnesses().count(), switches().count(), "witnesses.txt has one line for each switch, and no other");
}

fn shown(switch: &Switch) -> bool {
    witnesses().any(|witness| witness.key == switch.key)
}

/// Values of `switch` other than that of `base`, as policy files spell them.
fn others(switch: &Switch, base: &Policy) -> Vec<String> {
    let all: Vec<String> = match &switch.values {
        Values::Flag { .. } => ["true", "false"].map(str::to_owned).to_vec(),
        Values::Word { cases, .. } => cases.iter().map(|case| case.name.to_owned()).collect(),
        Values::Number { range, absent, .. } => {
            let ends = [range.start(), range.end()].map(ToString::to_string);
            ends.into_iter().chain(absent.map(|case| case.name.to_owned())).collect()
        }
    };
    let own = switch.get(base).to_string();
    all.into_iter().filter(|value| *value != own).collect()
}

/// Finds witnesses for switches without one, and prints them. `WORLDS` and `BASES` name some, separated by commas. A switch
/// that nothing shows needs a world of its own.
#[test]
#[ignore = "a tool for who adds a switch: it tries every world under six policies, for many minutes where nothing is found"]
fn search_for_witnesses() {
    let chosen = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let bases = chosen("BASES", "linux-6.18,linux-4.4,order9,linux-5.9,linux-4.19,linux-5.3-shrinker");
    let worlds = chosen("WORLDS", &WORLDS.map(|(name, _)| name).join(","));
    let mut left: Vec<_> = switches().filter(|switch| !shown(switch)).collect();
    for (name, world) in WORLDS.iter().filter(|(name, _)| worlds.split(',').any(|word| word == *name)) {
        for base in bases.split(',') {
            let policy = policy(base);
            let own: Seen = world(policy.clone());
            left.retain(|switch| {
                let witness = others(switch, &policy).into_iter().find(|value| {
                    // Combinations that exclude each other are no policies.
                    let flipped = load(&format!("{base}+{}={value}", switch.key));
                    flipped.is_ok_and(|flipped| world(flipped.policy) != own)
                });
                if let Some(value) = &witness {
                    println!("{} {base} {value} {name}", switch.key);
                }
                witness.is_none()
            });
            eprintln!("{name} under {base}: {} left", left.len());
        }
    }
}
