//! Arguments replace what a file says.

use std::fs;

use order9_lab::scenario::{Scenario, ScenarioError};
use order9_lab::{Memory, Plan};
use order9_snapshot::format;
use order9_snapshot::synth::{SynthSpec, synth};
use order9_units::Bytes;
use order9_workloads::Value;

/// The plan of a scenario file with arguments. `{}` stands for its folder, where `map.o9snap` and `map` are a snapshot.
fn plan(text: &str, arguments: &[(&str, &str)]) -> Result<Plan, ScenarioError> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("mine.toml");
    fs::write(&path, text).expect("the file can be written");
    let (map, _) =
        synth(&SynthSpec { size: Bytes::new(256 << 20), ..SynthSpec::default() }).expect("a possible machine");
    let mut bytes = Vec::new();
    format::write(&map, &mut bytes).expect("memory takes everything");
    for name in ["map.o9snap", "map"] {
        fs::write(folder.path().join(name), &bytes).expect("the file can be written");
    }
    let mut scenario = Scenario::named(path.to_str().expect("UTF-8"))?;
    for (option, text) in arguments {
        scenario.argument(option, &text.replace("{}", folder.path().to_str().expect("UTF-8")))?;
    }
    scenario.plan(Vec::new())
}

fn refusal(text: &str, arguments: &[(&str, &str)]) -> String {
    plan(text, arguments).expect_err("a refusal").to_string()
}

const FILE: &str = "workload = 'usemem'\npolicies = ['linux-5.0', 'linux-5.1']\nmachine = 'desktop-8g'\n\
                    [parameters]\nsize = '1G'\nloops = 2\n[settings]\nvm.min_free_kbytes = 1000\n";

#[test]
fn settings_of_a_workload_come_first_and_give_way_to_those_asked_for() {
    let of = |arguments: &[(&str, &str)]| plan("workload = 'uptime'\n", arguments).unwrap().settings;
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(of(&[]), [setting("thp/enabled", "always"), setting("thp/defrag", "madvise")]);
    let asked = of(&[("--set", "thp/enabled=never")]);
    assert_eq!(asked, [setting("thp/defrag", "madvise"), setting("thp/enabled", "never")]);
}

#[test]
fn the_kernel_is_booted_with_one_command_line() {
    let file = "workload = 'idle'\n[boot]\ncmdline = 'transparent_hugepage=never'\n";
    let of = |arguments: &[(&str, &str)]| plan(file, arguments).unwrap().cmdline.text().to_owned();
    assert_eq!(of(&[]), "transparent_hugepage=never");
    assert_eq!(of(&[("--cmdline", "hugepages=8")]), "hugepages=8", "an argument replaces what the file says");
    assert_eq!(
        refusal(file, &[("--cmdline", "hugepage=8")]),
        "--cmdline hugepage=8: no kernel parameter is called 'hugepage'; did you mean hugepages?; docs/settings.md names all"
    );
}

#[test]
fn what_is_not_replaced_stays() {
    let arguments = [
        ("--policy", "linux-4.4"),
        ("--param", "loops=5"),
        ("--threads", "1,2"),
        ("--set", "vm/min_free_kbytes=2000"),
        ("--set", "vm.max_map_count=10"),
        ("--seeds", "2"),
        ("--every", "10ms"),
        ("--events", "mm_page_free"),
    ];
    let plan = plan(FILE, &arguments).unwrap();
    assert_eq!(plan.policies.len(), 1);
    assert_eq!((&plan.chosen["size"], &plan.chosen["loops"]), (&Value::Bytes(Bytes::from_gib(1)), &Value::Count(5)));
    assert_eq!(plan.chosen["threads"], Value::Counts(vec![1, 2]));
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected =
        [setting("thp/enabled", "always"), setting("vm.min_free_kbytes", "2000"), setting("vm.max_map_count", "10")];
    assert_eq!(plan.settings, expected);
    assert_eq!((plan.seeds.as_slice(), plan.sample_every.get()), (&[1, 2][..], 10_000_000));
    assert_eq!(plan.machine.name, "desktop-8g");
}

#[test]
fn a_snapshot_is_a_machine_with_the_prices_of_another() {
    for name in ["{}/map.o9snap", "{}/map"] {
        let plan = plan(FILE, &[("--machine", name)]).unwrap();
        assert_eq!(plan.machine.name, "epyc-vm");
        assert!(matches!(plan.memory, Memory::Snapshot { .. }));
    }
    let priced = plan(FILE, &[("--machine", "{}/map"), ("--prices", "xeon-2s")]).unwrap();
    assert_eq!(priced.machine.name, "xeon-2s");
    let memory = plan(FILE, &[("--memory", "{}/map")]).unwrap();
    assert_eq!(memory.machine.name, "desktop-8g");
    let replaced = plan("workload = 'idle'\n[memory]\nstart = 'synthetic'", &[("--machine", "{}/map")]).unwrap();
    assert!(matches!(replaced.memory, Memory::Snapshot { .. }));
    assert!(refusal(FILE, &[("--machine", "{}/map"), ("--memory", "synth")]).contains("which holds its memory"));
    assert!(refusal(FILE, &[("--prices", "xeon-2s")]).starts_with("--prices xeon-2s: prices are asked for"));
}

