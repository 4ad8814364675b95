//! Memory that owners hold, and what their pages do to pageblocks.

use std::collections::BTreeMap;

use order9_units::{NodeId, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Caller, KernelUse, OwnerId, Owners, User};
use crate::Snapshot;
use crate::census::{BlockState, Census};
use crate::classify::{Extent, FrameClass, Layout, LayoutError, Mobility};

/// Memory by owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Holdings {
    /// Processes and mapped files that hold memory, the most pageblocks first.
    pub users: Vec<Held<User>>,
    /// Functions of the kernel that allocated memory, the most pageblocks first; empty where the kernel keeps no page_owner.
    pub callers: Vec<Held<Caller>>,
    /// Control groups that pay for memory, the most pageblocks first. Page cache and slab are theirs too, which no process maps.
    pub cgroups: Vec<Held<String>>,
    /// Slab caches and callers of vmalloc, the largest first. Which frames are theirs the kernel does not tell.
    pub kernel: Vec<KernelUse>,
    /// Frames in use of which no owner is known.
    pub unknown: Pages,
    /// Limits of the look, one sentence each.
    pub notes: Vec<String>,
}

/// Memory that one owner holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Held<T> {
    /// The owner.
    pub owner: T,
    /// Place of the owner in the snapshot's list.
    #[serde(skip)]
    pub id: OwnerId,
    /// Frames of the owner, huge pages included.
    pub pages: Pages,
    /// Frames of the owner on each node; nodes without are left out.
    pub nodes: BTreeMap<NodeId, Pages>,
    /// Pageblocks, huge pages left out, in which the owner has a frame.
    pub pageblocks: u64,
    /// Pageblocks of these in which nobody else has a frame: they become free where the owner gives its memory back.
    pub alone: u64,
    /// Pageblocks of these in which the owner has a frame that cannot be moved.
    pub stays: u64,
}

impl Holdings {
    /// Memory of a snapshot by owner; `None` where no owners were looked for.
    ///
    /// # Errors
    /// Where zones and map do not fit together.
    pub fn of(snapshot: &Snapshot, census: &Census) -> Result<Option<Self>, LayoutError> {
        let Some(owners) = &snapshot.owners else { return Ok(None) };
        let layout = Layout::of(snapshot)?;
        let mut count = Count::new(owners);
        for (at, zone) in census.zones.iter().enumerate() {
            let first = zone.start_of(0);
            count.node = layout.zones()[at].info().node;
            let state = |block: u64| zone.blocks[block as usize].state();
            layout.for_each_extent(at, |extent| {
                let (class, range) = match extent {
                    Extent::Free { start, order } => (FrameClass::Free, PfnRange::of(start, order.pages())),
                    Extent::Compound { class, range } | Extent::Frames { class, range } => (class, range),
                };
                if matches!(class.mobility(), Mobility::Movable | Mobility::Immovable) && class != FrameClass::Reserved
                {
                    range
                        .iter()
                        .for_each(|pfn| count.frame(pfn, class, (pfn - first).get() / PAGEBLOCK_PAGES.get(), state));
                }
            });
            count.close();
        }
        Ok(Some(count.finish()))
    }
}

/// Numbers of one owner.
#[derive(Clone, Default)]
struct Numbers {
    pages: u64,
    nodes: BTreeMap<NodeId, Pages>,
    pageblocks: u64,
    alone: u64,
    stays: u64,
}

/// Frames of one owner in the pageblock that is counted.
#[derive(Clone, Copy)]
struct InBlock {
    owner: OwnerId,
    frames: u64,
    stays: bool,
}

/// Owners of a kind: the numbers of all, and who has a frame in the pageblock that is counted.
struct Kind {
    all: Vec<Numbers>,
    in_block: Vec<InBlock>,
}

impl Kind {
    fn new(owners: usize) -> Self {
        Self { all: vec![Numbers::default(); owners], in_block: Vec::new() }
    }

    fn frame(&mut self, owner: OwnerId, stays: bool) {
        match self.in_block.iter_mut().find(|of| of.owner == owner) {
            Some(of) => (of.frames, of.stays) = (of.frames + 1, of.stays | stays),
            None => self.in_block.push(InBlock { owner, frames: 1, stays }),
        }
    }

    /// The pageblock, of a node, is over; `used` of its frames are in use.
    fn close(&mut self, node: NodeId, used: u64, is_huge: bool) {
        for InBlock { owner, frames, stays } in self.in_block.drain(..) {
            let of = &mut self.all[owner];
            of.pages += frames;
            *of.nodes.entry(node).or_default() += Pages::new(frames);
            of.pageblocks += u64::from(!is_huge);
            of.alone += u64::from(!is_huge && frames == used);
            of.stays += u64::from(!is_huge && stays);
        }
    }
}

/// Owners that hold memory, the most pageblocks first; `names` has all.
fn held<T: Clone>(all: &[Numbers], names: &[T]) -> Vec<Held<T>> {
    let held = all.iter().zip(names).enumerate().filter(|(_, (of, _))| of.pages > 0);
    let mut held: Vec<Held<T>> = held
        .map(|(id, (of, name))| Held {
            owner: name.clone(),
            id,
            pages: Pages::new(of.pages),
            nodes: of.nodes.clone(),
            pageblocks: of.pageblocks,
            alone: of.alone,
            stays: of.stays,
        })
        .collect();
    held.sort_by_key(|of| std::cmp::Reverse((of.pageblocks, of.pages)));
    held
}

