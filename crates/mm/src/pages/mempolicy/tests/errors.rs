//! Calls about nodes and how each is refused, from the ERRORS of set_mempolicy(2), mbind(2), get_mempolicy(2),
//! set_mempolicy_home_node(2), migrate_pages(2) and move_pages(2), and from cpuset(7).

use order9_units::NodeId;

use super::super::{MbindFlags, MempolicyArgs, Mode, ModeFlags, Movable, PageMove};
use super::{START, address, args, bytes, mask, nodes, nodes_of, program};
use crate::env::run;
use crate::migrate::tests::World;
use crate::policy::{HugePlacement, MempolicyInterface};
use crate::space::Errno::{Eacces, Efault, Einval, Eio, Enodev, Enoent, Enospc, Enosys, Eopnotsupp, Eperm, Esrch};
use crate::space::{Errno, SpaceId, VirtAddr};
use crate::tasks::mempolicy::bind_range::mbind;
use crate::tasks::mempolicy::cpuset::set_mems;
use crate::tasks::mempolicy::migrate_pages::migrate_space;
use crate::tasks::mempolicy::move_pages::move_pages;

/// Nodes 0 to 2 have memory, node 3 has a CPU alone, node 4 is not there.
struct Caller {
    world: World,
    /// A program with four pages, of which the first two lie on node 0, and a hole behind them.
    space: SpaceId,
}

type Call = fn(&Caller) -> Result<(), Errno>;

const GONE: SpaceId = SpaceId(99);
const HOLE: u64 = 4;
const NOTHING: MbindFlags = MbindFlags { strict: false, moves: None };
const STRICT: MbindFlags = MbindFlags { strict: true, moves: None };
const ALL: MbindFlags = MbindFlags { strict: false, moves: Some(Movable::All) };

impl Caller {
    fn new() -> Self {
        let world = nodes(3);
        let space = {
            let mm = &mut *world.mm.borrow_mut();
            let space = program(mm, HOLE);
            nodes_of(mm, space, 0..2, 0);
            space
        };
        Self { world, space }
    }

    fn without_privilege(&self) -> &Self {
        {
            let mm = &mut *self.world.mm.borrow_mut();
            mm.pages.spaces.set_sys_nice(self.space, false)
        }
        .expect("it lives");
        self
    }

    fn within(&self, mems: &str) -> &Self {
        self.world.mm.borrow_mut().set_mems(self.space, mask(mems)).expect("the nodes have memory");
        self
    }

    fn before(&self, interface: MempolicyInterface) -> &Self {
        self.world.mm.borrow_mut().phys.policy.mempolicy = interface;
        self
    }

    fn with_proximity(&self) -> &Self {
        self.world.mm.borrow_mut().phys.policy.thp.placement = HugePlacement::MpolProximity;
        self
    }

    fn set(&self, policy: MempolicyArgs) -> Result<(), Errno> {
        self.world.mm.borrow_mut().set_mempolicy(self.space, &policy)
    }

    fn bind_at(&self, addr: VirtAddr, pages: u64, policy: MempolicyArgs, flags: MbindFlags) -> Result<(), Errno> {
        run(mbind(&self.world, self.space, addr, bytes(pages), &policy, flags))
    }

    fn bind(&self, policy: MempolicyArgs, flags: MbindFlags) -> Result<(), Errno> {
        self.bind_at(START, 2, policy, flags)
    }

    fn home(&self, page: u64, node: u16) -> Result<(), Errno> {
        self.home_at(address(START, page), node)
    }

    fn home_at(&self, addr: VirtAddr, node: u16) -> Result<(), Errno> {
        self.world.mm.borrow_mut().set_mempolicy_home_node(self.space, addr, bytes(1), NodeId(node))
    }

    fn bound_home(&self, mode: Mode, node: u16) -> Result<(), Errno> {
        self.bind(args(mode, "0-1"), NOTHING)?;
        self.home(0, node)
    }

    fn migrate(&self, from: &str, to: &str) -> Result<(), Errno> {
        run(migrate_space(&self.world, self.space, self.space, mask(from), mask(to))).map(|_| ())
    }

    /// Moves a page; what becomes of the call or, if that is done, of the page.
    fn move_page(&self, page: u64, node: u16, movable: Movable) -> Result<(), Errno> {
        let pages = [PageMove { addr: address(START, page), to: NodeId(node) }];
        let answers = run(move_pages(&self.world, self.space, self.space, &pages, movable))?;
        answers[0].map(|_| ())
    }

    fn mems(&self, mems: &str) -> Result<(), Errno> {
        run(set_mems(&self.world, self.space, mask(mems), false))
    }

    fn get(&self, space: SpaceId, page: Option<u64>) -> Result<(), Errno> {
        self.world.mm.borrow().pages.get_mempolicy(space, page.map(|page| address(START, page))).map(|_| ())
    }
}

