//! Plans: axes, exclusions, refusals with their line and the nearest name.

use crate::support::{Place, SMALL};

fn labels(plan: &order9_sweep::Plan) -> Vec<String> {
    let line =
        |point: &order9_sweep::Point| point.axes().labels().map(|(_, label)| label).collect::<Vec<_>>().join(" ");
    plan.points().iter().map(line).collect()
}

#[test]
fn points_are_all_combinations_that_are_not_excluded() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    let expected = [
        "map-and-write linux-5.0 tiny empty 8388608",
        "map-and-write linux-6.18 tiny empty 8388608",
        "map-and-write linux-5.0 tiny empty 16777216",
        "map-and-write linux-6.18 tiny empty 16777216",
    ];
    assert_eq!(labels(&plan), expected);
    assert_eq!(plan.cells().count(), 8);

    let excluded =
        format!("{SMALL}[[exclude]]\npolicy = \"linux-5.0\"\nsize = [\"16M\", \"8M\"]\n[[exclude]]\nsize = \"8M\"\n");
    assert_eq!(labels(&place.plan(&excluded).unwrap()), expected[3..]);
}

#[test]
fn memories_settings_and_workloads_are_axes() {
    let place = Place::new();
    let plan = place
        .plan(
            "workloads = [\"map-and-write\", \"fill-and-free\"]\nmachines = [\"tiny.toml\"]\npolicies = [\"linux-6.18\"]\n\
             [parameters]\nrounds = 1\n\
             [[memory]]\nname = \"empty\"\nstart = \"empty\"\n[[memory]]\nname = \"used\"\nstart = \"synthetic\"\nfill = 0.3\n\
             [axes.settings]\nvm.swappiness = [0, 60]\n\"thp/defrag\" = [\"always\", \"never\"]\n",
        )
        .unwrap();
    assert_eq!(plan.points().len(), 2 * 2 * 2 * 2);
    let last = plan.points().last().unwrap().axes();
    let all: Vec<_> = last.labels().collect();
    let expected = [
        ("workload", "fill-and-free"),
        ("policy", "linux-6.18"),
        ("machine", "tiny"),
        ("memory", "used"),
        ("rounds", "1"),
        ("vm.swappiness", "60"),
        ("thp/defrag", "never"),
    ];
    assert_eq!(all, expected);
    assert_eq!(plan.points()[0].axes().label("rounds"), None, "map-and-write has no rounds");
}

#[test]
fn refusals_name_line_expectation_and_nearest_name() {
    let place = Place::new();
    let with = |line: &str| place.refusal(&format!("{SMALL}{line}"));
    let head = "workload = \"map-and-write\"\nmachine = \"tiny.toml\"\n";
    assert_eq!(
        place.refusal(&format!("{head}polices = [\"linux-5.0\"]\n")),
        "plan.toml, line 3: unknown key polices; did you mean policies?"
    );
    assert!(with("[axis]\nx = 1\n").starts_with("plan.toml, line 7: unknown key axis"));
    assert_eq!(
        with("sise = [\"8M\"]\n"),
        "plan.toml, line 7: none of map-and-write has a parameter sise; did you mean size?"
    );
    assert_eq!(
        with("[parameters]\nsize = \"8M\"\n"),
        "plan.toml, line 6: parameters.size is an axis, and has one value for all cells above"
    );
    assert_eq!(with("hold = [\"1s\", \"1s\"]\n"), "plan.toml, line 7: parameters.hold has \"1s\" twice");
    assert_eq!(with("hold = \"1s\"\n"), "plan.toml, line 7: parameters.hold is \"1s\", expected a list of values");
    assert_eq!(
        with("[axes.settings]\nvm.swapiness = [1]\n"),
        "plan.toml, line 8: no setting is called 'vm.swapiness'; did you mean vm.swappiness?; docs/settings.md names all"
    );
    assert_eq!(
        with("[[exclude]]\npolicy = \"linux-5.1\"\n"),
        "plan.toml, line 8: policy never is linux-5.1, expected linux-5.0, linux-6.18"
    );
    assert_eq!(
        with("[[exclude]]\npolcy = \"linux-5.0\"\n"),
        "plan.toml, line 8: no axis is called 'polcy'; did you mean policy?"
    );
    assert_eq!(with("[[exclude]]\nsize = [\"8M\", \"16M\"]\n"), "plan.toml, line 7: every combination is excluded");
    assert_eq!(with("[until]\nmeasure = \"write p95\"\n"), "plan.toml, line 4: a plan has either seeds or until");
    assert_eq!(
        place.refusal("machine = \"tiny.toml\"\n"),
        "plan.toml, line 1: expected a workload, such as workload = \"usemem\""
    );
    assert_eq!(
        place.refusal(&format!("{head}machines = [\"tiny.toml\"]\n")),
        "plan.toml, line 3: a plan has either machine or machines"
    );
    assert_eq!(
        place.refusal(&format!("{head}ablate = \"order9\"\n")),
        "plan.toml, line 3: ablate has no place in a sweep: expected the policies to compare, such as \"linux-6.18+fallback.claim=never\""
    );
    assert_eq!(
        place.refusal(&format!("{head}[[memory]]\nstart = \"empty\"\n")),
        "plan.toml, line 3: expected a name of this memory, such as name = \"aged\""
    );
}

#[test]
fn a_stop_rule_is_checked_against_the_workload() {
    let place = Place::new();
    let head = "workload = \"hugealloc\"\nmachine = \"tiny.toml\"\n[until]\n";
    let with = |lines: &str| place.refusal(&format!("{head}{lines}"));
    assert!(
        with("measure = \"aloc p95\"\n")
            .starts_with("plan.toml, line 4: hugealloc has no measure 'aloc p95', expected an operation (alloc, ")
    );
    assert!(with("measure = \"alloc p96\"\n").ends_with("and one of mean, p50, p95, p99, max"));
    assert!(
        with("measure = \"alloc p95\"\ninterval = \"0%\"\n")
            .ends_with("expected a share up to \"100%\", such as \"5%\"")
    );
    assert!(
        with("measure = \"alloc p95\"\nseeds = [1, 5]\n")
            .ends_with("expected least and most seeds, such as [3, 20], with two at least")
    );
    assert!(with("interval = \"5%\"\n").ends_with("until needs a measure, such as measure = \"alloc p95\""));
    assert!(
        with("measure = \"alloc p95\"\nmeasures = 1\n")
            .ends_with("unknown key until.measures; did you mean until.measure?")
    );
    let plan = place
        .plan(&format!("{head}measure = [\"alloc p95\", \"alloc mean\"]\ninterval = \"2.5%\"\nseeds = [3, 9]\n"))
        .unwrap();
    assert_eq!(plan.until().unwrap().in_words(), "alloc p95, alloc mean within 2.5 %, 3 to 9 seeds");
    assert_eq!(plan.cells().count(), 3);
}

#[test]
fn the_plans_of_the_repository_can_be_run_and_say_how() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../sweeps"));
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("a readable folder").path();
        let plan = order9_sweep::Plan::read(path.to_str().expect("UTF-8"), crate::support::AVAILABLE);
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        assert!(plan.points().len() > 1);
        let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        assert!(plan.text().contains(&format!("order9 sweep sweeps/{name}")), "{name}");
        seen += 1;
    }
    assert!(seen >= 1);
}

#[test]
fn the_document_has_every_key() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweep.md")).expect("it is there");
    for key in order9_sweep::KEYS {
        let row = format!("| `{}` | {} | {} |", key.key, key.takes, key.meaning);
        assert!(text.contains(&row), "docs/sweep.md lacks the row\n{row}");
    }
}
