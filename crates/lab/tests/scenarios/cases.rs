//! Files of cases: what each case is, and what is wrong with one is said with file and line.

use std::fs;

use order9_lab::scenario::{Named, Scenario, ScenarioError};
use order9_lab::{Memory, Plan};
use order9_units::Bytes;
use order9_workloads::Value;

const TOP: &str = "policies = ['thp-relax', 'thp-estimate']\nseeds = 2\nmachine = 'xeon-2s'\nnode_memory = '1 GiB'\n";

fn named(text: &str) -> Result<Named, ScenarioError> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("mine.toml");
    fs::write(&path, text).expect("the file can be written");
    Named::read(path.to_str().expect("UTF-8"))
}

fn planned(named: Named) -> Result<Vec<(String, Plan)>, ScenarioError> {
    let Named::Cases(cases) = named else { panic!("it holds cases") };
    cases.plan(Bytes::from_gib(1), &["order9".to_owned()])
}

/// The sentence that refuses these cases, without the folder of their file.
#[track_caller]
fn refused(cases: &str, expected: &str) {
    let error = named(&format!("{TOP}{cases}")).and_then(planned).expect_err("a refusal").to_string();
    let at = error.find("mine.toml").expect("the file is named");
    assert_eq!(&error[at..], expected);
}

const GUEST: &str = "[[case]]\nname = 'guest'\nworkload = 'vm-larger-than-node'\n";

#[test]
fn a_case_is_what_is_said_of_all_and_what_it_says_itself() {
    let fault = "[[case]]\nname = 'fault'\nworkload = 'fragmented-node-fault'\nmachines = ['rome-2s', 'spr-cxl']\n\
                 node_memory = '2 GiB'\nparameters = { size = '64M' }\n[case.memory]\nstart = 'synthetic'\n";
    let rows = planned(named(&format!("{TOP}{GUEST}{fault}")).expect("it is sound")).expect("it can be planned");
    let said: Vec<_> = rows.iter().map(|(case, plan)| (case.as_str(), plan.machine.name.as_str())).collect();
    assert_eq!(said, [("guest", "xeon-2s"), ("fault", "rome-2s"), ("fault", "spr-cxl")]);
    let memory = |row: usize| rows[row].1.machine.nodes.iter().map(|node| node.memory.get() >> 30).collect::<Vec<_>>();
    assert_eq!([memory(0), memory(1), memory(2)], [vec![1, 1], vec![2, 2], vec![2, 2, 2]]);
    for (_, plan) in &rows {
        assert_eq!(
            plan.policies.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>(),
            ["thp-relax", "thp-estimate"]
        );
        assert_eq!(plan.seeds, [1, 2]);
    }
    assert!(matches!((&rows[0].1.memory, &rows[1].1.memory), (Memory::Empty, Memory::Synthetic(_))));
    assert_eq!(rows[1].1.chosen["size"], Value::Bytes(Bytes::new(64 << 20)));
}

#[test]
fn one_case_is_an_experiment_of_its_own() {
    let text = format!("{TOP}{GUEST}");
    let guest =
        named(&text).and_then(|named| named.case("guest")).and_then(|one| one.plan(Vec::new())).expect("a plan");
    assert_eq!((guest.workload.name(), guest.machine.name.as_str()), ("vm-larger-than-node", "xeon-2s"));
    let wrong = |name: &str| named(&text).expect("it is sound").case(name).expect_err("a refusal").to_string();
    assert_eq!(wrong("gest"), "--case: no case is called 'gest'; did you mean guest?");
    let none = Named::read("usemem").expect("a workload").case("guest").expect_err("a refusal").to_string();
    assert_eq!(none, "--case: there are no cases, expected a scenario file with [[case]]");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("mine.toml");
    fs::write(&path, &text).expect("the file can be written");
    let one = Scenario::named(path.to_str().expect("UTF-8")).expect_err("a refusal").to_string();
    assert!(one.ends_with("holds cases, expected one experiment; --case names one of them"), "{one}");
}

#[test]
fn arguments_hold_for_all_cases() {
    let mut named = named(&format!("{TOP}{GUEST}machines = ['rome-2s', 'spr-2s']\n")).expect("it is sound");
    for (option, value) in [("--policy", "thp-noretry"), ("--machine", "xeon-2s-ssd"), ("--seeds", "1")] {
        named.argument(option, value).expect("it is taken");
    }
    let rows = planned(named).expect("it can be planned");
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].1.machine.name.as_str(), rows[0].1.seeds.len()), ("xeon-2s-ssd", 1));
    assert_eq!(rows[0].1.policies[0].name, "thp-noretry");
}

#[test]
fn what_is_wrong_with_a_case_is_said_where_it_is() {
    refused("[[case]]\nworkload = 'usemem'\n", "mine.toml, line 5: a case needs a name");
    refused(&format!("{GUEST}{GUEST}"), "mine.toml, line 8: two cases are called 'guest'");
    refused(&format!("{GUEST}polices = []\n"), "mine.toml, line 8: unknown key polices; did you mean policies?");
    refused(
        &format!("{GUEST}seeds = 3\n"),
        "mine.toml, line 8: seeds holds for all cases: expected it above the first [[case]]",
    );
    refused(
        &format!("{GUEST}parameters = {{ siez = '1G' }}\n"),
        "mine.toml, line 8: vm-larger-than-node has no parameter siez; did you mean size?",
    );
    refused(
        &format!("{GUEST}machine = 'rome-2s'\nmachines = ['rome-2s']\n"),
        "mine.toml, line 8: a case has either a machine or machines",
    );
    refused(
        &format!("{GUEST}machines = ['rome-2z']\n"),
        "mine.toml, line 8: no machine is called 'rome-2z'; did you mean rome-2s?; `order9 machines list` names all, a file is \
         given with / or .toml in its name",
    );
    refused(
        "[[case]]\nname = 'x'\nworkload = 'usemem'\n",
        "mine.toml, line 5: usemem does not measure the time to touch memory and to use it, expected one of \
         fragmented-node-fault, thpfioscale, vm-larger-than-node",
    );
    refused(
        &format!("{GUEST}node_memory = '100 MiB'\n"),
        "mine.toml, line 8: node_memory is \"100 MiB\", expected a multiple of 128 MiB, such as \"8 GiB\"",
    );
    refused("case = 1\n", "mine.toml, line 5: case is 1, expected [[case]] for each case");
}
