//! Any text as a recording: what the fuzz target starts from, and such texts with pieces changed.

#[path = "../../../fuzz/src/recordings.rs"]
mod recordings;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use order9_units::Bytes;
use order9_workloads::{Facts, Parameters, Recording, Value, Workload};
use proptest::prelude::*;

#[test]
fn inputs_that_the_fuzzer_starts_from_are_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/recordings");
    let files: Vec<_> = fs::read_dir(corpus).expect("there is a corpus").collect();
    assert!(files.len() >= 3);
    for file in files {
        recordings::run(&fs::read_to_string(file.expect("the folder is readable").path()).expect("a text"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_of_a_recording_may_change(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut text = Recording::example().to_string().into_bytes();
        for (at, byte) in changes {
            let at = at.index(text.len());
            // Digits and blanks are what a recording consists of.
            text[at] = b"0123456789 =;-amu"[usize::from(byte) % 17];
        }
        let text = String::from_utf8_lossy(&text);
        recordings::run(&text);
        if let Ok(recording) = Recording::parse(&text) {
            let memory = Bytes::from_gib(1);
            let facts = Facts { memory, cpus: 2, nodes: vec![memory], disk: None, available: None };
            let chosen = BTreeMap::from([("recording", Value::Recording(recording))]);
            let parameters = Parameters::new(Workload::Trace, &chosen, &facts).expect("a recording is admitted");
            let _ = Workload::Trace.demand(&parameters, &facts);
        }
    }
}
