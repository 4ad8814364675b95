//! The tables of a machine: how long each has to be, and the tables themselves, on the heap or lent.
//!
//! Key types: [`Sizes`] (lengths, from a layout and a policy), [`Tables`] (what [`crate::FramesBuilder`] fills). Never looks at what a
//! table holds.

use order9_units::{Migratetype, NodeId, Order, PAGEBLOCK_PAGES, Pfn};

use crate::block_types::TypeBits;
use crate::counters::NumaCounters;
use crate::frame::{Link, Word};
use crate::index::IndexTables;
use crate::layout::{BuildError, Layout};
use crate::nodes::{Nodes, ZoneRef, Zonelists};
use crate::pageblock::Pageblock;
use crate::pcp::Pcp;
use crate::policy::FramesPolicy;
#[cfg(feature = "alloc")]
use crate::storage::Heap;
use crate::storage::{Storage, Usual};
use crate::zone::Zone;
#[cfg(feature = "alloc")]
use crate::zone::ZoneId;

/// Lengths of the tables of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub(crate) base: Pfn,
    /// Frames from the first to the last, whole largest blocks.
    pub frames: usize,
    /// Pageblocks that these frames fill.
    pub blocks: usize,
    /// Lists, those of layers above included.
    pub lists: usize,
    /// Zones of all nodes.
    pub zones: usize,
    /// Nodes, those without memory included.
    pub nodes: usize,
    /// CPUs that have per-CPU lists.
    pub cpus: usize,
    /// Lists that layers above keep in the frame table.
    pub own_lists: usize,
}

/// Lists of free blocks in a zone.
pub(crate) const PER_ZONE: usize = Order::COUNT * Migratetype::COUNT;

impl Sizes {
    /// Lengths for a machine of this `layout` under `policy`, whose layers above keep `own_lists` lists in the frame table.
    ///
    /// # Errors
    /// The first contradiction in `layout`.
    pub fn new(layout: &Layout<'_>, policy: &FramesPolicy, own_lists: usize) -> Result<Self, BuildError> {
        layout.validate()?;
        let base = layout.zones.iter().map(|zone| zone.span.start).min().ok_or(BuildError::NoMemory)?;
        let base = base.align_down(Order::MAX);
        let end = layout.zones.iter().map(|zone| zone.span.end).max().ok_or(BuildError::NoMemory)?.align_up(Order::MAX);
        let (zones, cpus) = (layout.zones.len(), layout.cpus.len());
        let lists = own_lists + zones * (PER_ZONE + cpus * policy.pcp.lists.count());
        let frames = end - base;
        if frames.get() + lists as u64 > u64::from(u32::MAX) {
            return Err(BuildError::SpanTooLarge(frames));
        }
        Ok(Self {
            base,
            frames: frames.get() as usize,
            blocks: (frames.get() / PAGEBLOCK_PAGES.get()) as usize,
            lists,
            zones,
            nodes: layout.nodes(),
            cpus,
            own_lists,
        })
    }

    /// Links of lists: one for each frame and each list.
    #[must_use]
    pub const fn links(&self) -> usize {
        self.frames + self.lists
    }

    /// Words of bits of pageblock types.
    #[must_use]
    pub const fn type_bits(&self) -> usize {
        TypeBits::<Usual>::len(self.blocks)
    }

    /// Per-CPU lists: one for each zone and CPU.
    #[must_use]
    pub const fn pcps(&self) -> usize {
        self.zones * self.cpus
    }

    /// Entries of zonelists.
    #[must_use]
    pub const fn zonelist_entries(&self) -> usize {
        Nodes::<Usual>::entries(self.nodes, self.zones)
    }
}

