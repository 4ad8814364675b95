//! Programs choose their nodes: memory policies, moves of pages, cpusets.

use order9_mm::mempolicy::{MbindFlags, MempolicyArgs, Mode, ModeFlags, Movable, mbind, migrate_space, set_mems};
use order9_units::NodeMask;

use super::{Choices, World, pages};

const MODES: [Mode; 7] = [
    Mode::Default,
    Mode::Preferred,
    Mode::Bind,
    Mode::Interleave,
    Mode::Local,
    Mode::PreferredMany,
    Mode::WeightedInterleave,
];
const FLAGS: [ModeFlags; 3] = [ModeFlags::None, ModeFlags::Static, ModeFlags::Relative];

impl<C: Choices> World<C> {
    /// Chooses nodes in one way or another. What Linux would refuse is refused.
    pub(super) fn step_on_nodes(&mut self) {
        let space = self.space();
        match self.below(10) {
            0 | 1 => {
                let policy = self.policy();
                let _refused = self.with(|mm| mm.set_mempolicy(space, &policy));
            }
            2..=5 => self.bind(),
            6 => {
                let ((start, length), node) = (self.range(), self.node());
                let _refused = self.with(|mm| mm.set_mempolicy_home_node(space, start, pages(length), node));
            }
            7 => {
                let (mems, migrates) = (self.nodes(), self.below(2) == 0);
                let _refused = self.machine.run(set_mems(&self.machine, space, mems, migrates));
            }
            8 => {
                let (from, to, capable) = (self.nodes(), self.nodes(), self.below(4) > 0);
                self.with(|mm| mm.set_sys_nice(space, capable)).expect("it lives");
                let other = self.space();
                let _refused = self.machine.run(migrate_space(&self.machine, space, other, from, to));
            }
            _ => {
                let (node, weight) = (self.node(), self.below(4).to_string());
                let name = format!("mempolicy/weighted_interleave/node{node}");
                self.with(|mm| mm.write_setting(&name, &weight)).expect("the node has memory");
            }
        }
    }

    fn bind(&mut self) {
        let (space, (start, length), args) = (self.space(), self.range(), self.policy());
        let moves = [None, Some(Movable::Own), Some(Movable::All)][self.below(3) as usize];
        let flags = MbindFlags { strict: self.below(2) == 0, moves };
        let _refused = self.machine.run(mbind(&self.machine, space, start, pages(length), &args, flags));
    }

    /// Any set of the two nodes, and now and then one that is not there.
    fn nodes(&mut self) -> NodeMask {
        NodeMask::from_bits(if self.below(8) == 0 { self.below(16) } else { self.below(4) })
    }

    fn policy(&mut self) -> MempolicyArgs {
        let (mode, flags) = (MODES[self.below(7) as usize], FLAGS[self.below(3) as usize]);
        let nodes = if matches!(mode, Mode::Default | Mode::Local) { NodeMask::EMPTY } else { self.nodes() };
        let balances = self.below(4) == 0;
        MempolicyArgs { mode, flags: if nodes.is_empty() { ModeFlags::None } else { flags }, balances, nodes }
    }
}
