//! Operations on a machine's memory that print as the code that repeats them.
//!
//! With `use order9_testkit::{Ask::*, Case, Machine::*, Op::*, replay}` the text of a failure is the body of a test.

use order9_mm::policy::Policy;
use order9_mm::{AllocFlags, Gfp, Layout, Mark, Request, Reserve};
use order9_units::{Migratetype, NodeId, NodeMask, Order};

use crate::oracle::as_order;
use crate::{machines, profiles};

/// One step. `nth` counts whatever it names from the oldest, modulo how many there are; without any, nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named for what they are")]
pub enum Op {
    /// Asks the fast path for a block.
    Alloc { order: u8, ask: Ask, node: u16, cpu: usize },
    /// Walks the zonelist once with rights of the slow path.
    AllocSlow { order: u8, ask: Ask, node: u16, cpu: usize, rights: Rights },
    /// Frees the nth live allocation.
    Free { nth: usize, cpu: usize },
    /// Frees whatever starts at the nth frame of memory: mostly nothing does, and nothing may happen.
    FreeFrame { nth: usize, cpu: usize },
    /// Pins the nth live allocation.
    Pin { nth: usize },
    /// Takes a pin off the nth live allocation.
    Unpin { nth: usize },
    /// Says whether compaction may move the nth live allocation.
    SetMovable { nth: usize, on: bool },
    /// Takes the nth live allocation off its LRU or puts it back.
    SetIsolated { nth: usize, on: bool },
    /// Returns every page of every per-CPU list.
    Drain,
    /// Takes the nth free block as a target of compaction.
    IsolateFree { nth: usize, boosted: bool },
    /// Gives the nth held block back.
    ReleaseFree { nth: usize },
    /// Takes the nth pageblock out of circulation.
    IsolateBlock { nth: usize },
    /// Puts the nth isolated pageblock back, as Movable if `movable` and it may change its type.
    UnisolateBlock { nth: usize, movable: bool },
    /// Gives a pageblock of the highatomic reserve back.
    Unreserve { node: u16, mt: Migratetype, force: bool },
    /// `vm.watermark_scale_factor`.
    SetScaleFactor(u32),
    /// `vm.watermark_boost_factor`.
    SetBoostFactor(u32),
    /// `vm.min_free_kbytes`.
    SetMinFree(u64),
    /// The node's kswapd takes what it was asked for.
    TakeKswapd { node: u16 },
}

/// Kind of request for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// `GFP_KERNEL`.
    Kernel,
    /// `GFP_KERNEL` from zone DMA.
    KernelDma,
    /// `GFP_KERNEL` from zone DMA32 or below.
    KernelDma32,
    /// A cache that a shrinker can empty.
    Slab,
    /// `GFP_HIGHUSER_MOVABLE`.
    User,
    /// Movable, but not from zone Movable.
    Buffer,
    /// A huge page without effort, which does not wake kswapd.
    Huge,
    /// `GFP_ATOMIC`.
    Atomic,
    /// User memory of the given node alone.
    UserHere,
    /// User memory of the nodes of a mask.
    UserOn(u64),
    /// Both mobility flags, which the allocator refuses.
    Nonsense,
}

impl Ask {
    /// Every kind of request.
    pub const ALL: [Self; 13] = [
        Self::Kernel,
        Self::KernelDma,
        Self::KernelDma32,
        Self::Slab,
        Self::User,
        Self::Buffer,
        Self::Huge,
        Self::Atomic,
        Self::UserHere,
        Self::UserOn(0),
        Self::UserOn(1),
        Self::UserOn(2),
        Self::Nonsense,
    ];

    /// The request for a block of `order` on behalf of a CPU, preferring a node.
    #[must_use]
    pub fn request(self, order: u8, node: u16, cpu: usize) -> Request {
        let mut request = Request::new(as_order(order), self.gfp());
        (request.node, request.cpu) = (NodeId(node), cpu);
        if let Self::UserOn(mask) = self {
            request.nodemask = Some(NodeMask::from_bits(mask));
        }
        request
    }