fn flagged(mode: Mode, flags: ModeFlags, nodes: &str) -> MempolicyArgs {
    MempolicyArgs { flags, ..args(mode, nodes) }
}

fn balancing(mode: Mode, nodes: &str) -> MempolicyArgs {
    MempolicyArgs { balances: true, ..args(mode, nodes) }
}

const CALLS: &[(&str, Call, Result<(), Errno>)] = &[
    ("set_mempolicy: none of the nodes is there", |c| c.set(args(Mode::Bind, "4-9")), Err(Einval)),
    ("set_mempolicy: the node has no memory", |c| c.set(args(Mode::Preferred, "3")), Err(Einval)),
    ("set_mempolicy: one of the nodes has memory", |c| c.set(args(Mode::Bind, "2-9")), Ok(())),
    ("set_mempolicy: no nodes", |c| c.set(args(Mode::Bind, "")), Err(Einval)),
    ("set_mempolicy: turns without nodes", |c| c.set(args(Mode::WeightedInterleave, "")), Err(Einval)),
    ("set_mempolicy: preferred without nodes is local", |c| c.set(args(Mode::Preferred, "")), Ok(())),
    ("set_mempolicy: that with a flag", |c| c.set(flagged(Mode::Preferred, ModeFlags::Static, "")), Err(Einval)),
    ("set_mempolicy: default with nodes", |c| c.set(args(Mode::Default, "0")), Err(Einval)),
    ("set_mempolicy: proximity, unless the placement knows it", |c| c.set(args(Mode::NodeProximity, "")), Err(Einval)),
    ("set_mempolicy: proximity", |c| c.with_proximity().set(args(Mode::NodeProximity, "")), Ok(())),
    (
        "set_mempolicy: proximity without privilege",
        |c| c.with_proximity().without_privilege().set(args(Mode::NodeProximity, "")),
        Err(Eperm),
    ),
    ("set_mempolicy: proximity with nodes", |c| c.with_proximity().set(args(Mode::NodeProximity, "0")), Err(Einval)),
    (
        "mbind: proximity without privilege",
        |c| c.with_proximity().without_privilege().bind(args(Mode::NodeProximity, ""), NOTHING),
        Err(Eperm),
    ),
    ("set_mempolicy: local with nodes", |c| c.set(args(Mode::Local, "0")), Err(Einval)),
    ("set_mempolicy: outside the cpuset", |c| c.within("1").set(args(Mode::Bind, "0,2")), Err(Einval)),
    (
        "set_mempolicy: places in the cpuset",
        |c| c.within("1").set(flagged(Mode::Bind, ModeFlags::Relative, "0,2")),
        Ok(()),
    ),
    (
        "set_mempolicy: a mode of later kernels",
        |c| c.before(MempolicyInterface::Base).set(args(Mode::PreferredMany, "0")),
        Err(Einval),
    ),
    ("set_mempolicy: balancing by turns", |c| c.set(balancing(Mode::Interleave, "0")), Err(Einval)),
    ("set_mempolicy: without privilege", |c| c.without_privilege().set(args(Mode::Bind, "1")), Ok(())),
    ("get_mempolicy: a program that is gone", |c| c.get(GONE, None), Err(Esrch)),
    ("get_mempolicy: nothing is mapped there", |c| c.get(c.space, Some(HOLE)), Err(Efault)),
    (
        "get_mempolicy: turns of a task without",
        |c| c.world.mm.borrow().pages.next_interleave_node(c.space).map(|_| ()),
        Err(Einval),
    ),
    (
        "mbind: not aligned",
        |c| c.bind_at(VirtAddr::new(START.get() + 1), 1, args(Mode::Bind, "1"), NOTHING),
        Err(Einval),
    ),
    ("mbind: beyond all addresses", |c| c.bind_at(START, u64::MAX >> 13, args(Mode::Bind, "1"), NOTHING), Err(Einval)),
    ("mbind: across a hole", |c| c.bind_at(START, HOLE + 1, args(Mode::Bind, "1"), NOTHING), Err(Efault)),
    ("mbind: no page", |c| c.bind_at(START, 0, args(Mode::Bind, ""), NOTHING), Ok(())),
    ("mbind: none of the nodes is there", |c| c.bind(args(Mode::Interleave, "4"), NOTHING), Err(Einval)),
    ("mbind: no nodes", |c| c.bind(args(Mode::Bind, ""), NOTHING), Err(Einval)),
    ("mbind: the node has no memory", |c| c.bind(args(Mode::Bind, "3"), NOTHING), Err(Einval)),
    ("mbind: balancing", |c| c.bind(balancing(Mode::Bind, "0"), NOTHING), Err(Einval)),
    ("mbind: pages lie elsewhere", |c| c.bind(args(Mode::Bind, "1"), STRICT), Err(Eio)),
    ("mbind: pages lie there", |c| c.bind(args(Mode::Bind, "0"), STRICT), Ok(())),
    ("mbind: all pages", |c| c.bind(args(Mode::Bind, "1"), ALL), Ok(())),
    ("mbind: all without privilege", |c| c.without_privilege().bind(args(Mode::Bind, "1"), ALL), Err(Eperm)),
    (
        "mbind: privilege goes before the range",
        |c| c.without_privilege().bind_at(VirtAddr::new(1), 1, args(Mode::Bind, ""), ALL),
        Err(Eperm),
    ),
    ("set_mempolicy_home_node: a node that is not there", |c| c.bound_home(Mode::Bind, 4), Err(Einval)),
    ("set_mempolicy_home_node: one without memory", |c| c.bound_home(Mode::Bind, 3), Ok(())),
    ("set_mempolicy_home_node: several preferred", |c| c.bound_home(Mode::PreferredMany, 2), Ok(())),
    ("set_mempolicy_home_node: turns", |c| c.bound_home(Mode::Interleave, 0), Err(Eopnotsupp)),
    ("set_mempolicy_home_node: no policy", |c| c.home(0, 0), Err(Enoent)),
    ("set_mempolicy_home_node: nothing is mapped", |c| c.home(HOLE, 0), Err(Enoent)),
    ("set_mempolicy_home_node: not aligned", |c| c.home_at(VirtAddr::new(START.get() + 1), 0), Err(Einval)),
    ("set_mempolicy_home_node: before 5.17", |c| c.before(MempolicyInterface::PreferredMany).home(0, 0), Err(Enosys)),
    ("migrate_pages: none of the nodes is there", |c| c.migrate("0", "4"), Err(Einval)),
    ("migrate_pages: the node has no memory", |c| c.migrate("0", "3"), Err(Einval)),
    ("migrate_pages: one of the nodes has memory", |c| c.migrate("0", "2-4"), Ok(())),
    ("migrate_pages: no nodes", |c| c.migrate("0", ""), Err(Einval)),
    ("migrate_pages: from nodes that are not there", |c| c.migrate("4-9", "1"), Ok(())),
    ("migrate_pages: outside the cpuset", |c| c.within("0-1").migrate("0", "2"), Err(Einval)),
    ("migrate_pages: that without privilege", |c| c.within("0-1").without_privilege().migrate("0", "2"), Err(Eperm)),
    ("migrate_pages: within it without privilege", |c| c.within("0-1").without_privilege().migrate("0", "1"), Ok(())),
    (
        "migrate_pages: a program that is gone",
        |c| run(migrate_space(&c.world, c.space, GONE, mask("0"), mask("1"))).map(|_| ()),
        Err(Esrch),
    ),
    ("move_pages: a node that is not there", |c| c.move_page(0, 4, Movable::Own), Err(Enodev)),
    ("move_pages: far beyond all nodes", |c| c.move_page(0, u16::MAX, Movable::Own), Err(Enodev)),
    ("move_pages: one without memory", |c| c.move_page(0, 3, Movable::Own), Err(Enodev)),
    ("move_pages: outside the cpuset", |c| c.within("0-1").move_page(0, 2, Movable::Own), Err(Eacces)),
    ("move_pages: all without privilege", |c| c.without_privilege().move_page(0, 1, Movable::All), Err(Eperm)),
    ("move_pages: own without privilege", |c| c.without_privilege().move_page(0, 1, Movable::Own), Ok(())),
    ("move_pages: a page that was never touched", |c| c.move_page(2, 1, Movable::Own), Err(Enoent)),
    ("move_pages: nothing is mapped there", |c| c.move_page(HOLE, 1, Movable::Own), Err(Efault)),
    (
        "move_pages: a program that is gone",
        |c| run(move_pages(&c.world, c.space, GONE, &[], Movable::Own)).map(|_| ()),
        Err(Esrch),
    ),
    ("cpuset.mems: no nodes", |c| c.mems(""), Err(Enospc)),
    ("cpuset.mems: a node that is not there", |c| c.mems("0,4"), Err(Einval)),
    ("cpuset.mems: one without memory", |c| c.mems("3"), Err(Einval)),
    ("cpuset.mems: some of the nodes", |c| c.mems("1-2"), Ok(())),
];

#[test]
fn calls_are_refused_as_linux_refuses_them() {
    for (what, call, expected) in CALLS {
        let caller = Caller::new();
        assert_eq!(call(&caller), *expected, "{what}");
        caller.world.mm.borrow().check().unwrap_or_else(|violation| panic!("{what}: {violation}"));
    }
}
