//! `order9 sweep` and `order9 merge`: sweeps of tiny cells, killed in the middle, in parts, verified, and queried as the document says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::golden::compare;
use crate::schemas::hold;
use crate::support::{Ran, folder_with_machine, order9};

/// A plan of 8 points and 16 cells, a few milliseconds each.
const PLAN: &str = "\
workload = \"fill-and-free\"
machine = \"tiny.toml\"
policies = [\"linux-5.0\", \"linux-6.18\"]
seeds = 2
[parameters]
pattern = \"random\"
rounds = 1
[axes.parameters]
size = [\"16M\", \"32M\"]
[axes.settings]
vm.swappiness = [0, 60]
";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(folder_with_machine());
        place.plan(PLAN);
        place
    }

    fn plan(&self, text: &str) {
        fs::write(self.path("plan.toml"), text).expect("the file can be written");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `order9`; words with a `/` or an ending are paths of the folder.
    fn order9(&self, line: &str) -> Ran {
        order9(line.split(' ').map(|word| self.word(word)))
    }

    fn word(&self, word: &str) -> String {
        let is_path = word.starts_with("./") || word.ends_with(".toml");
        if is_path {
            self.path(word.trim_start_matches("./")).to_str().expect("UTF-8").to_owned()
        } else {
            word.to_owned()
        }
    }

    /// `text` without the path of the folder.
    fn plain(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }

    fn json(&self, line: &str) -> Value {
        let text = self.order9(&format!("{line} --json")).success();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Names of the cells that a folder holds.
fn cells(folder: &Path) -> BTreeSet<PathBuf> {
    let parts = fs::read_dir(folder.join("cells")).into_iter().flatten().map(|part| part.unwrap().path());
    let files = parts.flat_map(|part| fs::read_dir(part).into_iter().flatten().map(|file| file.unwrap().path()));
    files.filter(|path| path.extension().is_some_and(|ending| ending == "cell")).collect()
}

/// Every file of the results with its bytes.
fn results(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.join("results")]);
    while let Some(at) = folders.pop() {
        for path in fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_sweep_is_told_on_a_screen_and_goes_on_where_it_was() {
    let place = Place::new();
    let text = place.order9("sweep plan.toml -o ./sweep").success();
    assert!(text.lines().count() <= 24, "{text}");
    // Digests follow the engine.
    let kept = |text: &str| -> String {
        let lines = text.lines().map(|line| line.split("; digest ").next().unwrap_or_default());
        lines.map(|line| format!("{line}\n")).collect()
    };
    compare("sweep.txt", &kept(&place.plain(&text)));
    let again = place.order9("sweep plan.toml -o ./sweep").success();
    assert_eq!(again, text.replace("(16 ran now, 0 were kept)", "(0 ran now, 16 were kept)"));
    assert_eq!(fs::read_to_string(place.path("sweep/plan.toml")).unwrap(), PLAN);

    let json = place.json("sweep plan.toml -o ./sweep --verify 10%");
    hold("sweep", &json);
    assert_eq!((&json["kept"], &json["ran"], &json["verified"]), (&16.into(), &0.into(), &2.into()));
    let look = place.json("sweep plan.toml -o ./sweep --dry-run");
    hold("sweep dry-run", &look);
    assert_eq!((&look["cells"], &look["kept"]), (&16.into(), &16.into()));
}

#[test]
fn parts_and_their_merge_are_the_whole() {
    let place = Place::new();
    place.order9("sweep plan.toml -o ./whole --jobs 2").success();
    for part in 1..=3 {
        place.order9(&format!("sweep plan.toml --shard {part}/3 -o ./{part} --jobs 1")).success();
    }
    let merged = place.json("merge ./1 ./2 ./3 -o ./all");
    hold("merge", &merged);
    assert_eq!(merged["cells"], 16);
    assert_eq!(merged["digest"], place.json("sweep plan.toml -o ./whole")["digest"]);
    assert_eq!(results(&place.path("all")), results(&place.path("whole")));
    // Elsewhere, of what others ran.
    place.order9("sweep plan.toml -o ./all --verify 20%").success();
}

/// Starts a sweep of many cells, and waits until some are kept.
fn begun(place: &Place, root: &str, seeds: u64) -> Child {
    place.plan(&PLAN.replace("seeds = 2", &format!("seeds = {seeds}")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    command.args(["sweep", &place.word("plan.toml"), "--jobs", "2", "-o", &place.word(root)]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let start = Instant::now();
    while cells(&place.path(root.trim_start_matches("./"))).len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(120), "no cell ends");
        sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn nothing_is_lost_and_nothing_runs_twice_when_it_is_killed() {
    let place = Place::new();
    let mut child = begun(&place, "./sweep", 20);
    child.kill().expect("SIGKILL");
    child.wait().unwrap();
    let root = place.path("sweep");
    let kept = cells(&root);
    let before: Vec<_> =
        kept.iter().map(|path| (path.clone(), fs::metadata(path).unwrap().modified().unwrap())).collect();
    assert!(kept.len() < 8 * 20, "it was killed in the middle");
    // What a write that was cut off would leave.
    fs::write(kept.first().unwrap().with_file_name(".order9-torn"), "half").unwrap();
    let json = place.json("sweep plan.toml -o ./sweep --jobs 2");
    assert_eq!((json["kept"].as_u64(), json["ran"].as_u64()), (Some(kept.len() as u64), Some(160 - kept.len() as u64)));
    for (path, time) in before {
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time, "{}: it ran again", path.display());
    }
    let left = fs::read_dir(kept.first().unwrap().parent().unwrap()).unwrap();
    assert!(
        left.map(|entry| entry.unwrap().path()).all(|path| path.extension().is_some_and(|ending| ending == "cell"))
    );
    place.order9("sweep plan.toml -o ./fresh --jobs 2").success();
    assert_eq!(results(&root), results(&place.path("fresh")));
}

#[test]
fn an_interrupted_sweep_ends_with_what_has_ended() {
    let place = Place::new();
    let child = begun(&place, "./sweep", 60);
    let busy = place.order9("sweep plan.toml -o ./sweep");
    assert_eq!(place.plain(busy.refusal()), "sweep: another order9 works in this folder");
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.starts_with("order9: interrupted: ") && message.ends_with(" are left; the same command goes on\n"),
        "{message}"
    );
    assert!(!results(&place.path("sweep")).is_empty());
    place.plan(PLAN);
    let json = place.json("sweep plan.toml -o ./sweep");
    assert!(json["kept"].as_u64().unwrap() >= 1, "a plan that changed keeps cells that are the same");
}

#[test]
fn results_that_differ_are_found() {
    let place = Place::new();
    place.order9("sweep plan.toml -o ./sweep").success();
    // Another host that computes otherwise: cells with a digest of their own, and a checksum that fits.
    for path in cells(&place.path("sweep")) {
        let text = fs::read_to_string(&path).unwrap();
        let (_, body) = text.split_once('\n').unwrap();
        let mut done: Value = serde_json::from_str(body).unwrap();
        done["digest"] = "00000000000000000000000000000000".into();
        let body = serde_json::to_string(&done).unwrap();
        let sum = xxhash_rust::xxh3::xxh3_128(body.as_bytes());
        fs::write(&path, format!("order9-cell-1 {sum:032x}\n{body}")).unwrap();
    }
    let ran = place.order9("sweep plan.toml -o ./sweep --verify 1%");
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("came out otherwise")
            && ran.stderr.contains("digest 00000000000000000000000000000000 then"),
        "{}",
        ran.stderr
    );
    place.order9("sweep plan.toml -o ./true").success();
    let merged = place.order9("merge ./sweep ./true -o ./all");
    assert_eq!(merged.status, 1);
    assert!(merged.stderr.contains("has two results"), "{}", merged.stderr);
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let place = Place::new();
    let refused = |line: &str| place.plain(place.order9(line).refusal());
    assert_eq!(refused("sweep none.toml -o ./s"), "none.toml: no such file or directory");
    assert!(refused("sweep plan.toml").contains("--output"));
    assert!(
        refused("sweep plan.toml -o ./s --shard 3/2").contains("expected a part and the number of parts, such as 7/64")
    );
    assert!(refused("sweep plan.toml -o ./s --verify 0%").contains("expected a share of cells up to 100%, such as 1%"));
    assert_eq!(
        refused("sweep plan.toml --emit github-actions --shards 300"),
        "--shards 300: GitHub Actions takes 256 jobs of a matrix, expected so many parts at most"
    );
    fs::create_dir(place.path("other")).unwrap();
    fs::write(place.path("other/letter.txt"), "dear").unwrap();
    assert!(refused("sweep plan.toml -o ./other").starts_with("other: holds files that no sweep wrote"));
    assert!(refused("merge ./other -o ./all").starts_with("other: holds no cells"));
    fs::create_dir_all(place.path("full")).unwrap();
    fs::write(place.path("full/cells"), "no folder").unwrap();
    assert!(refused("sweep plan.toml -o ./full").starts_with("full/cells: "));
    place.plan("workload = \"fill-and-free\"\nmachine = \"tiny.toml\"\nseeds = 1\n[axes.parameters]\nsize = [\"64G\"]\nrounds = [1, 2]\n");
    let ran = place.order9("sweep plan.toml -o ./s");
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("order9: no cell completed: "), "{}", ran.stderr);
    assert!(ran.stdout.contains("2 cells did not complete:"), "{}", ran.stdout);
}

#[test]
fn job_files_run_this_plan() {
    let place = Place::new();
    let text = place.order9("sweep plan.toml --emit slurm --shards 3 -o out").success();
    // Stands in for sbatch: runs each part of an array, one after the other, and says a number.
    let bin = place.path("bin");
    fs::create_dir(&bin).unwrap();
    let sbatch = "#!/bin/bash\nset -e\nfor word in \"$@\"; do case $word in --array=1-*) last=${word##*-};; --wrap=*) wrap=${word#--wrap=};; esac; done\n\
                  for task in $(seq 1 ${last:-1}); do SLURM_ARRAY_TASK_ID=$task bash -c \"$wrap\" >&2; done\necho 42\n";
    fs::write(bin.join("sbatch"), sbatch).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_order9"), bin.join("order9")).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(bin.join("sbatch"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.path("sweep.sh"), text).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("bash").arg("sweep.sh").env("PATH", path).current_dir(place.0.path()).output();
    let Ok(ran) = ran else { return eprintln!("skipped: this host has no bash") };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(cells(&place.path("out/all")).len(), 16);
}

/// A Python that has these modules: that of the environment variable ORDER9_PYTHON, or the usual one.
fn python(modules: &str) -> Option<String> {
    let python = std::env::var("ORDER9_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", &format!("import {modules}")]).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success()).then_some(python)
}

