//! Folders of cells: resumed, extended, merged, verified; failures with their message.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use order9_record::Digest;
use order9_sweep::{
    Axes, Course, Done, End, Ended, Folder, Kept, Making, Probe, Progress, Summary, SweepError, merge, outlook, sample,
    sweep, verify, write_results,
};

use crate::support::{AVAILABLE, Nobody, Place, SMALL, cells, results, run};

/// Every file below `folder` with its bytes, by path.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(
                files(&path)
                    .into_iter()
                    .map(|(below, bytes)| (Path::new(path.file_name().unwrap()).join(below), bytes)),
            );
        } else {
            all.push((path.file_name().unwrap().into(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

fn written(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let cells = cells(root);
    write_results(&Folder::open(root, None).unwrap(), cells).unwrap();
    files(&root.join("results"))
}

#[test]
fn results_do_not_depend_on_jobs_or_parts() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    let swept = run(&plan, &place.path("one"), 1);
    assert_eq!((swept.ran, swept.kept, swept.left), (8, 0, 0));
    run(&plan, &place.path("two"), 3);
    assert_eq!(results(&place.path("one")), results(&place.path("two")));
    let whole = written(&place.path("one"));
    assert_eq!(whole.len(), 2, "a file for each policy: {:?}", whole.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(whole[0].0, Path::new("policy=linux-5.0/machine=tiny/cells.parquet"));
    assert_eq!(whole, written(&place.path("two")));
    assert_eq!(whole, written(&place.path("one")), "written again");

    let mut parts = Vec::new();
    for part in ["1/3", "2/3", "3/3"] {
        let points = part.parse::<order9_sweep::Shard>().unwrap().of(plan.points().to_vec());
        let root = place.path(&part.replace('/', "-of-"));
        let (folder, stop) = (Folder::open(&root, None).unwrap(), AtomicBool::new(false));
        let making = Making { jobs: NonZeroUsize::MIN, available: AVAILABLE, stop: &stop };
        sweep(&plan, &points, &folder, making, &Nobody).unwrap();
        parts.push(root);
    }
    let all = place.path("all");
    let merged = merge(&parts, &Folder::open(&all, None).unwrap()).unwrap();
    assert_eq!(merged.len(), 8);
    assert_eq!(written(&all), whole);
    assert_eq!(Summary::of(merged, None).digest, Summary::of(cells(&place.path("one")), None).digest);
}

/// Stops a sweep after some cells.
struct StopAfter<'a> {
    cells: u64,
    ended: AtomicU64,
    stop: &'a AtomicBool,
}

impl Progress for StopAfter<'_> {
    fn ended(&self, ended: Ended<'_>) {
        assert!(ended.ended <= ended.total);
        if self.ended.fetch_add(1, Ordering::Relaxed) + 1 == self.cells {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_sweep_that_was_stopped_goes_on() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    let root = place.path("sweep");
    let stop = AtomicBool::new(false);
    let watch = StopAfter { cells: 3, ended: AtomicU64::new(0), stop: &stop };
    let folder = Folder::open(&root, None).unwrap();
    let making = Making { jobs: NonZeroUsize::MIN, available: AVAILABLE, stop: &stop };
    let swept = sweep(&plan, plan.points(), &folder, making, &watch).unwrap();
    assert_eq!((swept.ran, swept.kept, swept.left), (3, 0, 5));
    drop(folder);
    let swept = run(&plan, &root, 2);
    assert_eq!((swept.ran + swept.kept, swept.left), (8, 0));
    assert!(swept.kept >= 3, "{swept:?}");
    assert_eq!(run(&plan, &root, 2).kept, 8);

    let longer = place.plan(&SMALL.replace("seeds = 2", "seeds = 3")).unwrap();
    let swept = run(&longer, &root, 2);
    assert_eq!((swept.ran, swept.kept), (4, 8), "a plan that changed runs what is new");
    let shorter = place.plan(&SMALL.replace("\"8M\", ", "")).unwrap();
    assert_eq!(run(&shorter, &root, 2).kept, 4);
    assert_eq!(cells(&root).len(), 12, "old cells stay");
}

#[test]
fn a_cache_serves_several_sweeps() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    let (cache, stop) = (place.path("cache"), AtomicBool::new(false));
    let making = Making { jobs: NonZeroUsize::MIN, available: AVAILABLE, stop: &stop };
    let of = |name: &str| Folder::open(&place.path(name), Some(&cache)).unwrap();
    assert_eq!(sweep(&plan, plan.points(), &of("one"), making, &Nobody).unwrap().ran, 8);
    assert_eq!(sweep(&plan, plan.points(), &of("two"), making, &Nobody).unwrap().kept, 8);
    assert_eq!(cells(&place.path("two")).len(), 8, "a folder is whole without its cache");
}

#[test]
fn failures_are_results_with_a_message() {
    let place = Place::new();
    let plan = place
        .plan("workload = \"fill-and-free\"\nmachine = \"tiny.toml\"\nseeds = 1\n[axes.parameters]\nsize = [\"8M\", \"64G\"]\nrounds = [1]\n")
        .unwrap();
    let root = place.path("sweep");
    assert_eq!(run(&plan, &root, 1).ran, 2);
    assert_eq!(run(&plan, &root, 1).kept, 2, "failures are kept, too");
    let summary = Summary::of(cells(&root), None);
    let [failure] = summary.failures.as_slice() else { panic!("{:?}", summary.failures) };
    assert_ne!(failure.end, End::Completed);
    assert!(!failure.message.is_empty());
    assert_eq!((summary.cells, summary.completed), (2, 1));
    let all = cells(&root);
    write_results(&Folder::open(&root, None).unwrap(), all).unwrap();
}

#[test]
fn two_results_of_one_cell_are_refused() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    run(&plan, &place.path("one"), 2);
    let first = cells(&place.path("one")).remove(0);
    let other = Done { digest: Some(Digest::of_bytes(b"other")), ..first.clone() };
    Folder::open(&place.path("two"), None).unwrap().keep(&other).unwrap();
    let all = Folder::open(&place.path("all"), None).unwrap();
    let error = merge(&[place.path("one"), place.path("two")], &all).unwrap_err();
    assert!(matches!(error, SweepError::TwoResults { cell, .. } if cell == first.cell), "{error}");
    let nothing = merge(&[place.path("nowhere")], &all).unwrap_err();
    assert!(matches!(nothing, SweepError::NoSweep { .. }), "{nothing}");
}

#[test]
fn a_sample_finds_what_came_out_otherwise() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    run(&plan, &place.path("sweep"), 2);
    let cells = cells(&place.path("sweep"));
    let share = |text: &str| text.parse().expect("a share");
    assert_eq!(sample(&cells, share("1%"), 1).len(), 1);
    assert_eq!(sample(&cells, share("26%"), 1).len(), 3);
    assert_eq!(sample(&cells, share("50%"), 1), sample(&cells, share("50%"), 1));
    assert_ne!(sample(&cells, share("50%"), 1), sample(&cells, share("50%"), 2));
    for kept in sample(&cells, share("100%"), 1) {
        assert!(verify(plan.points(), kept).is_none());
    }
    let mut changed = cells[0].clone();
    changed.measures[0].value += 1.0;
    assert!(verify(plan.points(), &changed).is_some());
}

#[test]
fn a_stop_rule_adds_seeds_until_it_holds() {
    let place = Place::new();
    let text = "workload = \"fill-and-free\"\nmachine = \"tiny.toml\"\n[memory]\nstart = \"synthetic\"\nfill = 0.5\n\
                [parameters]\nsize = \"32M\"\npattern = \"random\"\nrounds = 1\n[until]\nmeasure = MEASURE\ninterval = \"1%\"\nseeds = [2, 6]\n";
    let measure = operation();
    let plan = place.plan(&text.replace("MEASURE", &format!("\"{measure} mean\""))).unwrap();
    let one = run(&plan, &place.path("one"), 1);
    let two = run(&plan, &place.path("two"), 3);
    assert_eq!((one, results(&place.path("one"))), (two, results(&place.path("two"))), "jobs decide nothing");
    assert!((2..=6).contains(&one.ran), "{one:?}");
    let ended = cells(&place.path("one"));
    assert!(plan.further(&plan.points()[0], &ended).is_empty());
    let begun: Vec<Done> = ended.into_iter().filter(|done| done.seed <= 2).collect();
    let expected: &[u64] = if one.ran == 2 { &[] } else { &[3] };
    assert_eq!(plan.further(&plan.points()[0], &begun), expected, "another engine is told the same");
    let decided = Summary::of(cells(&place.path("one")), plan.until()).until.expect("there is a rule");
    assert_eq!(decided.reached + decided.missed, 1);
    assert!(one.ran == 6 || decided.reached == 1, "it ends early only where it is known: {one:?} {decided:?}");
    assert_eq!(run(&plan, &place.path("one"), 2).ran, 0, "a point that has ended stays so");
}

#[test]
fn an_engine_may_answer_in_any_order_and_twice() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    let here = place.path("here");
    run(&plan, &here, 1);
    let folder = Folder::open(&place.path("engine"), None).unwrap();
    folder.keep(&plan.points()[0].run(1)).unwrap();
    let mut course = Course::new(&plan, plan.points());
    let mut sent = Vec::new();
    while course.ready(&folder, &Nobody).unwrap().is_some() {
        let (point, seed) = course.take();
        sent.push(point.cell(seed));
    }
    assert_eq!((course.swept().kept, course.swept().left), (1, 7), "what is kept is passed over");
    for cell in sent.iter().rev() {
        let done = cell.run(AVAILABLE).unwrap();
        folder.keep(&done).unwrap();
        course.ended(&done, &Nobody);
        course.ended(&done, &Nobody);
    }
    let swept = course.swept();
    assert_eq!((swept.ran, swept.kept, swept.left), (7, 1, 0));
    assert!(course.ready(&folder, &Nobody).unwrap().is_none());
    assert_eq!(folder.cells(&plan, &plan.points()[..1]).unwrap().len(), 2, "both seeds of a point");
    drop(folder);
    assert_eq!(results(&place.path("engine")), results(&here));
}