    /// The gfp flags of the request.
    #[must_use]
    pub fn gfp(self) -> Gfp {
        match self {
            Self::Kernel => Gfp::GFP_KERNEL,
            Self::KernelDma => Gfp::GFP_KERNEL | Gfp::DMA,
            Self::KernelDma32 => Gfp::GFP_KERNEL | Gfp::DMA32,
            Self::Slab => Gfp::GFP_KERNEL | Gfp::RECLAIMABLE,
            Self::User | Self::UserOn(_) => Gfp::GFP_HIGHUSER_MOVABLE,
            Self::Buffer => Gfp::GFP_USER | Gfp::MOVABLE,
            Self::Huge => Gfp::GFP_TRANSHUGE_LIGHT,
            Self::Atomic => Gfp::GFP_ATOMIC,
            Self::UserHere => Gfp::GFP_HIGHUSER_MOVABLE | Gfp::THISNODE,
            Self::Nonsense => Gfp::GFP_KERNEL | Gfp::MOVABLE | Gfp::RECLAIMABLE,
        }
    }
}

/// Rights of a walk in the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// The rights that the request's flags give.
    Own,
    /// The rights that the flags give a real-time task.
    RealTime,
    /// The rights of a victim of the OOM killer.
    Victim,
    /// The last look before an OOM kill, at the high mark.
    LastLook,
    /// The right `NO_WATERMARKS`.
    Memalloc,
}

impl Rights {
    /// All kinds of rights.
    pub const ALL: [Self; 5] = [Self::Own, Self::RealTime, Self::Victim, Self::LastLook, Self::Memalloc];

    /// The flags of the walk.
    #[must_use]
    pub fn flags(self, request: &Request, policy: &Policy) -> AllocFlags {
        let (rt, above_0) = (self == Self::RealTime, request.order > Order::ZERO);
        let mut reserve = Reserve::of(request.gfp, rt, above_0, policy.frames.watermark.reserve_rights);
        reserve.oom = self == Self::Victim;
        AllocFlags {
            mark: if self == Self::LastLook { Mark::High } else { Mark::Min },
            no_watermarks: self == Self::Memalloc,
            reserve,
            cma: request.gfp.migratetype() == Some(Migratetype::Movable),
            nofragment: false,
            kswapd: request.gfp.has(Gfp::KSWAPD_RECLAIM),
        }
    }
}

/// A machine to run operations on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named for what they are")]
pub enum Machine {
    /// [`machines::tiny`].
    Tiny { blocks: u64, cpus: usize },
    /// [`machines::ragged`].
    Ragged { blocks: u64, cpus: usize },
    /// [`machines::two_nodes`].
    TwoNodes { cpus: usize },
}

impl Machine {
    /// Layout of the machine's memory.
    #[must_use]
    pub fn layout(self) -> Layout {
        match self {
            Self::Tiny { blocks, cpus } => machines::tiny(blocks, cpus),
            Self::Ragged { blocks, cpus } => machines::ragged(blocks, cpus),
            Self::TwoNodes { cpus } => machines::two_nodes(cpus),
        }
    }
}

/// Subject of operations: a machine and its switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The machine of the case.
    pub machine: Machine,
    /// A name of [`profiles::ALL`].
    pub profile: &'static str,
    /// A name of [`profiles::FLIPS`].
    pub flip: Option<&'static str>,
}

impl Case {
    /// The policy with the switches of the case.
    ///
    /// # Panics
    /// For a name that does not exist.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let (_, profile) = profiles::ALL.iter().find(|(name, _)| *name == self.profile).expect("a profile's name");
        let mut policy = profile();
        if let Some(name) = self.flip {
            let (_, flip) = profiles::FLIPS.iter().find(|(flip, _)| *flip == name).expect("a switch's name");
            flip(&mut policy);
        }
        policy
    }
}
