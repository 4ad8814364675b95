//! Calls in any order against a naive model, on machines of one to eight nodes.
//!
//! The model knows nothing of mappings: it holds a policy for each page and each thread, and where each page lies. Memory is never short,
//! so that every page lies where its policy says, and every page that may move does.

use alloc::vec::Vec;
use core::ops::Range;

use order9_units::{NodeId, NodeMask};

use super::super::{MbindFlags, MempolicyArgs, Mode, ModeFlags, Movable, PageMove, SpaceTask};
use super::{START, address, bytes, node, nodes, program, write};
use crate::env::run;
use crate::slab::tests::Random;
use crate::space::{Errno, Madvise};
use crate::tasks::mempolicy::bind_range::mbind;
use crate::tasks::mempolicy::cpuset::set_mems;
use crate::tasks::mempolicy::migrate_pages::migrate_space;
use crate::tasks::mempolicy::move_pages::move_pages;

/// Pages of the program.
const PAGES: u64 = 24;
/// Threads of the program.
const THREADS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Op {
    Write {
        thread: usize,
        page: u64,
        cpu: u16,
    },
    Discard {
        page: u64,
        pages: u64,
    },
    Task {
        thread: usize,
        policy: MempolicyArgs,
    },
    /// A thread ends, and another one starts it anew.
    Clone {
        thread: usize,
        by: usize,
    },
    Bind {
        thread: usize,
        page: u64,
        pages: u64,
        policy: MempolicyArgs,
        strict: bool,
        moves: bool,
    },
    Home {
        page: u64,
        pages: u64,
        node: u16,
    },
    Mems {
        mems: u64,
        migrates: bool,
    },
    Move {
        page: u64,
        to: u16,
    },
    Migrate {
        from: u64,
        to: u64,
    },
}

/// Choices of the next events.
struct Choices(Random);

impl Choices {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Any set of the first nine nodes, the machine's or not.
    fn nodes(&mut self) -> u64 {
        self.below(1 << 9)
    }

    fn policy(&mut self) -> MempolicyArgs {
        use Mode::{Bind, Default, Interleave, Local, Preferred, PreferredMany, WeightedInterleave};
        let mode = self.one_of(&[Default, Preferred, Bind, Interleave, Local, PreferredMany, WeightedInterleave]);
        let takes_none = matches!(mode, Default | Local) || self.below(8) == 0;
        let nodes = if takes_none && self.below(4) > 0 { 0 } else { self.nodes() };
        let flags = self.one_of(&[ModeFlags::None, ModeFlags::None, ModeFlags::Static, ModeFlags::Relative]);
        let flags = if takes_none { ModeFlags::None } else { flags };
        MempolicyArgs { mode, flags, balances: false, nodes: NodeMask::from_bits(nodes) }
    }

    fn op(&mut self) -> Op {
        let (page, pages, node) = (self.below(PAGES), self.below(PAGES), self.below(9) as u16);
        let thread = self.below(THREADS as u64) as usize;
        match self.below(21) {
            0..8 => Op::Write { thread, page, cpu: node },
            8 => Op::Discard { page, pages },
            9 | 10 => Op::Task { thread, policy: self.policy() },
            11..15 => {
                let (strict, moves) = (self.below(2) == 0, self.below(2) == 0);
                Op::Bind { thread, page, pages, policy: self.policy(), strict, moves }
            }
            15 => Op::Home { page, pages, node },
            16 => Op::Mems { mems: self.nodes(), migrates: self.below(2) == 0 },
            17 | 18 => Op::Move { page, to: node },
            19 if thread > 0 => Op::Clone { thread, by: self.below(thread as u64) as usize },
            _ => Op::Migrate { from: self.nodes(), to: self.nodes() },
        }
    }
}

/// A set of nodes, ascending.
type Nodes = Vec<u16>;

/// A policy in force.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    mode: Mode,
    flags: ModeFlags,
    given: Nodes,
    nodes: Nodes,
    cpuset: Nodes,
    home: Option<u16>,
}

