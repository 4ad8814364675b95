//! Tables of the allocator in memory that nobody uses yet.

use order9_frames::storage::Lent;
use order9_frames::{Link, NumaCounters, Pageblock, Pcp, Sizes, Tables, Word, Zone, ZoneId, ZoneRef, Zonelists};
use order9_units::NodeId;

/// Free memory from an address on.
pub struct Carver {
    at: usize,
    end: usize,
}

impl Carver {
    /// Memory from `at` to `end`.
    ///
    /// # Safety
    /// The memory is mapped there, and nobody uses it.
    pub const unsafe fn new(at: usize, end: usize) -> Self {
        Self { at, end }
    }

    /// Start of the memory that is still free.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// A table of `len` times `value`.
    fn table<T: Copy>(&mut self, len: usize, value: T) -> &'static mut [T] {
        let start = self.at.next_multiple_of(align_of::<T>());
        self.at = start + len * size_of::<T>();
        assert!(self.at <= self.end, "there is memory for the tables");
        let table = start as *mut T;
        for n in 0..len {
            // SAFETY: `new` promises that the memory is there and free; the next table begins behind this one.
            unsafe { table.add(n).write(value) };
        }
        // SAFETY: the same, and every value has just been written.
        unsafe { core::slice::from_raw_parts_mut(table, len) }
    }

    /// All tables that the allocator needs; without a pageblock index.
    pub fn tables(&mut self, sizes: &Sizes) -> Tables<Lent<'static>> {
        Tables {
            words: self.table(sizes.frames, Word::HOLE),
            links: self.table(sizes.links(), Link::default()),
            blocks: self.table(sizes.blocks, Pageblock::absent(ZoneId(0))),
            type_bits: self.table(sizes.type_bits(), 0),
            zones: self.table(sizes.zones, Zone::NONE),
            pcps: self.table(sizes.pcps(), Pcp::NONE),
            cpus: self.table(sizes.cpus, NodeId(0)),
            distances: self.table(sizes.nodes * sizes.nodes, 0),
            zonelists: self.table(sizes.nodes, Zonelists::EMPTY),
            zonelist_entries: self.table(sizes.zonelist_entries(), ZoneRef::NONE),
            numa: self.table(sizes.nodes, NumaCounters::default()),
            index: None,
        }
    }
}
