//! Operations at random: seeded streams for millions of steps, and proptest strategies that shrink.

use order9_units::Migratetype;
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::op::{Ask, Case, Machine, Op, Rights};
use crate::profiles;

/// An endless stream of operations that fills and empties memory in turns.
pub struct Stream {
    rng: Pcg64Mcg,
    /// CPUs and nodes to ask for.
    cpus: usize,
    nodes: u16,
    /// Operations left in this phase.
    left: u32,
    /// Chance of an allocation in this phase, in 1/256.
    allocates: u32,
    /// Requests favoured in this phase.
    favourite: Ask,
    /// Orders asked for: the smallest, and how many.
    orders: (u32, u32),
}

impl Stream {
    /// The stream of `seed` for a machine.
    #[must_use]
    pub fn new(machine: Machine, seed: u64) -> Self {
        let layout = machine.layout();
        let (cpus, nodes) = (layout.cpus.len(), layout.nodes.len() as u16);
        let rng = Pcg64Mcg::seed_from_u64(seed);
        Self { rng, cpus, nodes, left: 0, allocates: 0, favourite: Ask::User, orders: (0, 1) }
    }

    fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.rng.next_u32()) * u64::from(end)) >> 32) as u32
    }

    fn nth(&mut self) -> usize {
        self.rng.next_u32() as usize
    }

    fn new_phase(&mut self) {
        self.left = 1 + self.below(2000);
        self.allocates = [60, 100, 128, 160, 200, 230][self.below(6) as usize];
        self.favourite = self.ask();
        self.orders = [(0, 1), (0, 1), (0, 4), (3, 3), (3, 7), (9, 2), (9, 1), (0, 11)][self.below(8) as usize];
    }

    fn ask(&mut self) -> Ask {
        Ask::ALL[self.below(Ask::ALL.len() as u32) as usize]
    }

    fn cpu(&mut self) -> usize {
        self.below(self.cpus as u32 + 1) as usize
    }

    fn node(&mut self) -> u16 {
        self.below(u32::from(self.nodes)) as u16
    }

    fn alloc(&mut self) -> Op {
        let ask = if self.below(4) == 0 { self.ask() } else { self.favourite };
        let (least, orders) = self.orders;
        let order = if self.below(16) == 0 { self.below(11) } else { least + self.below(orders) } as u8;
        let (node, cpu) = (self.node(), self.cpu());
        if self.below(8) == 0 {
            let rights = Rights::ALL[self.below(Rights::ALL.len() as u32) as usize];
            return Op::AllocSlow { order, ask, node, cpu, rights };
        }
        Op::Alloc { order, ask, node, cpu }
    }

    fn rare(&mut self) -> Op {
        let (nth, on) = (self.nth(), self.below(2) == 0);
        match self.below(64) {
            0..4 => Op::Pin { nth },
            4..8 => Op::Unpin { nth },
            8..28 => Op::SetMovable { nth, on: self.below(8) != 0 },
            28..31 => Op::SetIsolated { nth, on },
            31..35 => Op::SetIsolated { nth, on: false },
            35..37 => Op::Drain,
            37..42 => Op::IsolateFree { nth, boosted: on },
            42..48 => Op::ReleaseFree { nth },
            48..49 => Op::IsolateBlock { nth },
            49..54 => Op::UnisolateBlock { nth, movable: on },
            54..56 => Op::Unreserve { node: self.node(), mt: Migratetype::PCP[self.below(3) as usize], force: on },
            59..61 => Op::FreeFrame { nth, cpu: self.cpu() },
            56 => Op::SetScaleFactor([10, 10, 50, 200][self.below(4) as usize]),
            57 => Op::SetBoostFactor([0, 15_000, 15_000, 40_000][self.below(4) as usize]),
            58 => Op::SetMinFree([0, 256, 1024, 4096][self.below(4) as usize]),
            _ => Op::TakeKswapd { node: self.node() },
        }
    }
}

impl Iterator for Stream {
    type Item = Op;

    fn next(&mut self) -> Option<Op> {
        if self.left == 0 {
            self.new_phase();
        }
        self.left -= 1;
        Some(match self.below(16) {
            0 => self.rare(),
            _ if self.below(256) < self.allocates => self.alloc(),
            _ => Op::Free { nth: self.nth(), cpu: self.cpu() },
        })
    }
}

/// Any machine of the kit that is small.
pub fn machine() -> impl Strategy<Value = Machine> {
    prop_oneof![
        (1..20_u64, 0..3_usize).prop_map(|(blocks, cpus)| Machine::Tiny { blocks, cpus }),
        (8..24_u64, 0..3_usize).prop_map(|(blocks, cpus)| Machine::Ragged { blocks, cpus }),
        (0..3_usize).prop_map(|cpus| Machine::TwoNodes { cpus }),
    ]
}

/// Any small machine with any profile and, often, one switch set to any value.
pub fn case() -> impl Strategy<Value = Case> {
    let profile = prop::sample::select(profiles::ALL.map(|(name, _)| name).to_vec());
    let flip = prop::option::of(prop::sample::select(profiles::FLIPS.map(|(name, _)| name).to_vec()));
    (machine(), profile, flip).prop_map(|(machine, profile, flip)| Case { machine, profile, flip })
}

/// Any operation.
pub fn op() -> impl Strategy<Value = Op> {
    let ask = prop::sample::select(Ask::ALL.to_vec());
    let rights = prop::sample::select(Rights::ALL.to_vec());
    let order = || prop_oneof![4 => 0..1_u8, 2 => 1..4_u8, 3 => 4..11_u8];
    let alloc = (order(), ask.clone(), 0..2_u16, 0..3_usize);
    let slow = (order(), ask, 0..2_u16, 0..3_usize, rights);
    let nth = || 0..256_usize;
    prop_oneof![
        12 => alloc.prop_map(|(order, ask, node, cpu)| Op::Alloc { order, ask, node, cpu }),
        3 => slow.prop_map(|(order, ask, node, cpu, rights)| Op::AllocSlow { order, ask, node, cpu, rights }),
        1 => (0..2_u16, prop::sample::select(Migratetype::PCP.to_vec()), any::<bool>())
            .prop_map(|(node, mt, force)| Op::Unreserve { node, mt, force }),
        6 => (nth(), 0..3_usize).prop_map(|(nth, cpu)| Op::Free { nth, cpu }),
        1 => (any::<usize>(), 0..3_usize).prop_map(|(nth, cpu)| Op::FreeFrame { nth, cpu }),
        1 => nth().prop_map(|nth| Op::Pin { nth }),
        1 => nth().prop_map(|nth| Op::Unpin { nth }),
        2 => (nth(), any::<bool>()).prop_map(|(nth, on)| Op::SetMovable { nth, on }),
        1 => (nth(), any::<bool>()).prop_map(|(nth, on)| Op::SetIsolated { nth, on }),
        1 => Just(Op::Drain),
        1 => (nth(), any::<bool>()).prop_map(|(nth, boosted)| Op::IsolateFree { nth, boosted }),
        1 => nth().prop_map(|nth| Op::ReleaseFree { nth }),
        1 => nth().prop_map(|nth| Op::IsolateBlock { nth }),
        1 => (nth(), any::<bool>()).prop_map(|(nth, movable)| Op::UnisolateBlock { nth, movable }),
    ]
}
