//! The scenarios of the repository can be run.

use std::fs;
use std::path::PathBuf;

use order9_lab::machines::load;
use order9_lab::scenario::{Named, Real, Scenario};
use order9_lab::{Memory, Plan};
use order9_units::Bytes;
use order9_workloads::Value;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"))
}

fn plan(name: &str) -> Plan {
    let path = folder().join(name);
    let scenario = Scenario::named(path.to_str().expect("UTF-8")).unwrap_or_else(|error| panic!("{error}"));
    scenario.plan(Vec::new()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_example_is_a_plan_and_says_how_to_run_it() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).expect("the folder is there") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().expect("a name").to_str().expect("UTF-8");
        // Those of the referee are for real kernels.
        let command = if name.starts_with("referee") { "validate" } else { "run" };
        match Named::read(path.to_str().expect("UTF-8")).unwrap_or_else(|error| panic!("{error}")) {
            Named::One(_) => drop(plan(name)),
            cases if command == "validate" => {
                let plans = cases.live(Real::Guests, &[]).unwrap_or_else(|error| panic!("{error}"));
                let machines = plans.iter().filter_map(|(_, plan)| plan.machine.as_deref());
                machines.for_each(|machine| drop(load(machine).unwrap_or_else(|error| panic!("{error}"))));
            }
            Named::Cases(cases) => {
                let rows = cases.plan(Bytes::from_gib(1), &[]).unwrap_or_else(|error| panic!("{error}"));
                let least = if name == "numa-thread.toml" { 10 } else { 1 };
                assert!(rows.len() >= least, "{name}");
            }
        }
        let text = fs::read_to_string(&path).expect("a readable file");
        assert!(text.contains(&format!("order9 {command} scenarios/{name}")), "{name}");
        seen += 1;
    }
    assert!(seen >= 4);
}

#[test]
fn an_example_means_what_it_says() {
    let plan = plan("usemem-two-releases.toml");
    assert_eq!((plan.workload.name(), plan.machine.name.as_str()), ("usemem", "desktop-8g"));
    assert_eq!(plan.policies.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>(), ["linux-5.0", "linux-5.1"]);
    assert_eq!(plan.seeds, [1, 2]);
    assert_eq!(plan.chosen["size"], Value::Bytes(Bytes::new(256 << 20)));
    assert_eq!(plan.chosen["threads"], Value::Counts(vec![1, 3]));
    assert!(matches!(plan.memory, Memory::Empty));
}

#[test]
fn tables_of_memory_settings_and_records_are_taken() {
    let aged = plan("aged-memory.toml");
    let Memory::Synthetic(made_up) = &aged.memory else { panic!("memory is made up") };
    assert_eq!((made_up.spec.fill, made_up.seed), (0.8, Some(7)));
    assert_eq!(aged.trace.chosen().collect::<Vec<_>>(), ["mm_page_alloc_extfrag"]);
    let watermarks = plan("large-watermarks.toml");
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        setting("thp/enabled", "always"),
        setting("vm.min_free_kbytes", "1048576"),
        setting("vm.watermark_scale_factor", "100"),
    ];
    assert_eq!(watermarks.settings, expected);
    assert_eq!(watermarks.sample_every.get(), 100_000_000);
    assert_eq!(plan("numa-overflow.toml").seeds, [1, 2, 3]);
}