/// Blocks of code of a language in docs/sweep.md.
fn blocks(language: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweep.md")).unwrap();
    let blocks =
        text.split("\n```").filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n').map(str::to_owned));
    blocks.collect()
}

/// A sweep whose axes are those of the queries in the document.
fn queried() -> Place {
    let place = Place::new();
    place.plan(
        "workload = \"hugealloc\"\nmachine = \"tiny.toml\"\npolicies = [\"linux-6.1\", \"linux-6.18\"]\nseeds = 2\n\
         [parameters]\nsize = \"64M\"\n[axes.settings]\nvm.compaction_proactiveness = [0, 20]\n",
    );
    place.order9("sweep plan.toml -o ./sweep").success();
    place
}

#[test]
fn the_queries_of_the_document_run_on_duckdb() {
    let Some(python) = python("duckdb") else {
        return eprintln!("skipped: no Python with duckdb (ORDER9_PYTHON names one)");
    };
    let place = queried();
    let queries: Vec<String> = blocks("sql");
    assert!(queries.len() >= 4, "docs/sweep.md has queries");
    let program = "import duckdb, sys\nfor query in duckdb.extract_statements(sys.argv[1]):\n    rows = duckdb.execute(query).fetchall()\n    print(len(rows), rows[:1])";
    for query in queries {
        let ran = Command::new(&python).args(["-c", program, &query]).current_dir(place.0.path()).output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{query}\n{}", String::from_utf8_lossy(&ran.stderr));
        assert!(
            text.lines().all(|line| !line.starts_with("0 ")) || query.contains("outcome <> 'completed'"),
            "{query}\n{text}"
        );
    }
}

#[test]
fn the_queries_of_the_document_run_on_polars() {
    let Some(python) = python("polars") else {
        return eprintln!("skipped: no Python with polars (ORDER9_PYTHON names one)");
    };
    let place = queried();
    let programs = blocks("python");
    assert!(!programs.is_empty());
    for program in programs {
        let checked = format!("{program}\nassert table.height > 0\n");
        let ran = Command::new(&python).args(["-c", &checked]).current_dir(place.0.path()).output().unwrap();
        assert!(ran.status.success(), "{program}\n{}", String::from_utf8_lossy(&ran.stderr));
    }
}
