//! Pools grow and shrink: page by page, round robin over the nodes.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use order9_frames::{Flag, Gfp, Idx, NodeUse, Request};
use order9_units::{NodeId, NodeMask, Order, Pfn};

use crate::hugetlb::Hugetlb;
use crate::mempolicy::SpaceTask;
use crate::pages::UsedPages;
use crate::pages::hugetlb::{POOL_GFP, UsedPage};
use crate::phys::PhysMem;
use crate::space::{Fault, Owner, Vma};

/// Next need of a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolStep {
    /// A page: allocate it, and hand in what came of it with [`PoolResize::give`].
    NeedPage(Request),
    /// Nothing: the pool is as large as it could be made.
    Done,
}

/// A size that somebody writes for the hugetlb pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    /// Huge pages that the pools shall have.
    pub pages: u64,
    /// The node whose pool alone is meant; `None` means all pools together.
    pub node: Option<NodeId>,
}

impl PoolSize {
    /// `pages` huge pages in all pools together.
    #[must_use]
    pub const fn all(pages: u64) -> Self {
        Self { pages, node: None }
    }
}

/// A pool on its way to another size.
///
/// Like the file it stands for it never fails: where no more pages can be had, the pool stays smaller.
#[derive(Clone, Debug)]
pub struct PoolResize {
    /// Pages that all pools together shall have.
    target: u64,
    nodes: Vec<NodeId>,
    /// Nodes in a row that had no page.
    failed: usize,
    /// Nodes that had none when they were last asked.
    exhausted: BTreeSet<NodeId>,
    asked: NodeId,
}

impl PoolResize {
    /// A write of `size` to `nr_hugepages`.
    #[must_use]
    pub fn new(size: PoolSize, pages: &UsedPages, phys: &PhysMem) -> Self {
        let elsewhere = |node| pages.hugetlb.hugetlb_pool().total - pages.hugetlb.hugetlb_pool_of(node).total;
        let nodes = phys.pool_nodes().into_iter();
        Self {
            target: size.pages.saturating_add(size.node.map_or(0, elsewhere)),
            nodes: nodes.filter(|&other| size.node.is_none_or(|node| other == node)).collect(),
            failed: 0,
            exhausted: BTreeSet::new(),
            asked: NodeId(0),
        }
    }

    /// A write of `size` to `nr_hugepages_mempolicy` by `task` on a CPU of `local`: all pools together get this size, by the
    /// nodes of its memory policy alone, in turn, whatever its mode. Without a policy that is a write to `nr_hugepages`.
    #[must_use]
    pub fn by_policy(size: u64, task: impl Into<SpaceTask>, local: NodeId, pages: &UsedPages, phys: &PhysMem) -> Self {
        let allowed = pages.spaces.pool_nodes_of(task.into(), local);
        let mut resize = Self::new(PoolSize::all(size), pages, phys);
        resize.nodes.retain(|&node| allowed.is_none_or(|allowed| allowed.has(node)));
        resize
    }

    /// Does what needs no memory, on behalf of `cpu`, and says what is needed then.
    pub fn step(&mut self, cpu: usize, pages: &mut UsedPages, phys: &mut PhysMem) -> PoolStep {
        while pages.hugetlb.hugetlb_pool().persistent() < self.target && pages.hugetlb.adopt_surplus(&self.nodes) {}
        if pages.hugetlb.hugetlb_pool().persistent() < self.target {
            return self.grow(cpu, pages, phys);
        }
        pages.shrink_pool(self.target, &self.nodes, cpu, phys);
        PoolStep::Done
    }

    fn grow(&mut self, cpu: usize, pages: &mut UsedPages, phys: &PhysMem) -> PoolStep {
        if self.failed >= self.nodes.len() {
            return PoolStep::Done;
        }
        self.asked = next_of(&self.nodes, &mut pages.hugetlb.next_alloc);
        let spares = phys.policy.thp.hugetlb_noretry && self.exhausted.contains(&self.asked);
        let gfp = if spares { POOL_GFP.without(Gfp::RETRY_MAYFAIL) } else { POOL_GFP };
        let request = Request::new(Order::PAGEBLOCK, gfp.with(Gfp::THISNODE));
        PoolStep::NeedPage(Request { node: self.asked, cpu, ..request })
    }

    /// Hands in the page that was needed, or says that there is none.
    ///
    /// # Panics
    /// If `page` was not allocated for this.
    pub fn give(&mut self, page: Option<Pfn>, pages: &mut UsedPages, phys: &mut PhysMem) {
        phys.count_pool_page(page.is_some());
        if let Some(page) = page {
            pages.add_pool_page(page, false, phys);
            self.failed = 0;
            self.exhausted.remove(&self.asked);
        } else {
            self.failed += 1;
            self.exhausted.insert(self.asked);
        }
    }
}

/// The node at the cursor among `nodes`, or the next above it; the cursor goes on to the one behind.
fn next_of(nodes: &[NodeId], cursor: &mut usize) -> NodeId {
    let at = nodes.iter().position(|node| node.index() >= *cursor).unwrap_or(0);
    *cursor = nodes[(at + 1) % nodes.len()].index();
    nodes[at]
}

impl PhysMem {
    pub(super) fn count_pool_page(&mut self, had: bool) {
        self.counters.htlb_buddy_alloc_success += u64::from(had);
        self.counters.htlb_buddy_alloc_fail += u64::from(!had);
    }
}