/// The tables of a machine, each as long as [`Sizes`] says. The builder overwrites whatever they hold.
pub struct Tables<S: Storage = Usual> {
    /// State of each frame: [`Sizes::frames`] words.
    pub words: S::Of<Word>,
    /// Neighbours on lists: [`Sizes::links`], those of frames first, then sentinels.
    pub links: S::Of<Link>,
    /// Counts, type and zone of each pageblock: [`Sizes::blocks`].
    pub blocks: S::Of<Pageblock>,
    /// A bit per pageblock and type, for scanners: [`Sizes::type_bits`] words.
    pub type_bits: S::Of<u64>,
    /// Counts and list heads of each zone: [`Sizes::zones`].
    pub zones: S::Of<Zone>,
    /// Per-CPU lists, those of a CPU together: [`Sizes::pcps`].
    pub pcps: S::Of<Pcp>,
    /// Node of each CPU: [`Sizes::cpus`].
    pub cpus: S::Of<NodeId>,
    /// Distances between nodes, row by row: the square of [`Sizes::nodes`].
    pub distances: S::Of<u32>,
    /// Begin of the zonelists of each node: [`Sizes::nodes`].
    pub zonelists: S::Of<Zonelists>,
    /// Zones in the order in which a node asks them: [`Sizes::zonelist_entries`].
    pub zonelist_entries: S::Of<ZoneRef>,
    /// `numa_*` counters of each node: [`Sizes::nodes`].
    pub numa: S::Of<NumaCounters>,
    /// Tables of the pageblock index, where there is to be one.
    pub index: Option<IndexTables<S>>,
}

#[cfg(feature = "alloc")]
impl Tables<Heap> {
    /// Tables on the heap; with those of the index where `index` says so.
    #[must_use]
    pub fn new(sizes: &Sizes, index: bool) -> Self {
        use alloc::vec;
        Self {
            words: vec![Word::HOLE; sizes.frames],
            links: vec![Link::default(); sizes.links()],
            blocks: vec![Pageblock::absent(ZoneId(u8::MAX)); sizes.blocks],
            type_bits: vec![0; sizes.type_bits()],
            zones: vec![Zone::NONE; sizes.zones],
            pcps: vec![Pcp::NONE; sizes.pcps()],
            cpus: vec![NodeId(0); sizes.cpus],
            distances: vec![0; sizes.nodes * sizes.nodes],
            zonelists: vec![Zonelists::EMPTY; sizes.nodes],
            zonelist_entries: vec![ZoneRef::NONE; sizes.zonelist_entries()],
            numa: vec![NumaCounters::default(); sizes.nodes],
            index: index.then(|| IndexTables::new(sizes)),
        }
    }
}

#[cfg(feature = "alloc")]
impl IndexTables<Heap> {
    /// Tables of an index on the heap.
    #[must_use]
    pub fn new(sizes: &Sizes) -> Self {
        use alloc::vec;
        Self {
            zones: vec![Default::default(); sizes.zones],
            links: vec![[0; 2]; IndexTables::links(sizes.zones, sizes.blocks)],
            entries: vec![crate::index::Entry::NONE; sizes.blocks],
            heads: vec![0; sizes.frames.div_ceil(64)],
        }
    }
}

impl<S: Storage> Tables<S> {
    /// Refuses tables that are not as long as `sizes` say, and sizes that are not those of the layout.
    pub(crate) fn check(&self, layout: &Layout<'_>, policy: &FramesPolicy, sizes: &Sizes) -> Result<(), BuildError> {
        if *sizes != Sizes::new(layout, policy, sizes.own_lists)? {
            return Err(BuildError::Table("sizes"));
        }
        let index = self.index.as_ref();
        let of_index = |right: fn(&IndexTables<S>, &Sizes) -> bool| index.is_none_or(|index| right(index, sizes));
        for (name, right) in [
            ("words", self.words.len() == sizes.frames),
            ("links", self.links.len() == sizes.links()),
            ("blocks", self.blocks.len() == sizes.blocks),
            ("type_bits", self.type_bits.len() == sizes.type_bits()),
            ("zones", self.zones.len() == sizes.zones),
            ("pcps", self.pcps.len() == sizes.pcps()),
            ("cpus", self.cpus.len() == sizes.cpus),
            ("distances", self.distances.len() == sizes.nodes * sizes.nodes),
            ("zonelists", self.zonelists.len() == sizes.nodes),
            ("zonelist_entries", self.zonelist_entries.len() == sizes.zonelist_entries()),
            ("numa", self.numa.len() == sizes.nodes),
            ("index.zones", of_index(|index, sizes| index.zones.len() == sizes.zones)),
            (
                "index.links",
                of_index(|index, sizes| index.links.len() == IndexTables::links(sizes.zones, sizes.blocks)),
            ),
            ("index.entries", of_index(|index, sizes| index.entries.len() == sizes.blocks)),
            ("index.heads", of_index(|index, sizes| index.heads.len() == sizes.frames.div_ceil(64))),
        ] {
            if !right {
                return Err(BuildError::Table(name));
            }
        }
        Ok(())
    }
}
