//! Any text as a claim: it is read, or refused in one line.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = order9_report::claims::parse("claim.toml", text) {
        let message = error.to_string();
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
});
