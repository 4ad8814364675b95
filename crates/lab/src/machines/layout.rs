//! The memory map of a machine: where its memory lies on x86-64, and what of it never reaches the allocator.
//!
//! Node 0 starts at frame 0 with DMA and DMA32. As on KVM and many servers the last gigabyte below 4 GiB belongs to
//! devices: memory of node 0 beyond 3 GiB moves above 4 GiB. Further nodes follow above 4 GiB, each where the one before
//! ends. Large tables lie at the upper end of their node, as Linux allocates downwards at boot.

use order9_mm::{Layout, NodeSpec as EngineNode, ZoneSpec};
use order9_units::{Bytes, NodeId, Pages, Pfn, PfnRange, ZoneKind};

use super::MachineSpec;
use super::error::MachineError;

/// Linux never uses the first frame: a zero address stays an error.
const FIRST: Pfn = Pfn::new(1);
/// Hole from 636 KiB to 1 MiB: firmware data, video memory and read-only memory since the first PC.
const LEGACY_HOLE: (Pfn, Pfn) = (Pfn::new(0x9f), Pfn::new(0x100));
const DMA_END: Pfn = Pfn::new(0x1000);
/// 3 GiB: from here to 4 GiB devices have their registers.
const DEVICES: Pfn = Pfn::new(0xc_0000);
const DMA32_END: Pfn = Pfn::new(0x10_0000);

impl MachineSpec {
    /// The machine's memory as the engine wants it.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let mut layout = Layout { cpus: self.cpus(), ..Layout::default() };
        layout.nodes = self.nodes.iter().map(|node| EngineNode { distances: node.distances.clone() }).collect();
        layout.holes.push(PfnRange::new(LEGACY_HOLE.0, LEGACY_HOLE.1));
        // Linux keeps what lies below the hole for itself: firmware may write there, and CPUs start there.
        layout.reserved.push(PfnRange::new(FIRST, LEGACY_HOLE.0));
        layout.reserved.push(PfnRange::of(DMA_END, Pages::from_bytes_ceil(self.reserved.kernel_image)));
        let mut next = DMA32_END;
        for at in 0..self.nodes.len() {
            let node = NodeId(at as u16);
            let memory = Pages::from_bytes_floor(self.nodes[at].memory);
            let low = if at == 0 { low_memory(memory) } else { Pages::ZERO };
            let high = PfnRange::of(next, memory - low);
            if at == 0 {
                low_zones(&mut layout, low, !high.is_empty());
            }
            if !high.is_empty() {
                layout.zones.push(ZoneSpec { node, kind: ZoneKind::Normal, span: high });
            }
            let low = PfnRange::new(Pfn::new(0), Pfn::new(low.get()));
            reserve_from_top(&mut layout.reserved, [high, low], self.tables(at));
            next = high.end;
        }
        layout
    }

    /// Pages in which node `at` keeps its tables.
    fn tables(&self, at: usize) -> Pages {
        let frames = Pages::from_bytes_floor(self.nodes[at].memory);
        let own = if at == 0 { Pages::from_bytes_ceil(self.reserved.boot_tables) } else { Pages::ZERO };
        Pages::from_bytes_ceil(self.reserved.struct_page * frames.get()) + own
    }

    /// Refuses a machine whose kernel leaves a node less than half of its memory.
    pub(super) fn checked(self) -> Result<Self, MachineError> {
        let image = Pages::from_bytes_ceil(self.reserved.kernel_image).get();
        for (node, spec) in self.nodes.iter().enumerate() {
            let boot = if node == 0 { image.saturating_add(DMA_END.get()) } else { 0 };
            let struct_pages = self.reserved.struct_page.get().saturating_mul(spec.memory.get() / 4096);
            let tables = if node == 0 { self.reserved.boot_tables.get() } else { 0 };
            let reserved = struct_pages.saturating_add(tables).saturating_add(boot.saturating_mul(4096));
            if reserved >= spec.memory.get() / 2 {
                let (memory, reserved) = (spec.memory, Bytes::new(reserved));
                return Err(MachineError::AllReserved { file: self.name, node, memory, reserved });
            }
        }
        Ok(self)
    }
}

/// Memory of node 0 that lies below the devices.
fn low_memory(memory: Pages) -> Pages {
    memory.min(Pages::new(DEVICES.get()))
}

/// The zones below 4 GiB. A zone with memory on both sides of the devices spans them.
fn low_zones(layout: &mut Layout, low: Pages, goes_on: bool) {
    let end = if goes_on { DMA32_END } else { Pfn::new(low.get()) };
    let zone = |kind, start, end| ZoneSpec { node: NodeId(0), kind, span: PfnRange::new(start, end) };
    layout.zones.push(zone(ZoneKind::Dma, FIRST, DMA_END));
    layout.zones.push(zone(ZoneKind::Dma32, DMA_END, end));
    if goes_on {
        layout.holes.push(PfnRange::new(Pfn::new(low.get()), DMA32_END));
    }
}

/// Reserves `pages` at the upper end of the first range, then of the next.
fn reserve_from_top(reserved: &mut Vec<PfnRange>, ranges: [PfnRange; 2], mut pages: Pages) {
    for range in ranges {
        let here = pages.min(range.len());
        if here > Pages::ZERO {
            reserved.push(PfnRange::new(Pfn::new(range.end.get() - here.get()), range.end));
        }
        pages -= here;
    }
}
