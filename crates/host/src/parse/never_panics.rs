//! No text makes a parser panic: arbitrary ones, and real files with a few bytes changed.

use proptest::prelude::*;

use super::{buddyinfo, cmdline, counters, cpulist, iomem, pagetypeinfo, pressure, release, uptime, zoneinfo};

/// Feeds `text` to every parser.
fn parse_all(text: &str) {
    let _ = buddyinfo::parse(text);
    let _ = counters::parse(text);
    let _ = cpulist::parse(text);
    let _ = iomem::parse(text);
    let _ = pagetypeinfo::parse(text);
    let _ = pressure::parse(text);
    let _ = release::parse(text, release::Keep::Version);
    let _ = uptime::parse(text);
    let _ = zoneinfo::parse(text);
    let _ = cmdline::filter(text);
    let _ = crate::page_owner::Record::parse(text);
}

const REAL: &[&str] = &[
    pagetypeinfo::tests::LINUX_4_2,
    pagetypeinfo::tests::LINUX_4_14,
    zoneinfo::tests::LINUX_4_4,
    zoneinfo::tests::LINUX_6_18,
    buddyinfo::tests::TWO_NODES,
    "00001000-0009fbff : System RAM\n100000000-63fffffff : System RAM\n",
    "some avg10=0.12 avg60=0.05 avg300=0.00 total=205933\n",
    crate::page_owner::tests::LINUX_6_12,
    "psi=1 slub_debug=\"FZ, kmalloc-64\" -- quiet\n",
    "0-3,8,10-11\n",
    "215.88 407.56\n",
    "5.14.0-503.11.1.el9_5.x86_64\n",
];

/// Pieces that files of this kind are made of, and some that they should not be made of.
const PIECES: &[&str] = &[
    "",
    "Node",
    "\n",
    ":",
    ",",
    " ",
    "-",
    "18446744073709551615",
    "-1",
    "order",
    "type",
    "zone",
    "é",
    "0x",
    "\0",
    "(",
    ">",
];

fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..8_usize, prop::sample::select(PIECES));
    (prop::sample::select(REAL), prop::collection::vec(change, 1..6)).prop_map(|(real, changes)| {
        let mut text: Vec<char> = real.chars().collect();
        for (at, cut, piece) in changes {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn on_arbitrary_text(text in ".*") {
        parse_all(&text);
    }

    #[test]
    fn on_damaged_files(text in mutated()) {
        parse_all(&text);
    }
}