struct Model {
    count: u16,
    tasks: [Option<Held>; THREADS],
    pages: [Option<Held>; PAGES as usize],
    at: [Option<u16>; PAGES as usize],
    mems: Nodes,
}

fn listed(mask: NodeMask) -> Nodes {
    (0..64).filter(|&node| mask.bits() >> node & 1 == 1).collect()
}

fn relative(given: &[u16], of: &[u16]) -> Nodes {
    let mut nodes: Nodes = given.iter().map(|&place| of[usize::from(place) % of.len()]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// `nodes` as they follow from one cpuset to another.
fn carried(nodes: &[u16], from: &[u16], to: &[u16]) -> Nodes {
    let mut carried: Nodes = nodes.iter().map(|node| image(*node, from, to)).collect();
    carried.sort_unstable();
    carried.dedup();
    carried
}

fn image(node: u16, from: &[u16], to: &[u16]) -> u16 {
    from.iter().position(|&other| other == node).map_or(node, |place| to[place % to.len()])
}

impl Model {
    fn held(&self, args: &MempolicyArgs) -> Result<Option<Held>, Errno> {
        let given = listed(args.nodes);
        let takes_none = matches!(args.mode, Mode::Default | Mode::Local);
        let mode = if args.mode == Mode::Preferred && given.is_empty() { Mode::Local } else { args.mode };
        if takes_none && !given.is_empty()
            || mode == Mode::Local && args.flags != ModeFlags::None
            || mode != Mode::Local && mode != Mode::Default && given.is_empty()
        {
            return Err(Errno::Einval);
        }
        if mode == Mode::Default {
            return Ok(None);
        }
        let mut nodes: Nodes = match args.flags {
            ModeFlags::Relative => relative(&given, &self.mems),
            _ => given.iter().copied().filter(|node| self.mems.contains(node)).collect(),
        };
        if nodes.is_empty() && mode != Mode::Local {
            return Err(Errno::Einval);
        }
        if mode == Mode::Preferred {
            nodes.truncate(1);
        }
        Ok(Some(Held { mode, flags: args.flags, given, nodes, cpuset: self.mems.clone(), home: None }))
    }

    /// The node of a new page of a thread. The further the numbers are apart, the further are the nodes.
    fn choose(&self, thread: usize, page: u64, cpu: u16) -> u16 {
        let nearest = |to: u16, of: &[u16]| {
            let order = |&node: &u16| (node.abs_diff(to), node < to, node);
            of.iter().copied().filter(|node| self.mems.contains(node)).min_by_key(order)
        };
        let everywhere: Nodes = (0..self.count).collect();
        let place = START.vpn().get() + page;
        let held = self.pages[page as usize].as_ref().or(self.tasks[thread].as_ref());
        let Some(held) = held else { return nearest(cpu, &everywhere).unwrap() };
        let chosen = match held.mode {
            Mode::Local | Mode::Default | Mode::NodeProximity => nearest(cpu, &everywhere),
            Mode::Preferred => nearest(held.nodes[0], &everywhere),
            Mode::Bind | Mode::PreferredMany => nearest(held.home.unwrap_or(cpu), &held.nodes),
            Mode::Interleave | Mode::WeightedInterleave => {
                nearest(held.nodes[(place % held.nodes.len() as u64) as usize], &everywhere)
            }
        };
        chosen.unwrap_or_else(|| nearest(held.home.unwrap_or(cpu), &everywhere).unwrap())
    }

    fn is_misplaced(&self, held: Option<&Held>, page: usize) -> bool {
        let accepted = held.map_or(&[][..], |held| match held.flags {
            ModeFlags::Relative => &held.nodes,
            _ => &held.given,
        });
        self.at[page].is_some_and(|node| !accepted.contains(&node))
    }

    fn rebind(&self, held: &mut Held, to: &Nodes) {
        let nodes = match held.flags {
            _ if matches!(held.mode, Mode::Local | Mode::Preferred) => held.nodes.clone(),
            ModeFlags::Static => held.given.iter().copied().filter(|node| to.contains(node)).collect(),
            ModeFlags::Relative => relative(&held.given, to),
            ModeFlags::None => carried(&held.nodes, &held.cpuset, to),
        };
        if !nodes.is_empty() {
            held.nodes = nodes;
        }
        held.cpuset.clone_from(to);
    }

    /// Moves pages from nodes to others by place, and says what becomes of a page on each node.
    fn migrate(&mut self, from: &Nodes, to: &Nodes) {
        let stays = |node: &u16| from.len() != to.len() && to.contains(node);
        let mut left: Nodes =
            from.iter().copied().filter(|node| !stays(node) && image(*node, from, to) != *node).collect();
        while let Some(&last) = left.last() {
            let free = left.iter().copied().find(|&node| !left.contains(&image(node, from, to)));
            let source = free.unwrap_or(last);
            left.retain(|&node| node != source);
            for at in self.at.iter_mut().filter(|at| **at == Some(source)) {
                *at = Some(image(source, from, to));
            }
        }
    }
}

fn replay(count: u16, ops: &[Op]) {
    let world = nodes(count);
    let space = program(&mut world.mm.borrow_mut(), PAGES);
    let everywhere: Nodes = (0..count).collect();
    let (tasks, pages, at) = Default::default();
    let mut model = Model { count, tasks, pages, at, mems: everywhere };
    let mut threads = [SpaceTask::from(space); THREADS];
    for thread in &mut threads[1..] {
        *thread = {
            let mm = &mut *world.mm.borrow_mut();
            mm.pages.spaces.start_thread(space)
        }
        .expect("it lives");
    }
    for op in ops {
        match *op {
            Op::Write { thread, page, cpu } => {
                let cpu = cpu.min(count);
                write(&mut world.mm.borrow_mut(), threads[thread], page, usize::from(cpu));
                if model.at[page as usize].is_none() {
                    model.at[page as usize] = Some(model.choose(thread, page, cpu));
                }
            }
            Op::Discard { page, pages } => {
                let pages = pages.min(PAGES - page);
                let mm = &mut *world.mm.borrow_mut();
                mm.madvise(space, address(START, page), bytes(pages), Madvise::DontNeed, 0).unwrap();
                model.at[page as usize..(page + pages) as usize].fill(None);
            }
            Op::Task { thread, policy } => {
                let expected = model.held(&policy);
                let done = world.mm.borrow_mut().set_mempolicy(threads[thread], &policy);
                assert_eq!(done, expected.clone().map(|_| ()));
                model.tasks[thread] = expected.unwrap_or_else(|_| model.tasks[thread].take());
            }
            Op::Clone { thread, by } => {
                let mm = &mut *world.mm.borrow_mut();
                mm.pages.spaces.end_thread(threads[thread]);
                assert_eq!(mm.set_mempolicy(threads[thread], &MempolicyArgs::DEFAULT), Err(Errno::Esrch));
                threads[thread] = mm.pages.spaces.start_thread(threads[by]).expect("it lives");
                model.tasks[thread] = model.tasks[by].clone();
            }
            Op::Bind { thread, page, pages, ref policy, strict, moves } => {
                let range = page as usize..(page + pages) as usize;
                let expected = bind(&mut model, thread, range, policy, strict, moves);
                let flags = MbindFlags { strict, moves: moves.then_some(Movable::Own) };
                let done = run(mbind(&world, threads[thread], address(START, page), bytes(pages), policy, flags));
                assert_eq!(done, expected, "{op:?}");
            }
            Op::Home { page, pages, node } => {
                let expected = home(&mut model, page, pages, node);
                let mm = &mut *world.mm.borrow_mut();
                let done = mm.set_mempolicy_home_node(space, address(START, page), bytes(pages), NodeId(node));
                assert_eq!(done, expected, "{op:?}");
            }
            Op::Mems { mems, migrates } => {
                let to = listed(NodeMask::from_bits(mems));
                let expected = match () {
                    () if to.is_empty() => Err(Errno::Enospc),
                    () if to.iter().any(|&node| node >= count) => Err(Errno::Einval),
                    () => Ok(()),
                };
                assert_eq!(run(set_mems(&world, space, NodeMask::from_bits(mems), migrates)), expected, "{op:?}");
                if expected.is_ok() {
                    let from = core::mem::replace(&mut model.mems, to.clone());
                    let (mut tasks, mut pages) = (core::mem::take(&mut model.tasks), core::mem::take(&mut model.pages));
                    tasks.iter_mut().chain(&mut pages).flatten().for_each(|held| model.rebind(held, &to));
                    (model.tasks, model.pages) = (tasks, pages);
                    if migrates {
                        model.migrate(&from, &to);
                    }
                }
            }
            Op::Move { page, to } => {
                let moves = [PageMove { addr: address(START, page), to: NodeId(to) }];
                let expected = match () {
                    () if to >= count => Err(Errno::Enodev),
                    () if !model.mems.contains(&to) => Err(Errno::Eacces),
                    () => Ok(alloc::vec![if model.at[page as usize].is_some() {
                        Ok(NodeId(to))
                    } else {
                        Err(Errno::Enoent)
                    }]),
                };
                assert_eq!(run(move_pages(&world, space, space, &moves, Movable::Own)), expected, "{op:?}");
                if expected.is_ok() {
                    model.at[page as usize] = model.at[page as usize].map(|_| to);
                }
            }
            Op::Migrate { from, to } => {
                let (old, new) = (NodeMask::from_bits(from), NodeMask::from_bits(to));
                let allowed: Nodes = listed(new).into_iter().filter(|node| model.mems.contains(node)).collect();
                let done = run(migrate_space(&world, space, space, old, new));
                if allowed.is_empty() {
                    assert_eq!(done, Err(Errno::Einval), "{op:?}");
                } else {
                    assert_eq!(done, Ok(0), "{op:?}");
                    model.migrate(&listed(old), &allowed);
                }
            }
        }
        let mm = world.mm.borrow();
        mm.check().unwrap_or_else(|violation| panic!("{op:?}: {violation}"));
        for page in 0..PAGES {
            assert_eq!(node(&mm, space, page), model.at[page as usize], "page {page} after {op:?}");
        }
    }
}

fn bind(
    model: &mut Model,
    thread: usize,
    range: Range<usize>,
    policy: &MempolicyArgs,
    strict: bool,
    moves: bool,
) -> Result<(), Errno> {
    if range.is_empty() {
        return Ok(());
    }
    let held = model.held(policy)?;
    if range.end as u64 > PAGES {
        return Err(Errno::Efault);
    }
    let misplaced: Vec<usize> = range.clone().filter(|&page| model.is_misplaced(held.as_ref(), page)).collect();
    if strict && policy.mode != Mode::Default && !moves && !misplaced.is_empty() {
        return Err(Errno::Eio);
    }
    model.pages[range].fill(held);
    if moves {
        // The call is made on CPU 0.
        for page in misplaced {
            model.at[page] = Some(model.choose(thread, page as u64, 0));
        }
    }
    Ok(())
}

fn home(model: &mut Model, page: u64, pages: u64, node: u16) -> Result<(), Errno> {
    if node > model.count {
        return Err(Errno::Einval);
    }
    if pages == 0 {
        return Ok(());
    }
    let range = page as usize..(page + pages).min(PAGES) as usize;
    if model.pages[range.clone()].iter().all(Option::is_none) {
        return Err(Errno::Enoent);
    }
    for held in model.pages[range].iter_mut().flatten() {
        if !matches!(held.mode, Mode::Bind | Mode::PreferredMany) {
            return Err(Errno::Eopnotsupp);
        }
        held.home = Some(node);
    }
    Ok(())
}

#[test]
fn pages_lie_where_a_naive_model_has_them() {
    for seed in 0..48 {
        let mut random = Choices(Random(seed));
        let ops: Vec<Op> = (0..60).map(|_| random.op()).collect();
        replay(1 + (seed % 8) as u16, &ops);
    }
}
