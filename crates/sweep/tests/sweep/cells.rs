//! Cells: names, and the same results wherever and however a cell runs.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use order9_sweep::{Cell, HostTimes, Seeds, Shard, SweepError};

use crate::support::{AVAILABLE, Place, SMALL};

#[test]
fn a_cell_that_was_sent_elsewhere_has_the_same_results() {
    let place = Place::new();
    let memory = "[memory]\nstart = \"synthetic\"\nfill = 0.5\n";
    let plan = place.plan(&format!("{SMALL}[settings]\nvm.swappiness = 10\n{memory}")).unwrap();
    let point = &plan.points()[3];
    let here = point.run(2);
    assert_eq!(here.message, "");
    let sent = serde_json::to_string(&point.cell(2)).unwrap();
    // Nothing of the folder is needed there.
    drop(place);
    let arrived: Cell = serde_json::from_str(&sent).unwrap();
    let there = arrived.run(AVAILABLE).unwrap();
    let without_times = |done: order9_sweep::Done| order9_sweep::Done { host: HostTimes::default(), ..done };
    assert_eq!(without_times(here), without_times(there));
}

#[test]
fn a_description_that_was_changed_does_not_run() {
    let plan = Place::new().plan(SMALL).unwrap();
    let cell = plan.cells().next().unwrap();
    let changed = [
        {
            let mut point = (*cell.point).clone();
            point.axes.policy = "mine".to_owned();
            point
        },
        {
            let mut point = (*cell.point).clone();
            point.inputs.settings.push(("vm.swappiness".to_owned(), "1".to_owned()));
            point
        },
    ];
    for point in changed {
        let cell = Cell { point: Arc::new(point), seed: cell.seed };
        assert!(matches!(cell.run(AVAILABLE), Err(SweepError::OtherCell { .. })));
    }
}

#[test]
fn a_name_changes_with_what_decides_and_with_nothing_else() {
    let place = Place::new();
    let names = |text: &str| place.plan(text).unwrap().cells().map(|cell| cell.name()).collect::<Vec<_>>();
    let before = names(SMALL);
    assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), 8, "all differ");
    assert_eq!(names(&format!("# a remark\n{SMALL}")), before);

    let machine = fs::read_to_string(place.path("tiny.toml")).unwrap();
    fs::write(place.path("tiny.toml"), machine.replace("Made up: small.", "From a book.")).unwrap();
    assert_eq!(names(SMALL), before, "a source decides nothing");
    fs::write(place.path("tiny.toml"), machine.replace("1 MiB", "2 MiB")).unwrap();
    assert!(names(SMALL).iter().all(|name| !before.contains(name)), "a machine of other tables");
    fs::write(place.path("tiny.toml"), machine).unwrap();

    let more = names(&SMALL.replace("seeds = 2", "seeds = 3"));
    assert!(before.iter().all(|name| more.contains(name)), "further seeds leave the others as they are");
    let others = names(&format!("{SMALL}[settings]\nvm.swappiness = 10\n"));
    assert!(others.iter().all(|name| !before.contains(name)));
}

#[test]
fn parts_are_the_whole_and_of_one_size() {
    let plan = Place::new().plan(SMALL).unwrap();
    for parts in 1..=5_u32 {
        let mut names = Vec::new();
        for part in 1..=parts {
            let points = format!("{part}/{parts}").parse::<Shard>().unwrap().of(plan.points().to_vec());
            let usual = 4 / parts as usize;
            assert!((usual..=usual + 1).contains(&points.len()), "{part}/{parts}: {}", points.len());
            names.extend(points.iter().map(|point| point.name()));
        }
        names.sort_unstable();
        let mut all: Vec<_> = plan.points().iter().map(|point| point.name()).collect();
        all.sort_unstable();
        assert_eq!(names, all);
    }
}

#[test]
fn seeds_are_those_that_the_plan_names() {
    let plan = Place::new().plan(&SMALL.replace("seeds = 2", "seeds = [5, 9]")).unwrap();
    assert!(matches!(plan.seeds(&plan.points()[0]), Seeds::Named([5, 9])));
    assert_eq!(plan.cells().map(|cell| cell.seed).collect::<Vec<_>>(), [5, 9].repeat(4));
}
