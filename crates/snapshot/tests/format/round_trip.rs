//! What is written is read, to the bit, and always in the same bytes.

use order9_snapshot::Snapshot;
use order9_snapshot::format::{StructureError, WriteError, read, write};
use order9_snapshot::owners::OwnerMapBuilder;
use order9_units::Bytes;
use proptest::prelude::*;

use super::samples::{any_snapshot, bytes_of, full, machine, map_of};

#[test]
fn every_field_survives() {
    let snapshot = full();
    let bytes = bytes_of(&snapshot);
    assert_eq!(read(bytes.as_slice()).expect("sound"), snapshot);
    assert_eq!(bytes_of(&full()), bytes);
}

#[test]
fn no_map_and_an_empty_map_differ() {
    let without = Snapshot { machine: machine(), ..Snapshot::default() };
    let empty = Snapshot { frames: Some(map_of(&[])), block_types: Some(Vec::new()), ..without.clone() };
    for snapshot in [without, empty] {
        assert_eq!(read(bytes_of(&snapshot).as_slice()).expect("sound"), snapshot);
    }
}

#[test]
fn a_snapshot_that_contradicts_itself_is_not_written() {
    let mut snapshot = full();
    snapshot.machine.page_size = Bytes::from_kib(64);
    let mut bytes = Vec::new();
    let error = write(&snapshot, &mut bytes).expect_err("64 KiB pages");
    assert!(matches!(error, WriteError::Structure(StructureError::PageSize(_))), "{error}");
    assert!(bytes.is_empty());
}

#[test]
fn owners_without_a_name_are_not_written() {
    let mut snapshot = full();
    snapshot.owners.as_mut().expect("it has owners").users.pop();
    let error = write(&snapshot, &mut Vec::new()).expect_err("frames of a user that is not listed");
    assert!(matches!(error, WriteError::Structure(StructureError::Owners(2))), "{error}");
}

#[test]
fn owners_without_code_of_the_kernel_are_written_as_before_1_5() {
    let has = |bytes: &[u8], wanted: &[u8; 4]| bytes.windows(4).any(|tag| tag == wanted);
    let mut snapshot = full();
    let with = bytes_of(&snapshot);
    assert!(has(&with, b"ownc") && has(&with, b"ofrc") && !has(&with, b"ownr") && !has(&with, b"ofra"));
    let owners = snapshot.owners.as_mut().expect("it has owners");
    owners.callers.clear();
    let mut map = OwnerMapBuilder::default();
    (0..9).for_each(|at| map.push(Some(at % 2), None));
    owners.map = map.finish();
    let without = bytes_of(&snapshot);
    assert!(has(&without, b"ownr") && has(&without, b"ofra") && !has(&without, b"ownc") && !has(&without, b"ofrc"));
    assert_eq!(read(without.as_slice()).expect("sound"), snapshot);
}

#[test]
fn a_map_of_many_sections_is_put_together_again() {
    let runs: Vec<_> = (0..2_000_000_u64).map(|i| (i * 7919 % 300, i % 2, 1)).collect();
    let snapshot = Snapshot { machine: machine(), frames: Some(map_of(&runs)), ..Snapshot::default() };
    let bytes = bytes_of(&snapshot);
    assert!(bytes.windows(4).filter(|tag| tag == b"FRAM").count() > 2);
    assert_eq!(read(bytes.as_slice()).expect("sound"), snapshot);
}

/// Hands out one byte at a time, like the slowest of pipes.
struct Trickle<'a>(&'a [u8]);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(1);
        std::io::Read::read(&mut self.0, &mut buffer[..len])
    }
}

#[test]
fn short_reads_are_no_end() {
    let bytes = bytes_of(&full());
    assert_eq!(read(Trickle(&bytes)).expect("sound"), full());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_snapshot_survives(snapshot in any_snapshot()) {
        let bytes = bytes_of(&snapshot);
        prop_assert_eq!(read(bytes.as_slice()).expect("sound"), snapshot);
    }
}
