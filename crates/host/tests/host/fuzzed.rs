//! Any bytes as copies of a host's files: what the fuzz target starts from, and such bytes with pieces changed.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::bundle;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/proc_bundle");
    let files = fs::read_dir(folder).expect("there is a corpus");
    files.map(|file| fs::read(file.expect("the folder is readable").path()).expect("inputs are readable")).collect()
}

#[test]
fn inputs_that_the_fuzzer_starts_from_are_captured_or_refused() {
    let (folder, inputs) = (tempfile::tempdir().expect("a temporary directory can be made"), corpus());
    assert!(inputs.len() >= 3);
    inputs.iter().for_each(|input| bundle::run(input, folder.path()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_piece_of_a_bundle_may_be_anything(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(PIECES)), 1..8),
    ) {
        let inputs = corpus();
        let mut input = inputs[which.index(inputs.len())].clone();
        for (at, piece) in changes {
            let at = at.index(input.len());
            let end = (at + piece.len()).min(input.len());
            input.splice(at..end, piece.iter().copied());
        }
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        bundle::run(&input, folder.path());
    }
}

const PIECES: &[&[u8]] = &[
    b"18446744073709551615",
    b"-1",
    b"\n",
    b"\0",
    b"== proc/zoneinfo\n",
    b":",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"0",
];