/// Counting under way.
struct Count<'a> {
    owners: &'a Owners,
    users: Kind,
    cgroups: Kind,
    unknown: u64,
    /// The pageblock that is counted, its node, its frames in use, and whether it is a huge page.
    block: Option<u64>,
    node: NodeId,
    used: u64,
    is_huge: bool,
}

impl<'a> Count<'a> {
    fn new(owners: &'a Owners) -> Self {
        let users = Kind::new(owners.users.len() + owners.callers.len());
        let cgroups = Kind::new(owners.cgroups.len());
        Self { owners, users, cgroups, unknown: 0, block: None, node: NodeId(0), used: 0, is_huge: false }
    }

    fn frame(&mut self, pfn: Pfn, class: FrameClass, block: u64, state: impl Fn(u64) -> BlockState) {
        if self.block != Some(block) {
            self.close();
            self.block = Some(block);
            self.is_huge = matches!(state(block), BlockState::Huge(_));
        }
        self.used += 1;
        let stays = class.mobility() == Mobility::Immovable;
        let (user, cgroup) = (self.owners.map.user(pfn), self.owners.map.cgroup(pfn));
        user.into_iter().for_each(|user| self.users.frame(user, stays));
        cgroup.into_iter().for_each(|cgroup| self.cgroups.frame(cgroup, stays));
        self.unknown += u64::from(user.is_none() && cgroup.is_none());
    }

    fn close(&mut self) {
        self.users.close(self.node, self.used, self.is_huge);
        self.cgroups.close(self.node, self.used, self.is_huge);
        (self.block, self.used) = (None, 0);
    }

    fn finish(self) -> Holdings {
        let owners = self.owners;
        let (users, callers) = self.users.all.split_at(owners.users.len());
        Holdings {
            users: held(users, &owners.users),
            callers: held(callers, &owners.callers),
            cgroups: held(&self.cgroups.all, &owners.cgroups),
            kernel: owners.kernel.clone(),
            unknown: Pages::new(self.unknown),
            notes: owners.notes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{Bytes, Migratetype};

    use super::*;
    use crate::flags::kpf;
    use crate::owners::{OwnerMapBuilder, Process};
    use crate::synth::{SynthSpec, synth};

    /// A small machine whose private frames of one half of memory are a process's.
    fn snapshot() -> Snapshot {
        let spec = SynthSpec { size: Bytes::new(256 << 20), fill: 0.5, ..SynthSpec::default() };
        let (mut snapshot, _) = synth(&spec).expect("it is made");
        let frames = snapshot.frames.as_ref().expect("it has a map");
        let mut map = OwnerMapBuilder::default();
        for at in 0..frames.len().get() {
            let flags = frames.get(Pfn::new(at)).unwrap_or_default().flags;
            let is_private = flags & kpf::ANON != 0;
            map.push(is_private.then_some(usize::from(at % 2 == 1)), is_private.then_some(0));
        }
        let process = |pid| User::Process(Process { pid, command: "java".to_owned(), ..Process::default() });
        snapshot.owners = Some(Owners {
            users: vec![process(7), process(8)],
            cgroups: vec!["/app".to_owned()],
            map: map.finish(),
            ..Owners::default()
        });
        snapshot
    }

    #[test]
    fn holdings_are_those_of_the_map() {
        let snapshot = snapshot();
        let census = Census::of(&snapshot).expect("a map");
        let held = Holdings::of(&snapshot, &census).expect("it fits").expect("owners");
        let anon: Pages =
            census.zones.iter().map(|zone| zone.frames(FrameClass::Anon) + zone.frames(FrameClass::AnonHuge)).sum();
        assert_eq!(held.users.iter().map(|of| of.pages).sum::<Pages>(), anon);
        assert_eq!(held.cgroups[0].pages, anon);
        assert_eq!(held.cgroups[0].nodes, BTreeMap::from([(NodeId(0), anon)]));
        assert!(held.cgroups[0].alone >= held.users[0].alone, "both together are alone in more");
        assert!(held.users.iter().all(|of| of.alone <= of.pageblocks && of.stays == 0));
    }

    #[test]
    fn memory_of_a_process_that_ends_is_free() {
        let snapshot = snapshot();
        let census = Census::of(&snapshot).expect("a map");
        let held = Holdings::of(&snapshot, &census).expect("it fits").expect("owners");
        let free = |census: &Census| census.zones.iter().map(|zone| zone.frames(FrameClass::Free)).sum::<Pages>();
        let one = &held.users[0];
        let without = snapshot.without_process(one.id, &census);
        let after = Census::of(&without).expect("a map");
        assert_eq!(free(&after), free(&census) + one.pages);
        let huge = |census: &Census| {
            census.zones.iter().flat_map(|zone| &zone.blocks).filter(|block| block.state() == BlockState::Free).count()
                as u64
        };
        assert_eq!(huge(&after), huge(&census) + one.alone);
        let types =
            |census: &Census| census.zones.iter().map(|zone| zone.types.clone()).collect::<Vec<Vec<Migratetype>>>();
        assert_eq!(types(&after), types(&census), "types of pageblocks stay");
    }
}
