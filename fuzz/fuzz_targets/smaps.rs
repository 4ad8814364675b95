//! Any text as /proc/PID/smaps: ranges end behind their start, and huge pages lie in them.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    for range in order9_host::smaps::parse(text) {
        assert!(range.start < range.end);
        assert!(range.slots().take(9).all(|start| start >= range.start && start < range.end));
    }
});
