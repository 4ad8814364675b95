//! Any map becomes an engine in which every law holds, whatever happens there next: what the fuzz target starts from, and
//! random inputs.

#[path = "../../../fuzz/src/import_run.rs"]
mod import_run;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[test]
fn inputs_that_the_fuzzer_starts_from_break_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import_run");
    let files: Vec<_> = fs::read_dir(corpus).expect("there is a corpus").collect();
    assert!(files.len() >= 4);
    for file in files {
        import_run::run(&fs::read(file.expect("the folder is readable").path()).expect("inputs are readable"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_input_is_run_to_its_end(input in prop::collection::vec(any::<u8>(), 0..400)) {
        import_run::run(&input);
    }
}
