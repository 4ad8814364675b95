//! Changes on copies of a host's files, and every way back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use order9_apply::{Kind, Ledger, Root, Who, argument, plan};

const FILES: [(&str, &str); 7] = [
    ("proc/sys/kernel/osrelease", "6.12.9\n"),
    ("proc/sys/kernel/random/boot_id", "one\n"),
    ("proc/sys/vm/compaction_proactiveness", "20\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/dirty_bytes", "0\n"),
    ("proc/sys/vm/dirty_ratio", "20\n"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
];

/// A host of files.
struct Host(tempfile::TempDir);

impl Host {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().expect("a directory"));
        FILES.iter().for_each(|(path, text)| host.write(path, text));
        host
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap_or_default()
    }

    fn root(&self) -> Root {
        Root::directory(self.0.path())
    }

    fn ledger(&self) -> Ledger {
        Ledger::open(self.root()).expect("nobody else is here").0
    }

    fn apply(&self, arguments: &[&str], kinds: &[Kind]) -> Result<(), String> {
        let wishes: Vec<_> = arguments.iter().map(|text| argument(text).expect("a setting")).collect();
        let mut ledger = self.ledger();
        let plan = plan(&self.root(), &wishes, kinds, ledger.records()).map_err(|error| error.to_string())?;
        ledger.apply(plan, Who::of_process()).map(drop).map_err(|error| error.to_string())
    }

    fn undo(&self, last: Option<usize>, force: bool) -> Result<usize, String> {
        let undone = self.ledger().undo(last, force).map_err(|error| error.to_string())?;
        Ok(undone.iter().map(|record| record.settings.len() + record.files.len()).sum())
    }

    /// Everything but what the program itself keeps.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(self.0.path(), "", &mut files);
        files.retain(|path, _| !path.starts_with("/run") && !path.starts_with("/var"));
        files
    }

    /// The name of a file as messages have it.
    fn shown(&self, path: &str) -> String {
        self.0.path().join(path).to_str().expect("a name of letters").to_owned()
    }
}

/// Texts of files, and empty texts of folders.
fn collect(folder: &Path, name: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("it can be read").flatten() {
        let name = format!("{name}/{}", entry.file_name().to_str().expect("a name of letters"));
        if entry.path().is_dir() {
            collect(&entry.path(), &name, files);
            files.insert(name, String::new());
        } else {
            files.insert(name, fs::read_to_string(entry.path()).expect("it can be read"));
        }
    }
}

const FILE_KINDS: [Kind; 4] = [Kind::SysctlD, Kind::TmpfilesD, Kind::Systemd, Kind::Tuned];

#[test]
fn changes_are_taken_back_in_any_number_of_steps() {
    let host = Host::new();
    let before = host.files();
    host.apply(&["vm.compaction_proactiveness=60", "thp.defrag=defer"], &FILE_KINDS).expect("it is taken");
    let first = host.files();
    assert_eq!(host.read("sys/kernel/mm/transparent_hugepage/defrag"), "always [defer] defer+madvise madvise never\n");
    host.apply(&["vm.swappiness=10", "vm.compaction_proactiveness=70"], &[Kind::SysctlD]).expect("it is taken");
    let kept = "# Written by `order9 apply`. `order9 undo` removes it.\nvm.swappiness = 10\nvm.compaction_proactiveness = 70\n";
    assert_eq!(host.read("etc/sysctl.d/60-order9.conf"), kept);
    host.apply(&["vm.swappiness=11"], &[]).expect("it is taken");
    let last = host.files();
    assert_eq!(host.undo(Some(1), false), Ok(1));
    assert_eq!(host.read("proc/sys/vm/swappiness"), "10\n");
    assert_eq!(host.undo(Some(1), false), Ok(3));
    assert_eq!(host.files(), first);
    host.apply(&["vm.swappiness=10", "vm.compaction_proactiveness=70"], &[Kind::SysctlD]).expect("it is taken");
    host.apply(&["vm.swappiness=11"], &[]).expect("it is taken");
    assert_eq!(host.files(), last);
    // Three settings of three changes, one of them twice and one thrice; five files of the first, one text of the second.
    assert_eq!(host.undo(None, false), Ok(1 + 3 + 7));
    assert_eq!(host.files(), before);
    assert_eq!(host.undo(None, false), Ok(0));
}

#[test]
fn a_write_that_is_refused_takes_everything_before_it_back() {
    let host = Host::new();
    // The way in which a copy is written cannot be gone, as if the kernel refused the value.
    fs::create_dir(host.0.path().join("proc/sys/vm/.swappiness.order9-new")).expect("it can be made");
    let before = host.files();
    let refused = host.apply(&["vm.compaction_proactiveness=60", "thp.defrag=defer", "vm.swappiness=1"], &FILE_KINDS);
    let sentence = refused.expect_err("it cannot be written");
    let begin = format!("{}: the kernel refuses '1': ", host.shown("proc/sys/vm/swappiness"));
    assert!(sentence.starts_with(&begin) && sentence.ends_with("; everything is as before"), "{sentence}");
    assert_eq!(host.files(), before);
    // Where a file cannot be written, too.
    host.write("etc/sysctl.d", "no folder");
    let before = host.files();
    let refused = host.apply(&["vm.compaction_proactiveness=60"], &[Kind::SysctlD]).expect_err("it cannot be written");
    assert!(refused.contains("etc/sysctl.d/60-order9.conf: "), "{refused}");
    assert_eq!((host.files(), host.ledger().records().len()), (before, 0));
}

