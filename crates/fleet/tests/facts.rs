//! Files to facts and back: what is read once is kept as it was, and any bytes in the place of the table are read or refused.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use order9_fleet::{Host, Reading, read, store};
use order9_units::Bytes;
use proptest::prelude::*;

#[path = "../../../fuzz/src/fleet_facts.rs"]
mod fleet_facts;

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/captures");
    ["fresh-7.2", "numa-6.1", "tmpfs-full-5.10"].iter().map(|name| folder.join(format!("{name}.o9snap"))).collect()
}

fn facts(files: &[PathBuf], known: Vec<Host>, threads: usize) -> Reading {
    let threads = NonZeroUsize::new(threads).expect("at least one");
    read(files, known, (threads, Bytes::from_gib(1)), &|_| {})
}

/// Tables differ by path and time of the files, which differ from place to place.
fn placed(mut hosts: Vec<Host>) -> Vec<Host> {
    for host in &mut hosts {
        host.file.path = format!("hosts/{}.o9snap", host.name);
        host.file.mtime_ns = 1_764_000_000_000_000_000;
    }
    hosts
}

fn table(hosts: &[Host]) -> Vec<u8> {
    let mut bytes = Vec::new();
    store::write(hosts, &vec![Some(0); hosts.len()], &mut bytes).expect("memory takes everything");
    bytes
}

#[test]
fn facts_come_out_of_the_table_as_they_went_in() {
    let read = facts(&captures(), Vec::new(), 1);
    assert_eq!((read.hosts.len(), read.unreadable.len(), read.known), (3, 0, 0));
    assert_eq!(facts(&captures(), Vec::new(), 3).hosts, read.hosts, "threads decide nothing");
    let stored = store::read(table(&read.hosts)).expect("it was written");
    assert_eq!(stored, read.hosts);
    let again = facts(&captures(), stored, 2);
    assert_eq!((again.known, again.hosts), (3, read.hosts));
}

#[test]
fn maps_that_do_not_fit_are_refused_one_by_one() {
    let one = NonZeroUsize::MIN;
    let read = read(&captures(), Vec::new(), (one, Bytes::new(1 << 10)), &|_| {});
    assert_eq!((read.hosts.len(), read.unreadable.len()), (0, 3));
    assert!(read.unreadable[0].problem.contains("memory"), "{:?}", read.unreadable);
}

#[test]
fn inputs_that_the_fuzzer_starts_from_are_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/fleet_facts");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        // Others may be reading it.
        let new = corpus.join("three-hosts.new");
        fs::write(&new, table(&placed(facts(&captures(), Vec::new(), 1).hosts))).expect("the corpus");
        fs::rename(new, corpus.join("three-hosts")).expect("the corpus");
    }
    let files: Vec<_> = fs::read_dir(corpus).expect("there is a corpus").collect();
    assert!(!files.is_empty());
    for file in files {
        let bytes = fs::read(file.expect("an entry").path()).expect("a file");
        fleet_facts::run(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_of_a_table_may_change(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut input = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/fleet_facts/three-hosts")).unwrap();
        for (at, byte) in changes {
            let at = at.index(input.len());
            input[at] = byte;
        }
        fleet_facts::run(&input);
    }
}
