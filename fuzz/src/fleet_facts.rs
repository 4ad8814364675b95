//! Any bytes as the table of a fleet's facts.

use order9_fleet::store;

/// Reads a table; one that can be read must come out the same after it is written and read once more.
///
/// # Panics
/// Where it does not.
pub(crate) fn run(input: &[u8]) {
    let Ok(hosts) = store::read(input.to_vec()) else { return };
    let mut copy = Vec::new();
    store::write(&hosts, &vec![None; hosts.len()], &mut copy).expect("a table that was read can be written");
    assert!(
        store::read(copy).expect("a table that was written can be read") == hosts,
        "a round trip changed the facts"
    );
}