#[test]
fn refusals_name_the_argument() {
    let one = |option: &str, text: &str| refusal(FILE, &[(option, text)]);
    assert_eq!(one("--seeds", "0"), "--seeds 0: seeds is \"0\", expected how many seeds, from 1 to 10000");
    assert_eq!(one("--threads", "0"), "--threads 0: threads is \"0\", expected numbers from 1 to 4096");
    assert_eq!(one("--param", "loops"), "--param loops: expected KEY=VALUE");
    assert_eq!(one("--param", "lops=2"), "--param lops=2: usemem has no parameter lops; did you mean loops?");
    assert!(
        one("--policy", "linux-5.00")
            .starts_with("--policy linux-5.00: no policy is called 'linux-5.00'; did you mean")
    );
    let change = |change: &str| one("--policy", &format!("linux-6.18+{change}"));
    assert!(
        change("thp.defrag=always").contains("expected thp/defrag for the setting, or a policy file with the switch")
    );
    assert!(
        change("vm.swappines=1")
            .contains("no switch and no setting is called 'vm.swappines'; did you mean vm.swappiness?")
    );
    assert!(change("thp.coww=split").contains("did you mean thp.cow?"));
    assert!(
        one("--set", "vm.oom_dump_tasks=1")
            .starts_with("--set vm.oom_dump_tasks=1: vm.oom_dump_tasks is not modelled yet")
    );
    assert!(one("--memory", "full").contains("full: no such file or directory, expected"));
    let idle = refusal("workload = 'idle'", &[("--threads", "1")]);
    assert_eq!(idle, "--threads 1: idle has no parameter threads");
}

#[test]
fn a_policy_is_taken_apart_in_a_file_as_by_arguments() {
    let arguments = [("--ablate", "linux-5.0+p22"), ("--against", "linux-5.0")];
    let by_arguments = plan(FILE, &arguments).unwrap();
    let titles = |plan: &Plan| plan.policies.iter().map(|policy| policy.name.clone()).collect::<Vec<_>>();
    let expected = [
        "linux-5.0",
        "linux-5.0+p22",
        "linux-5.0+slow_path.stall_counts",
        "linux-5.0+p22-slow_path.stall_counts",
        "linux-5.0+compaction.capture",
        "linux-5.0+p22-compaction.capture",
    ];
    assert_eq!(titles(&by_arguments), expected, "the policies of the file are replaced");
    let file = "workload = 'usemem'\nablate = 'linux-5.0+p22'\nagainst = 'linux-5.0'\n";
    let by_file = plan(file, &[]).unwrap();
    assert_eq!(titles(&by_file), expected);
    assert_eq!(by_file.ablation.map(|ablation| ablation.switches.len()), Some(2));
    let replaced = plan(file, &[("--policy", "linux-4.4")]).unwrap();
    assert!(replaced.ablation.is_none() && titles(&replaced) == ["linux-4.4"]);
}

#[test]
fn what_takes_a_policy_apart_goes_together() {
    let file = |line: &str| refusal(&format!("workload = 'usemem'\n{line}"), &[]);
    assert!(
        file("ablate = 'linux-5.1'")
            .ends_with("mine.toml, line 2: expected the policy to hold it against, too: against")
    );
    let both = "policies = ['linux-4.4']\nablate = 'linux-5.1'\nagainst = 'linux-5.0'";
    assert!(file(both).ends_with("line 2: ablate and against name all policies: leave others out"));
    let setting = [("--ablate", "linux-5.0"), ("--against", "linux-4.4"), ("--set", "vm.watermark_boost_factor=0")];
    assert!(refusal("workload = 'usemem'", &setting).contains("does not exist under linux-4.4"));
}

#[test]
fn runs_are_repeated_unless_they_are_long_or_somebody_says_how_often() {
    let of = |text: &str, arguments: &[(&str, &str)]| {
        let plan = plan(text, arguments).unwrap();
        (plan.seeds, plan.notes)
    };
    assert_eq!(of(FILE, &[]), (vec![1, 2, 3], vec![]));
    assert_eq!(of(FILE, &[("--machine", "{}/map.o9snap")]), (vec![1, 2, 3], vec![]));
    let (seeds, notes) = of("workload = 'usemem'\n", &[("--machine", "server-1t")]);
    let why = "one run of each policy, since a run on 1024 GiB is long: --seeds says how often each is to run";
    assert_eq!((seeds, notes), (vec![1], vec![why.to_owned()]));
    let (seeds, notes) = of("workload = 'uptime'\n", &[]);
    assert_eq!(seeds, [1]);
    assert!(notes[0].contains("uptime is a long workload"), "{notes:?}");
    let fsmark = |parameter: &str| of("workload = 'fsmark'\n", &[("--param", parameter)]);
    assert_eq!(fsmark("iterations=2"), (vec![1, 2, 3], vec![]), "a tenth of a long workload");
    assert_eq!(fsmark("file_size=4096").0, [1], "as by default");
    let (seeds, notes) = of("workload = 'usemem'\n", &[("--param", "iterations=700")]);
    let why = "one run of each policy, since the parameters ask for 100 times the work of the defaults: --seeds says how often \
               each is to run";
    assert_eq!((seeds, notes), (vec![1], vec![why.to_owned()]));
    assert_eq!(of("workload = 'usemem'\n", &[("--machine", "server-1t"), ("--param", "size=1G")]).0, [1, 2, 3]);
    assert_eq!(of("workload = 'idle'\n", &[("--param", "time=1000h")]).0, [1], "by time");
    assert_eq!(of("workload = 'uptime'\n", &[("--seeds", "2")]), (vec![1, 2], vec![]));
    assert_eq!(of(&format!("seeds = [4]\n{FILE}"), &[]), (vec![4], vec![]));
}