impl UsedPages {
    /// Puts a fresh huge page into the pool of its node.
    pub(super) fn add_pool_page(&mut self, page: Pfn, surplus: bool, phys: &mut PhysMem) {
        let head = phys.fresh_block(page, Order::PAGEBLOCK);
        self.rmap.make_room(phys.frames.table().len());
        self.rmap.adopt(head, Owner::Hugetlb, phys);
        let pool = self.hugetlb.node(phys.node_of(head));
        pool.total += 1;
        pool.surplus += u64::from(surplus);
        pool.free.push(head);
    }

    /// Takes a free page of the pool for use by a fault of a program on `local`: from the node nearest to the one that the
    /// memory policy names, among those that it allows.
    pub(super) fn take_pool_page(&mut self, fault: &Fault, vma: &Vma, local: NodeId, phys: &PhysMem) -> Option<Idx> {
        let head = self.hugetlb.pop_pool_page(&self.pool_request(fault, vma, local, phys), phys)?;
        self.hugetlb.used.insert(head.0, UsedPage::default());
        Some(head)
    }

    /// Puts a page that nobody uses any more back into its pool; a surplus one leaves it. A pin keeps it in use.
    pub(super) fn put_pool_page(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) {
        let page = self.hugetlb.used.get(&head.0).copied().unwrap_or_default();
        if page.mappings > 0 || page.shared || phys.frames.word(head).has(Flag::Pinned) {
            return;
        }
        self.hugetlb.used.remove(&head.0);
        let pool = self.hugetlb.node(phys.node_of(head));
        if pool.surplus > 0 {
            (pool.total, pool.surplus) = (pool.total - 1, pool.surplus - 1);
            self.disown(head, cpu, phys);
        } else {
            pool.free.push(head);
        }
    }

    /// The last pin of a page is gone.
    pub(crate) fn hugetlb_unpinned(&mut self, head: Idx, phys: &mut PhysMem) {
        self.put_pool_page(head, usize::MAX, phys);
    }

    /// Frees pages that nobody has or was promised until `target` are left; of the others so many become surplus.
    fn shrink_pool(&mut self, target: u64, nodes: &[NodeId], cpu: usize, phys: &mut PhysMem) {
        while self.hugetlb.hugetlb_pool().persistent() > target && self.hugetlb.hugetlb_pool().available() > 0 {
            let mut gone = None;
            let has_free = |pool: &super::NodePool| !pool.free.is_empty();
            self.hugetlb.in_turn(nodes, false, has_free, |pool| {
                pool.total -= 1;
                gone = pool.free.pop();
            });
            let Some(head) = gone else { break };
            self.disown(head, cpu, phys);
        }
        while self.hugetlb.hugetlb_pool().persistent() > target
            && self.hugetlb.in_turn(nodes, false, |pool| pool.surplus < pool.total, |pool| pool.surplus += 1)
        {}
    }

    /// Frees surplus pages that are promised to nobody.
    pub(super) fn trim_surplus(&mut self, cpu: usize, phys: &mut PhysMem) {
        if self.hugetlb.hugetlb_pool().surplus == 0 {
            return;
        }
        let nodes = phys.pool_nodes();
        while self.hugetlb.hugetlb_pool().available() > 0 {
            let mut gone = None;
            let has_both = |pool: &super::NodePool| pool.surplus > 0 && !pool.free.is_empty();
            self.hugetlb.in_turn(&nodes, false, has_both, |pool| {
                (pool.total, pool.surplus) = (pool.total - 1, pool.surplus - 1);
                gone = pool.free.pop();
            });
            let Some(head) = gone else { break };
            self.disown(head, cpu, phys);
        }
    }
}

impl Hugetlb {
    /// Takes a free page out of the pool nearest to where `request` asks for one, among the nodes that it allows.
    pub(super) fn pop_pool_page(&mut self, request: &Request, phys: &PhysMem) -> Option<Idx> {
        let Request { node, nodemask, uses, .. } = *request;
        let nodemask = if request.gfp.has(Gfp::THISNODE) { Some(NodeMask::of(node)) } else { nodemask };
        let holds = |id: &NodeId| self.nodes.get(id.index()).is_some_and(|pool| !pool.free.is_empty());
        let nearest_in = |mask: Option<NodeMask>| {
            let nodes = phys.pool_nodes().into_iter().filter(holds).filter(|&id| mask.is_none_or(|mask| mask.has(id)));
            nodes.min_by_key(|&id| (phys.frames.distance(node, id), id != node, id))
        };
        let nearest = match uses {
            NodeUse::MaskFirst(then) => nearest_in(nodemask).or_else(|| nearest_in(Some(then))),
            _ => nearest_in(nodemask),
        }?;
        self.node(nearest).free.pop()
    }

    /// Makes a surplus page a persistent one; says whether there was any.
    fn adopt_surplus(&mut self, nodes: &[NodeId]) -> bool {
        self.in_turn(nodes, true, |pool| pool.surplus > 0, |pool| pool.surplus -= 1)
    }

    /// Changes the pool of the next node in turn that is `eligible`; says whether one was.
    fn in_turn(
        &mut self,
        nodes: &[NodeId],
        grows: bool,
        eligible: impl Fn(&super::NodePool) -> bool,
        change: impl FnOnce(&mut super::NodePool),
    ) -> bool {
        let hugetlb = &mut *self;
        for _ in nodes {
            let cursor = if grows { &mut hugetlb.next_alloc } else { &mut hugetlb.next_free };
            let node = next_of(nodes, cursor);
            let pool = hugetlb.node(node);
            if eligible(pool) {
                change(pool);
                return true;
            }
        }
        false
    }
}
