//! Any text as a record of page_owner: a block is a power of two of frames, and a caller has a name.
#![no_main]

use order9_host::page_owner::Record;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Some(Record { range, caller }) = Record::parse(text) {
        assert!(range.len().get().is_power_of_two());
        assert!(caller.is_none_or(|caller| !caller.function.is_empty()));
    }
});
