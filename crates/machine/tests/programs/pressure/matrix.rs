//! Every working set with every kind of memory and every amount of swap; the number of tasks goes round.

use order9_machine::{Machine, Options};
use order9_units::{Bytes, Pages};

use super::{Kind, Pressure};
use crate::huge::huge_machine;
use crate::{machine_with, mib};

const MEMORY: Bytes = mib(64);

/// What must come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Fits,
    OutOfMemory,
    /// Linux up to 5.4 does not look for other pages while there are more inactive than active ones, though pins may hold
    /// them all.
    Either,
}

/// Memory that programs cannot have: marks, page tables, objects of the kernel.
const RESERVED: u64 = 8;

impl Pressure {
    /// Only what can neither be dropped nor written anywhere makes memory run out.
    pub(super) fn expected(&self) -> Expected {
        let memory = Pages::from_bytes_floor(self.memory).get();
        let (anon, _) = self.wanted();
        let unevictable = if let Kind::Mlocked | Kind::Pinned = self.kind { anon / 2 } else { 0 };
        let usable = memory * (100 - RESERVED) / 100;
        if self.kind == Kind::Pinned && anon > usable && unevictable <= usable && self.swap.get() > 0 {
            return Expected::Either;
        }
        if anon > usable + self.swap.get() || unevictable > usable { Expected::OutOfMemory } else { Expected::Fits }
    }

    /// Runs it on the machine that `machine` makes.
    pub(super) fn check(&self, machine: impl FnOnce(&Options) -> Machine) {
        let results = self.run(machine);
        let got = if results.kills.is_empty() { Expected::Fits } else { Expected::OutOfMemory };
        let expected = self.expected();
        assert!(
            got == expected || expected == Expected::Either,
            "{self:?}: {:?}",
            results.kills.first().map(ToString::to_string)
        );
        self.assert_outcome(&results);
    }
}

fn matrix(kind: Kind) {
    matrix_on(kind, |options| machine_with(MEMORY, 2, options));
}

fn matrix_on(kind: Kind, machine: fn(&Options) -> Machine) {
    let ample = Pages::from_bytes_floor(Bytes::new(MEMORY.get() * 4));
    let percents = [50, 90, 110, 150, 300];
    let mut tasks = [1, 4, 16, 64].into_iter().cycle();
    for swap in [Pages::ZERO, Pages::new(64), ample] {
        for percent in percents {
            let tasks = tasks.next().expect("a cycle has no end");
            let pressure = Pressure { memory: MEMORY, kind, percent, swap, tasks };
            pressure.check(machine);
        }
    }
}

#[test]
fn anonymous_memory() {
    matrix(Kind::Anon);
}

#[test]
fn anonymous_memory_in_huge_pages() {
    matrix_on(Kind::Anon, |options| huge_machine(MEMORY, true, options));
    matrix_on(Kind::Mlocked, |options| huge_machine(MEMORY, true, options));
}

#[test]
fn shared_memory() {
    matrix(Kind::Shared);
}

#[test]
fn files_that_are_read() {
    matrix(Kind::Read);
}

#[test]
fn files_that_are_written() {
    matrix(Kind::Dirty);
}

#[test]
fn memory_half_locked() {
    matrix(Kind::Mlocked);
}

#[test]
fn memory_half_pinned() {
    matrix(Kind::Pinned);
}

#[test]
fn small_files_beside_anonymous_memory() {
    matrix(Kind::Slab);
}