#[test]
fn what_somebody_changed_since_is_left_alone_unless_forced() {
    let host = Host::new();
    let before = host.files();
    host.apply(&["vm.compaction_proactiveness=60", "thp.defrag=defer"], &[Kind::SysctlD, Kind::TmpfilesD])
        .expect("it is taken");
    host.write("proc/sys/vm/compaction_proactiveness", "30\n");
    host.write("etc/tmpfiles.d/order9.conf", "mine\n");
    let changed = host.files();
    let sentence = format!(
        "nothing was taken back: vm.compaction_proactiveness is 30, and was left at 60; {} was changed since; --force takes it back all \
         the same",
        host.shown("etc/tmpfiles.d/order9.conf")
    );
    assert_eq!(host.undo(None, false), Err(sentence));
    assert_eq!(host.files(), changed);
    let refused = host.apply(&["thp.defrag=never"], &[Kind::TmpfilesD]).expect_err("the file is somebody's");
    assert!(
        refused.ends_with("order9.conf: is there already and is not as order9 wrote it: move it away first"),
        "{refused}"
    );
    assert_eq!(host.undo(None, true), Ok(4));
    assert_eq!(host.files(), before);
}

#[test]
fn what_somebody_took_back_already_is_no_obstacle() {
    let host = Host::new();
    let before = host.files();
    host.apply(&["vm.compaction_proactiveness=60"], &[Kind::SysctlD]).expect("it is taken");
    host.write("proc/sys/vm/compaction_proactiveness", "20\n");
    fs::remove_file(host.0.path().join("etc/sysctl.d/60-order9.conf")).expect("it is there");
    assert_eq!(host.undo(None, false), Ok(0));
    assert_eq!(host.files(), before);
}

#[test]
fn after_a_restart_only_files_are_removed() {
    let host = Host::new();
    host.apply(&["vm.compaction_proactiveness=60"], &[Kind::SysctlD]).expect("it is taken");
    host.write("proc/sys/kernel/random/boot_id", "two\n");
    let undone = host.ledger().undo(None, false).expect("nothing was changed");
    assert!(undone[0].restarted && undone[0].settings.is_empty());
    assert_eq!(undone[0].files, ["/etc/sysctl.d/60-order9.conf"]);
    // As the file had it written at boot.
    assert_eq!(host.read("proc/sys/vm/compaction_proactiveness"), "60\n");
    assert!(!host.0.path().join("etc").exists());
}

#[test]
fn a_zero_that_the_kernel_makes_by_itself_is_not_written() {
    let host = Host::new();
    let before = host.files();
    host.apply(&["vm.dirty_bytes=8192"], &[]).expect("it is taken");
    // As the kernel does, and as the record says then.
    host.write("proc/sys/vm/dirty_ratio", "0\n");
    let record = "var/lib/order9/apply/0001.json";
    let text = host.read(record);
    host.write(record, &text.replace("\"after\": \"20\"", "\"after\": \"0\""));
    assert_eq!(host.ledger().records()[0].companions[0].after.as_deref(), Some("0"));
    let undone = host.undo(None, false);
    // The copy of dirty_bytes does not follow the other file.
    assert_eq!(
        undone,
        Err("not everything could be put back: vm.dirty_bytes is 8192 and was 0; `order9 undo` tries again, and with --force leaves the rest as \
              it is"
            .to_owned())
    );
    assert!(host.ledger().records()[0].under_way);
    let undone = host.ledger().undo(None, true).expect("it is forced");
    assert_eq!(undone[0].left, ["vm.dirty_bytes is 8192 and was 0"]);
    assert!(host.ledger().records().is_empty());
    host.write("proc/sys/vm/dirty_bytes", "0\n");
    assert_eq!(host.files(), before);
}

#[test]
fn one_instance_at_a_time_changes_something() {
    let host = Host::new();
    let _ledger = host.ledger();
    let busy = Ledger::open(host.root()).expect_err("it is locked").to_string();
    assert!(busy.starts_with("another order9 changes settings of this host"), "{busy}");
}

#[test]
fn a_record_of_somebody_else_is_refused() {
    let host = Host::new();
    host.write("var/lib/order9/apply/0001.json", "{}");
    let error = Ledger::open(host.root()).expect_err("it is none").to_string();
    assert!(error.contains("0001.json: is no record of `order9 apply`: "), "{error}");
}

#[test]
fn a_record_that_was_altered_is_refused() {
    const RECORD: &str = "var/lib/order9/apply/0001.json";
    let host = Host::new();
    host.apply(&["vm.swappiness=10"], &[]).expect("it is taken");
    let text = host.read(RECORD);
    for (from, to, why) in [
        ("\"id\": 1", "\"id\": 7", "its number is 7, expected that of the file's name"),
        ("/proc/sys/vm/swappiness", "swappiness", "expected a whole path, found \"swappiness\""),
        ("/proc/sys/vm/swappiness", "/proc/../etc/passwd", "expected a whole path, found \"/proc/../etc/passwd\""),
    ] {
        assert!(text.contains(from), "{text}");
        host.write(RECORD, &text.replace(from, to));
        let error = Ledger::open(host.root()).expect_err("it is none").to_string();
        assert!(error.ends_with(why), "{error}");
    }
    host.write(RECORD, &text);
    assert_eq!(host.undo(None, false), Ok(1));
}
