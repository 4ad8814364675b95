//! Any bytes from a ring buffer, and any format file: what the fuzz target starts from, and random inputs.

#[path = "../../../fuzz/src/ring_buffer.rs"]
mod ring_buffer;
#[path = "../../../fuzz/src/sections.rs"]
mod sections;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

/// The corpus of the fuzz target.
fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ring_buffer");
    let files = fs::read_dir(folder).expect("there is a corpus");
    files.map(|file| fs::read(file.expect("the folder is readable").path()).expect("inputs are readable")).collect()
}

#[test]
fn inputs_that_the_fuzzer_starts_from_are_read_or_refused() {
    let inputs = corpus();
    assert!(inputs.len() >= 3);
    inputs.iter().for_each(|input| ring_buffer::run(input));
}

/// Words of format files, so that random ones get far.
const WORDS: [&str; 16] = [
    "name: x\n",
    "ID: 3\n",
    "format:\n",
    "\tfield:",
    "unsigned ",
    "int ",
    "char a[",
    "4]",
    ";",
    "\toffset:",
    "size:",
    "signed:1;",
    "__data_loc ",
    "\n\n",
    "print fmt: ",
    "99999999999",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_of_an_input_may_change(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let inputs = corpus();
        let mut input = which.get(&inputs).clone();
        for (at, byte) in changes {
            let at = at.index(input.len());
            input[at] = byte;
        }
        ring_buffer::run(&input);
        ring_buffer::run(&input[..end.index(input.len())]);
    }

    #[test]
    fn any_words_may_be_a_format_and_any_bytes_a_piece(
        words in prop::collection::vec(0..WORDS.len(), 0..40),
        begin in any::<u64>(),
        commit in prop_oneof![any::<u64>(), 0..200_u64],
        events in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let format: String = words.into_iter().map(|word| WORDS[word]).collect();
        let piece = [begin.to_ne_bytes().as_slice(), &commit.to_ne_bytes(), &events].concat();
        ring_buffer::run(&[b"== format\n", format.as_bytes(), b"\n== piece\n", &piece].concat());
        ring_buffer::run(&piece);
    }
}
