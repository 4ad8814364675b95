//! Machines of one to eight nodes, and what programs ask of nodes: drawn, for random worlds and fuzzing.
//!
//! Key types: [`Choices`] (who draws), [`Machine`] (nodes of uneven sizes, some of them without memory, without CPUs or without
//! either, at any distances). Masks and policies that are drawn for it may name nodes that it does not have.

use order9_mm::mempolicy::{MempolicyArgs, Mode, ModeFlags};
use order9_mm::{Layout, NodeSpec, ZoneSpec};
use order9_units::{NodeId, NodeMask, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

/// First frame of every machine.
const BASE: Pfn = Pfn::new(1 << 20);
/// Nodes that a machine has at most.
const NODES: u64 = 8;
/// CPUs that it has at most.
const CPUS: u64 = 6;
/// Distances between nodes, within and beyond what counts as near.
const DISTANCES: [u32; 6] = [11, 15, 20, 21, 30, 42];

const MODES: [Mode; 8] = [
    Mode::Default,
    Mode::Preferred,
    Mode::Bind,
    Mode::Interleave,
    Mode::Local,
    Mode::PreferredMany,
    Mode::WeightedInterleave,
    Mode::NodeProximity,
];
const FLAGS: [ModeFlags; 3] = [ModeFlags::None, ModeFlags::Static, ModeFlags::Relative];

/// Source of random or given choices.
pub trait Choices {
    /// A number below `bound`, which is at least 1.
    fn below(&mut self, bound: u64) -> u64;
}

/// Pseudo-random numbers from a seed: a linear congruential generator, of which the upper bits count.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Choices for Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The bytes of an input, two for each choice; 0 once they are used up.
#[derive(Clone, Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl Choices for Input<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        let Some((bytes, rest)) = self.0.split_first_chunk::<2>() else {
            self.0 = &[];
            return 0;
        };
        self.0 = rest;
        u64::from(u16::from_le_bytes(*bytes)) % bound
    }
}

/// Nodes and zones of a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Layout for the engine.
    pub layout: Layout,
}

impl Machine {
    /// A machine with about so much memory, and at least one CPU.
    pub fn draw(choices: &mut impl Choices, memory: Pages) -> Self {
        let count = 1 + choices.below(NODES);
        let mut shares: Vec<u64> = (0..count).map(|_| choices.below(4)).collect();
        if shares.iter().all(|&share| share == 0) {
            shares[0] = 1;
        }
        let (blocks, sum) = (memory.get() / PAGEBLOCK_PAGES.get(), shares.iter().sum::<u64>());
        let mut zones: Vec<ZoneSpec> = Vec::new();
        let mut start = BASE;
        for (node, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0) {
            let whole = PAGEBLOCK_PAGES * (blocks * share / sum).max(1);
            let pages = whole - Pages::new(choices.below(2) * choices.below(PAGEBLOCK_PAGES.get() / 2));
            let low = zones.is_empty() && choices.below(4) == 0;
            let kind = if low { ZoneKind::Dma32 } else { ZoneKind::Normal };
            zones.push(ZoneSpec { node: NodeId(node as u16), kind, span: PfnRange::of(start, pages) });
            start += whole;
        }
        let cpus = (0..=choices.below(CPUS)).map(|_| NodeId(choices.below(count) as u16)).collect();
        let mut nodes = vec![NodeSpec { distances: vec![10; count as usize] }; count as usize];
        for from in 0..count as usize {
            for to in 0..from {
                let distance = DISTANCES[choices.below(DISTANCES.len() as u64) as usize];
                nodes[from].distances[to] = distance;
                nodes[to].distances[from] = distance;
            }
        }
        Self { layout: Layout { nodes, zones, cpus, ..Layout::default() } }
    }

    /// Nodes of the machine, with or without memory and CPUs.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.layout.nodes.len() as u16).map(NodeId)
    }

    /// The node of a CPU.
    #[must_use]
    pub fn node_of(&self, cpu: usize) -> NodeId {
        self.layout.cpus[cpu]
    }

    /// All frames of the machine.
    pub fn frames(&self) -> impl Iterator<Item = Pfn> + '_ {
        self.layout.zones.iter().flat_map(|zone| zone.span.iter())
    }

    /// One of its CPUs.
    pub fn cpu(&self, choices: &mut impl Choices) -> usize {
        choices.below(self.layout.cpus.len() as u64) as usize
    }

    /// One of its nodes.
    pub fn node(&self, choices: &mut impl Choices) -> NodeId {
        NodeId(choices.below(self.layout.nodes.len() as u64) as u16)
    }

    /// One of its frames.
    pub fn frame(&self, choices: &mut impl Choices) -> Pfn {
        let zone = self.layout.zones[choices.below(self.layout.zones.len() as u64) as usize];
        zone.span.start + Pages::new(choices.below(zone.span.len().get()))
    }

    /// Any set of its nodes, and now and then one with nodes that are not there.
    pub fn mask(&self, choices: &mut impl Choices) -> NodeMask {
        let nodes = self.layout.nodes.len() as u64;
        let beyond = 2 * (choices.below(8) / 7);
        NodeMask::from_bits(choices.below(1 << (nodes + beyond)))
    }

    /// A memory policy that names such a set.
    pub fn policy(&self, choices: &mut impl Choices) -> MempolicyArgs {
        let (mode, flags) = (MODES[choices.below(8) as usize], FLAGS[choices.below(3) as usize]);
        let nodes = if mode.takes_nodes() { self.mask(choices) } else { NodeMask::EMPTY };
        let balances = choices.below(4) == 0;
        MempolicyArgs { mode, flags: if nodes.is_empty() { ModeFlags::None } else { flags }, balances, nodes }
    }
}
