//! What must hold for any input.

use order9_snapshot::format::{read_within, write};
use order9_units::Bytes;

/// Small enough that a hostile map is refused quickly.
const MEMORY: Bytes = Bytes::new(64 << 20);

/// Reads a file; what can be read must come out the same after writing and reading it once more.
///
/// # Panics
/// Where it does not.
pub fn check(file: &[u8]) {
    let Ok(snapshot) = read_within(file, MEMORY) else {
        return;
    };
    let mut copy = Vec::new();
    write(&snapshot, &mut copy).expect("what was read can be written");
    let again = read_within(copy.as_slice(), MEMORY).expect("what was written can be read");
    assert!(again == snapshot, "a round trip changed the snapshot");
}