/// An operation that fill-and-free measures.
fn operation() -> &'static str {
    order9_workloads::Workload::FillAndFree.spec().measures[0].operations[0]
}

#[test]
fn an_outlook_knows_what_is_kept_and_estimates_the_rest() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    let root = place.path("sweep");
    let kept = Kept::of(Some(&root), None);
    let blind = outlook(&plan, plan.points(), &kept, Probe::Never).unwrap();
    assert_eq!(
        (blind.points, blind.cells, blind.cells_at_most, blind.kept, blind.estimate.is_some()),
        (4, 8, 8, 0, false)
    );
    let measured = outlook(&plan, plan.points(), &kept, Probe::Within(std::time::Duration::from_secs(60))).unwrap();
    let estimate = measured.estimate.expect("a cell was measured");
    assert!(
        estimate.cpu_ns > order9_units::Nanos::ZERO
            && estimate.basis.starts_with("measured now: a cell of map-and-write on tiny")
    );
    assert!(!root.exists(), "nothing is left behind");
    let shorter = place.plan(&SMALL.replace("seeds = 2", "seeds = 1")).unwrap();
    run(&shorter, &root, 2);
    let half = outlook(&plan, plan.points(), &kept, Probe::Never).unwrap();
    assert_eq!(half.kept, 4);
    assert_eq!(half.estimate.expect("four cells have run").basis, "from the times of 4 cells that are kept");
}

#[test]
fn a_host_without_memory_for_a_cell_says_so() {
    let place = Place::new();
    let plan = place.plan(SMALL).unwrap();
    let (folder, stop) = (Folder::open(&place.path("sweep"), None).unwrap(), AtomicBool::new(false));
    let making = Making { jobs: NonZeroUsize::MIN, available: order9_units::Bytes::new(1 << 20), stop: &stop };
    let error = sweep(&plan, plan.points(), &folder, making, &Nobody).unwrap_err();
    assert!(error.to_string().starts_with("a cell on tiny takes "), "{error}");
}

#[test]
fn labels_are_read_by_name() {
    let axes: Axes = Place::new().plan(SMALL).unwrap().points()[0].axes().clone();
    assert_eq!(
        (axes.label("size"), axes.label("machine"), axes.label("colour")),
        (Some("8388608"), Some("tiny"), None)
    );
}
