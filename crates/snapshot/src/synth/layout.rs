//! Layout of memory on a synthetic x86-64 machine: RAM, the hole below 4 GiB, zones and nodes.

use std::ops::Range;

use order9_units::{Bytes, NodeId, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

use super::content::Content;
use super::spec::SIZE_STEP;
use crate::frames::CHUNK_PAGES;

/// End of the memory below 640 KiB that firmware leaves; the rest of the first MiB is no RAM.
const LOW_END: Pfn = Pfn::new(0x9f);
/// 1 MiB: below it nothing is given to the allocator.
const FIRST_MIB: Pfn = Pfn::new(0x100);
/// 16 MiB: end of zone DMA, start of the kernel image.
const DMA_END: Pfn = Pfn::new(0x1000);
/// 48 MiB: end of the kernel image.
const KERNEL_END: Pfn = Pfn::new(0x3000);
/// 3 GiB: PCI devices answer from here to 4 GiB.
const HOLE_START: Pfn = Pfn::new(0xc_0000);
/// 4 GiB: end of zone DMA32.
const DMA32_END: Pfn = Pfn::new(0x10_0000);

/// The memory of a machine.
pub(super) struct Layout {
    /// Frames from pfn 0 to the end of RAM, holes included.
    pub(super) len: Pages,
    /// Ranges of RAM.
    pub(super) ram: Vec<PfnRange>,
    /// Populated zones, by node.
    pub(super) zones: Vec<ZoneLayout>,
}

/// One zone.
pub(super) struct ZoneLayout {
    pub(super) node: NodeId,
    pub(super) kind: ZoneKind,
    pub(super) span: PfnRange,
    pub(super) present: Pages,
    /// The frames given to the allocator: one run.
    pub(super) managed: PfnRange,
}

impl ZoneLayout {
    /// Numbers of the pageblocks whose first frame is present here, or whose first frame is in front of the zone: all
    /// that Linux counts as the zone's. The hole below 4 GiB has none.
    pub(super) fn blocks(&self) -> Range<usize> {
        let block = |pfn: Pfn| (pfn.get() / PAGEBLOCK_PAGES.get()) as usize;
        block(self.span.start)..block(self.managed.end)
    }
}

impl Layout {
    /// Lays out a machine whose spec was checked.
    pub(super) fn of(size: Bytes, nodes: u16) -> Self {
        let size = Pages::from_bytes_floor(size);
        let below_hole = size.get().min(HOLE_START.get());
        let above_hole = size.get() - below_hole;
        let end = if above_hole == 0 { Pfn::new(below_hole) } else { DMA32_END + Pages::new(above_hole) };
        let mut ram = vec![PfnRange::new(Pfn::new(1), LOW_END), PfnRange::new(FIRST_MIB, Pfn::new(below_hole))];
        if end > DMA32_END {
            ram.push(PfnRange::new(DMA32_END, end));
        }
        let mut layout = Self { len: end - Pfn::new(0), ram, zones: Vec::new() };
        let step = Pages::from_bytes_floor(SIZE_STEP).get();
        let per_node = size.get() / u64::from(nodes) / step * step;
        let hole = DMA32_END - HOLE_START;
        let mut start = Pfn::new(1);
        for node in 0..nodes {
            let own_end = Pfn::new(per_node * (u64::from(node) + 1)) + if end > DMA32_END { hole } else { Pages::ZERO };
            let node_end = if node + 1 == nodes { end } else { own_end };
            layout.add_zones(NodeId(node), PfnRange::new(start, node_end));
            start = node_end;
        }
        layout
    }

    fn add_zones(&mut self, node: NodeId, range: PfnRange) {
        let limits = [
            (ZoneKind::Dma, Pfn::new(0), DMA_END, FIRST_MIB),
            (ZoneKind::Dma32, DMA_END, DMA32_END, KERNEL_END),
            (ZoneKind::Normal, DMA32_END, range.end, DMA32_END),
        ];
        for (kind, start, end, managed_from) in limits {
            let span = range.intersect(PfnRange::new(start, end));
            if span.is_empty() {
                continue;
            }
            let here: Vec<_> = self.ram.iter().map(|ram| ram.intersect(span)).collect();
            let managed_end = here.iter().filter(|ram| !ram.is_empty()).map(|ram| ram.end).max().unwrap_or(span.start);
            let managed = PfnRange::new(span.start.max(managed_from), managed_end);
            let present = here.iter().map(|ram| ram.len()).sum();
            self.zones.push(ZoneLayout { node, kind, span, present, managed });
        }
    }

    /// Paints a chunk as memory that the allocator does not have: RAM is reserved, the rest a hole.
    pub(super) fn paint_absent(&self, first: Pfn, cells: &mut Vec<u8>) {
        let chunk = chunk_at(first).intersect(PfnRange::of(Pfn::new(0), self.len));
        cells.clear();
        cells.resize(chunk.len().get() as usize, Content::Hole as u8);
        for ram in &self.ram {
            cells[offsets(first, ram.intersect(chunk))].fill(Content::Reserved as u8);
        }
    }
}

/// The frames of the chunk that starts at `first`.
pub(super) fn chunk_at(first: Pfn) -> PfnRange {
    PfnRange::of(first, Pages::new(CHUNK_PAGES as u64))
}

/// Positions in the chunk at `first` of the frames of `part`, which lies inside of it or is empty.
pub(super) fn offsets(first: Pfn, part: PfnRange) -> Range<usize> {
    if part.is_empty() {
        return 0..0;
    }
    (part.start - first).get() as usize..(part.end - first).get() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zones(size: Bytes, nodes: u16) -> Vec<(u16, ZoneKind, u64, u64, u64, u64)> {
        let pages = |zone: &ZoneLayout| (zone.span.start.get(), zone.span.end.get(), zone.managed.len().get());
        let row = |zone: &ZoneLayout| {
            let (start, end, managed) = pages(zone);
            (zone.node.0, zone.kind, start, end, zone.present.get(), managed)
        };
        Layout::of(size, nodes).zones.iter().map(row).collect()
    }

    #[test]
    fn low_zones_are_those_of_a_real_machine() {
        let found = zones(Bytes::from_gib(24), 1);
        assert_eq!(
            found,
            [
                (0, ZoneKind::Dma, 1, 0x1000, 3998, 3840),
                (0, ZoneKind::Dma32, 0x1000, 0x10_0000, 782_336, 774_144),
                (0, ZoneKind::Normal, 0x10_0000, 0x64_0000, 5_505_024, 5_505_024),
            ]
        );
    }

    #[test]
    fn small_machines_end_below_the_hole() {
        assert_eq!(zones(Bytes::from_gib(1), 1)[1], (0, ZoneKind::Dma32, 0x1000, 0x4_0000, 0x3_f000, 0x3_d000));
        assert_eq!(zones(Bytes::from_gib(3), 1).len(), 2);
    }

    #[test]
    fn nodes_share_all_memory_in_steps_of_sections() {
        let layout = Layout::of(Bytes::from_gib(100), 7);
        let present: Pages = layout.zones.iter().map(|zone| zone.present).sum();
        // All but pfn 0 and the legacy area below 1 MiB.
        assert_eq!(present, Pages::from_bytes_floor(Bytes::from_gib(100)) - Pages::new(1 + 0x100 - 0x9f));
        assert!(layout.zones.windows(2).all(|pair| pair[0].span.end == pair[1].span.start));
        assert!(layout.zones.iter().all(|zone| zone.span.end.get() % (1 << 12) == 0));
        assert_eq!(layout.zones.len(), 2 + 7);
    }
}
