//! Job files: golden texts, and the parsers of their languages where this host has them.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use order9_sweep::emit::{Engine, Job};
use order9_units::Bytes;

fn job(parts: u32) -> Job<'static> {
    Job {
        plan: "plans/my plan.toml",
        text: "  # it begins with blanks\nworkload = \"hugealloc\"\n\npolicies = [\"linux-6.18\"]\n",
        output: "out",
        parts: NonZeroU32::new(parts).unwrap(),
        jobs: NonZeroUsize::new(2).unwrap(),
        memory_of_a_cell: Bytes::new(100 << 20),
    }
}

fn golden(name: &str, text: &str) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(text, expected, "{}: UPDATE_GOLDEN=1 writes it anew", path.display());
}

#[test]
fn job_files_are_as_they_were() {
    for (engine, name) in [
        (Engine::Slurm, "slurm.sh"),
        (Engine::Kubernetes, "kubernetes.yaml"),
        (Engine::Hyperqueue, "hyperqueue.toml"),
        (Engine::GithubActions, "github-actions.yaml"),
    ] {
        golden(name, &job(3).emit(engine).unwrap());
    }
    assert!(job(257).emit(Engine::GithubActions).unwrap_err().contains("256"));
}

#[test]
fn the_job_file_of_hyperqueue_is_toml_whose_last_task_waits_for_all_others() {
    let table: toml::Table = toml::from_str(&job(3).emit(Engine::Hyperqueue).unwrap()).unwrap();
    let tasks = table["task"].as_array().unwrap();
    assert_eq!(tasks.len(), 4);
    assert_eq!(tasks[3]["deps"].as_array().unwrap().len(), 3);
    assert_eq!(tasks[1]["command"].as_array().unwrap()[4].as_str(), Some("2/3"));
}

/// Runs a parser on `text`; `None` where this host does not have it.
fn parsed(program: &str, arguments: &[&str], text: &str) -> Option<bool> {
    use std::io::Write as _;
    let child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.ok()?;
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Some(child.wait().unwrap().success())
}

#[test]
fn the_script_for_slurm_is_one_of_bash() {
    match parsed("bash", &["-n"], &job(3).emit(Engine::Slurm).unwrap()) {
        Some(is_sound) => assert!(is_sound),
        None => eprintln!("skipped: this host has no bash"),
    }
}

#[test]
fn files_for_kubernetes_and_github_are_yaml() {
    if parsed("python3", &["-c", "import yaml"], "") != Some(true) {
        eprintln!("skipped: this host has no Python with yaml");
        return;
    }
    let kubernetes = "import sys, yaml
config, sweep, merge = yaml.safe_load_all(sys.stdin)
(text,) = config['data'].values()
assert text == '  # it begins with blanks\\nworkload = \"hugealloc\"\\n\\npolicies = [\"linux-6.18\"]\\n', text
assert sweep['spec']['completions'] == 3 and merge['spec']['suspend'] is True
assert \"'/plan/my plan.toml' --shard\" in sweep['spec']['template']['spec']['containers'][0]['command'][2]";
    assert_eq!(parsed("python3", &["-c", kubernetes], &job(3).emit(Engine::Kubernetes).unwrap()), Some(true));
    let github = "import sys, yaml
flow = yaml.safe_load(sys.stdin)
assert flow['jobs']['part']['strategy']['matrix']['part'] == [1, 2, 3]
assert flow['jobs']['merge']['needs'] == 'part'
assert \"'plans/my plan.toml' --shard ${{ matrix.part }}/3\" in flow['jobs']['part']['steps'][3]['run']";
    assert_eq!(parsed("python3", &["-c", github], &job(3).emit(Engine::GithubActions).unwrap()), Some(true));
}
