//! A file that was changed in any way is never read.

use order9_snapshot::format::{Lookalike, Problem, Tag, read, read_within};
use proptest::prelude::*;
use proptest::sample::Index;

use super::samples::{ENOUGH, any_snapshot, bytes_of, full};

#[test]
fn every_truncation_says_where_the_file_ends() {
    let bytes = bytes_of(&full());
    for len in 1..bytes.len() {
        let error = read(&bytes[..len]).expect_err("cut off");
        match error.problem {
            Problem::Truncated { missing } => {
                assert_eq!(error.offset, len as u64);
                assert!(missing > 0 && len as u64 + missing <= bytes.len() as u64, "{missing} after {len}");
            }
            Problem::NotASnapshot(_) => assert!(len < 8, "{error}"),
            _ => panic!("{len}: {error}"),
        }
    }
}

#[test]
fn an_empty_file_is_called_empty() {
    let error = read(&[][..]).expect_err("empty");
    assert!(matches!(error.problem, Problem::NotASnapshot(Lookalike::Empty)), "{error}");
}

#[test]
fn a_damaged_section_is_named_with_its_place() {
    let bytes = bytes_of(&full());
    let fram = bytes.windows(4).position(|tag| tag == b"FRAM").expect("frames");
    let mut damaged = bytes.clone();
    damaged[fram + 100] ^= 1;
    let error = read(damaged.as_slice()).expect_err("damaged");
    assert_eq!((error.offset, error.section), (fram as u64, Some(Tag::FRAM)));
    assert!(matches!(error.problem, Problem::Checksum { .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("byte {fram}, section FRAM: damaged: checksum")), "{error}");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let mut bytes = bytes_of(&full());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            assert!(read_within(bytes.as_slice(), ENOUGH).is_err(), "byte {at}, bit {bit}");
            bytes[at] ^= 1 << bit;
        }
    }
}

/// A change to the bytes of a file.
#[derive(Clone, Debug)]
enum Change {
    Overwrite(Index, Vec<u8>),
    Insert(Index, Vec<u8>),
    Remove(Index, Index),
    Repeat(Index, Index),
    Append(Vec<u8>),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        let part = |a: &Index, b: &Index| {
            let (a, b) = (a.index(len), b.index(len));
            a.min(b)..a.max(b) + 1
        };
        match self {
            Self::Overwrite(at, new) => {
                let at = at.index(len);
                let end = (at + new.len()).min(len);
                bytes[at..end].copy_from_slice(&new[..end - at]);
            }
            Self::Insert(at, new) => drop(bytes.splice(at.index(len)..at.index(len), new.iter().copied())),
            Self::Remove(a, b) => drop(bytes.drain(part(a, b))),
            Self::Repeat(a, b) => {
                let copy = bytes[part(a, b)].to_vec();
                bytes.splice(part(a, b).start..part(a, b).start, copy);
            }
            Self::Append(new) => bytes.extend(new),
        }
    }
}

fn any_change() -> impl Strategy<Value = Change> {
    let few = || prop::collection::vec(any::<u8>(), 1..9);
    prop_oneof![
        (any::<Index>(), few()).prop_map(|(at, new)| Change::Overwrite(at, new)),
        (any::<Index>(), few()).prop_map(|(at, new)| Change::Insert(at, new)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Remove(a, b)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Repeat(a, b)),
        few().prop_map(Change::Append),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_change_is_refused(snapshot in any_snapshot(), changes in prop::collection::vec(any_change(), 1..4)) {
        let original = bytes_of(&snapshot);
        let mut bytes = original.clone();
        for change in &changes {
            if !bytes.is_empty() {
                change.apply(&mut bytes);
            }
        }
        match read_within(bytes.as_slice(), ENOUGH) {
            Ok(found) => prop_assert!(bytes == original && found == snapshot),
            Err(error) => prop_assert!(bytes != original, "{}", error),
        }
    }

    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), behind_header in any::<bool>()) {
        let header = &bytes_of(&full())[..24];
        let file = if behind_header { [header, &bytes].concat() } else { bytes };
        prop_assert!(read_within(file.as_slice(), ENOUGH).is_err());
    }
}
