//! Turns a [`Snapshot`] into an engine in the same state, so that any machine's own memory can be a starting point.
//!
//! Every frame ends in exactly one state: holes and offline memory stay outside, deferred memory waits until it is needed, reserved
//! frames stay reserved, free blocks are rebuilt with their orders, compound pages of the kernel and huge pages become allocations
//! of their order, and all else single frames. Pages of programs and files are on the LRU lists that their flags name, and
//! reclaim can have them: the private ones belong to a space without process, which no OOM killer sees, one for each process where the
//! snapshot names owners, those of files to the disk. As many frames of unknown use as the kernel has free pages on per-CPU lists are free there; the others are treated as
//! immovable and counted in the [`Report`].
//! The snapshot crate does not know the engine and the engine does not know snapshots; this crate is where they meet.
#![forbid(unsafe_code)]

mod cpu_lists;
mod layout;
mod pages;
mod pools;
mod rests;
mod settings;

use cpu_lists::CpuLists;
pub use pages::Disk;
use pools::PoolPage;
pub use settings::{SettingsReport, Taken, Untaken, value_shown};

use order9_mm::policy::{HugeInterface, Policy};
use order9_mm::{BuildError, Contents, Mm, MmBuilder, UserPage, UserPageUse, Zone};
use order9_procfs::sysctl::SettingError;
use order9_snapshot::buddy::free_blocks;
use order9_snapshot::census::{Census, ZoneCensus};
use order9_snapshot::classify::{Extent, FrameClass, Layout, LayoutError, Mobility};
use order9_snapshot::flags::is_reported;
use order9_snapshot::flags::kpf;
use order9_snapshot::owners::Owners;
use order9_snapshot::{FrameMap, Snapshot, ZoneInfo};
use order9_units::{HugeSize, Migratetype, NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

/// An engine in the state of a snapshot, and how well it matches.
pub struct Imported {
    /// The filled engine.
    pub mm: Mm,
    /// Comparison of the engine with the files of the snapshot.
    pub report: Report,
    /// The snapshot's settings, sorted by whether the engine could take them over.
    pub settings: SettingsReport,
}

/// Comparison of an imported engine with the files of its snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Comparisons by zone, in the order of the frames.
    pub zones: Vec<ZoneReport>,
}

/// Comparison of one imported zone with the files of its snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneReport {
    /// Node of the zone.
    pub node: NodeId,
    /// Kind of the zone.
    pub kind: ZoneKind,
    /// Frames whose use the kernel does not tell. As many as lie on per-CPU lists count as free pages there, the others as immovable.
    pub unknown: Pages,
    /// Free frames on per-CPU lists, here and in /proc/zoneinfo.
    pub on_cpu_lists: Matched,
    /// Frames given to the allocator, here and in /proc/zoneinfo.
    pub managed: Matched,
    /// Free frames, here and in /proc/zoneinfo. They differ by what changed while the map was read.
    pub free: Matched,
    /// Free blocks of each order, here and in /proc/buddyinfo.
    pub free_blocks: [Matched; Order::COUNT],
    /// Pageblocks whose inferred type contradicts what they hold.
    pub blocks_against_type: u64,
}

/// A number in the engine beside the same number in the snapshot's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The value that the engine counts.
    pub engine: u64,
    /// The value in the file of the snapshot.
    pub file: u64,
}

/// Why a snapshot could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The snapshot does not hold a usable map of frames.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The zones do not fit the engine.
    #[error("the snapshot's zones do not fit the engine: {0}")]
    Build(#[from] BuildError),
    /// A setting with a value that no kernel has.
    #[error("{path}: {value:?}: {error}")]
    Setting {
        /// Linux path of the setting.
        path: &'static str,
        /// Value of the setting in the snapshot.
        value: String,
        /// Why it cannot be written.
        error: SettingError,
    },
}

/// Imports `snapshot` under `policy`, with the snapshot's own settings as far as the policy has them, for a machine with or
/// without `disk`.
///
/// # Errors
/// [`ImportError`] where the snapshot holds no map, contradicts itself, or does not fit the engine.
pub fn import(snapshot: &Snapshot, policy: Policy, disk: Disk) -> Result<Imported, ImportError> {
    let layout = Layout::of(snapshot)?;
    let map = snapshot.frames.as_ref().ok_or(LayoutError::NoMap)?;
    let census = Census::of(snapshot)?;
    let (spec, tables) = layout::engine_layout(snapshot, &layout);
    let has_huge_lists = policy.frames.pcp.lists.list_for(Order::PAGEBLOCK, Migratetype::Movable).is_some();
    let (has_sizes, has_folios) = (policy.thp.interface >= HugeInterface::Sizes, policy.thp.file_large);
    let mut builder = MmBuilder::new(&spec, policy)?;
    // First of all, since pages of programs make use of them.
    tables.into_iter().flat_map(|range| range.iter()).try_for_each(|pfn| builder.page_table(pfn))?;
    let owners = snapshot.owners.as_ref();
    let mut import =
        Import { builder, map, owners, disk, has_sizes, has_folios, pools: Vec::new(), reported: Vec::new() };
    for (at, zone) in census.zones.iter().enumerate() {
        import.set_types(zone)?;
        let lists = CpuLists::of(zone, &layout.zones()[at].info().pcp, has_huge_lists);
        import.fill(&layout, at, zone, lists)?;
    }
    pools::place(snapshot, &import.pools, &mut import.builder)?;
    let mut mm = import.builder.finish();
    let settings = settings::write(snapshot, &mut mm)?;
    if !import.reported.is_empty() || snapshot.calibration.is_some_and(|prices| prices.hypervisor_fault.is_some()) {
        mm.phys_mut().inherit_free_page_reporting(import.reported);
    }
    let infos = layout.zones().iter().map(|zone| zone.info());
    let zones: Vec<_> = mm.frames().zones().iter().map(Zone::id).collect();
    for (zone, info) in zones.into_iter().zip(infos.clone()) {
        info.pcp.iter().for_each(|of| mm.phys_mut().inherit_pcp_high(zone, of.cpu as usize, of.high));
    }
    rests::let_daemons_rest(snapshot, &mut mm);
    let parts = mm.frames().zones().iter().zip(&census.zones).zip(infos);
    let parts =
        parts.map(|((zone, census), info)| ZoneReport::new(zone, mm.frames().pcp_pages(zone.id()), census, info));
    let report = Report { zones: parts.collect() };
    Ok(Imported { mm, report, settings })
}

/// An import under way.
struct Import<'a> {
    builder: MmBuilder,
    map: &'a FrameMap,
    owners: Option<&'a Owners>,
    disk: Disk,
    /// The policy has huge pages of less than 2 MiB.
    has_sizes: bool,
    /// The policy has files with folios of several pages.
    has_folios: bool,
    pools: Vec<PoolPage>,
    /// Free blocks whose memory the hypervisor has.
    reported: Vec<(Pfn, Order)>,
}

impl Import<'_> {
    fn set_types(&mut self, zone: &ZoneCensus) -> Result<(), BuildError> {
        let first_in_zone = |block: usize| zone.start_of(block).max(zone.span.start);
        let mut types = zone.types.iter().enumerate();
        types.try_for_each(|(block, &mt)| self.builder.set_block_type(first_in_zone(block), mt))
    }

    /// Gives every frame of a zone its state.
    fn fill(
        &mut self,
        layout: &Layout<'_>,
        at: usize,
        zone: &ZoneCensus,
        mut lists: CpuLists,
    ) -> Result<(), BuildError> {
        let mut verdict = Ok(());
        layout.for_each_extent(at, |extent| {
            if verdict.is_ok() {
                verdict = self.place(extent, zone, &mut lists);
            }
        });
        verdict
    }

    fn place(&mut self, extent: Extent, zone: &ZoneCensus, lists: &mut CpuLists) -> Result<(), BuildError> {
        if let Extent::Compound { class, range } = extent
            && let Some(size) = self.small_size(class, range)
        {
            let of = pages::use_of(self.flags(range.start));
            return self.builder.small_huge_page(range.start, size, of, self.holder(range.start));
        }
        if let Extent::Compound { class, range } = extent
            && let Some((order, page)) = self.file_folio(class, range)
        {
            let of = pages::use_of(self.flags(range.start));
            return self.builder.file_folio(range.start, order, page, of);
        }
        match extent {
            Extent::Free { start, order } => {
                if order >= Order::PAGEBLOCK && is_reported(self.flags(start)) {
                    self.reported.push((start, order));
                }
                self.builder.free(start, order)
            }
            Extent::Compound { class, .. } | Extent::Frames { class, .. } if !is_allocated(class) => Ok(()),
            Extent::Frames { class: FrameClass::PageTable, .. } => Ok(()), // Placed before all others.
            Extent::Compound { class: FrameClass::Hugetlb, range } if range.len() == PAGEBLOCK_PAGES => {
                let mapped = self.map.get(range.start).is_some_and(|state| state.count > 0);
                self.pools.push(PoolPage { pfn: range.start, mapped });
                Ok(())
            }
            Extent::Compound { class, range } => match pages::user_page(class, self.disk) {
                Some(page) => {
                    let of = pages::use_of(self.flags(range.start));
                    range.iter().try_for_each(|pfn| self.user_page(pfn, page, of))
                }
                None => free_blocks(range)
                    .try_for_each(|(pfn, order)| self.builder.allocate(pfn, order, contents(class, pfn, zone))),
            },
            Extent::Frames { class, range } => match pages::user_page(class, self.disk) {
                Some(page) => {
                    range.iter().try_for_each(|pfn| self.user_page(pfn, page, pages::use_of(self.flags(pfn))))
                }
                None => self.frames(class, range, zone, lists),
            },
        }
    }

    /// Gives frames that are no pages of programs or files to per-CPU lists, as far as these have them, the others to the kernel.
    fn frames(
        &mut self,
        class: FrameClass,
        range: PfnRange,
        zone: &ZoneCensus,
        lists: &mut CpuLists,
    ) -> Result<(), BuildError> {
        let mut pfn = range.start;
        while pfn < range.end {
            let block = block_of(pfn, zone);
            let is_pageblock = pfn.is_aligned(Order::PAGEBLOCK) && pfn + PAGEBLOCK_PAGES <= range.end;
            let whole = if is_pageblock { lists.take_pageblock(class, block) } else { None };
            let order = if whole.is_some() { Order::PAGEBLOCK } else { Order::ZERO };
            match whole.or_else(|| lists.take(class, block)) {
                Some(cpu) => self.builder.free_to_pcp(pfn, order, cpu)?,
                None => self.builder.allocate(pfn, Order::ZERO, contents(class, pfn, zone))?,
            }
            pfn += order.pages();
        }
        Ok(())
    }

    /// Gives a page to the process that holds it, where one is known.
    fn user_page(&mut self, pfn: Pfn, page: UserPage, of: UserPageUse) -> Result<(), BuildError> {
        self.builder.page_of_holder(pfn, page, of, self.holder(pfn))
    }

    /// The process that holds a page, where one is known.
    fn holder(&self, pfn: Pfn) -> Option<usize> {
        let owners = self.owners?;
        let user = owners.map.user(pfn)?;
        owners.users[user].process().map(|_| user)
    }

    /// Order and kind of the folio of a file on disk that an allocation is, where the policy has folios of several pages.
    fn file_folio(&self, class: FrameClass, folio: PfnRange) -> Option<(Order, UserPage)> {
        let flags = self.flags(folio.start);
        let page = match class {
            FrameClass::LargeFolio if flags & (kpf::ANON | kpf::UNEVICTABLE | kpf::SWAPBACKED) == 0 => {
                pages::file_page(flags)
            }
            _ => pages::user_page(class, self.disk)?,
        };
        let of_disk = match page {
            UserPage::File | UserPage::MappedFile => true,
            UserPage::DirtyFile => self.disk == Disk::Present,
            _ => false,
        };
        let order = Order::new(u8::try_from(folio.len().get().checked_ilog2()?).ok()?)?;
        let is_one = folio.len() == order.pages() && folio.start.is_aligned(order) && order <= Order::PAGEBLOCK;
        (of_disk && is_one && order > Order::ZERO && self.has_folios).then_some((order, page))
    }

    /// The size of the huge page that a folio of private memory is, if it has less than 2 MiB and the policy has such pages.
    fn small_size(&self, class: FrameClass, folio: PfnRange) -> Option<HugeSize> {
        let flags = self.flags(folio.start);
        let passed_over = class == FrameClass::LargeFolio && flags & kpf::ANON != 0 && flags & kpf::UNEVICTABLE == 0;
        let pages = folio.len().get();
        let size = HugeSize::new(Order::new(u8::try_from(pages.checked_ilog2()?).ok()?)?)?;
        let is_one = pages == size.order().pages().get() && folio.start.is_aligned(size.order());
        let is_private = class == FrameClass::Anon || passed_over;
        (is_private && is_one && size < HugeSize::PMD && self.has_sizes).then_some(size)
    }

    fn flags(&self, pfn: Pfn) -> u64 {
        self.map.get(pfn).map_or(0, |state| state.flags)
    }
}

/// Whether the allocator has frames of this class, and they are in use.
fn is_allocated(class: FrameClass) -> bool {
    class != FrameClass::Free && !layout::is_outside(class) && !layout::is_reserved(class)
}

/// Position of the pageblock of `pfn` in its zone.
fn block_of(pfn: Pfn, zone: &ZoneCensus) -> usize {
    ((pfn - zone.start_of(0)).get() / PAGEBLOCK_PAGES.get()) as usize
}

/// The contents of the allocation at `pfn`. A zone that serves only movable requests cannot hold anything immovable:
/// kernel-owned frames there were allocated as movable.
fn contents(class: FrameClass, pfn: Pfn, zone: &ZoneCensus) -> Contents {
    let movable_only = zone.kind == ZoneKind::Movable || zone.types[block_of(pfn, zone)] == Migratetype::Cma;
    match class.mobility() {
        _ if class == FrameClass::Pinned => Contents::Pinned,
        Mobility::Movable => Contents::Movable,
        _ if movable_only || class == FrameClass::Hugetlb => Contents::Fixed,
        Mobility::Absent | Mobility::Free | Mobility::Immovable => Contents::Unmovable,
    }
}

impl ZoneReport {
    fn new(zone: &Zone, on_cpu_lists: u64, census: &ZoneCensus, info: &ZoneInfo) -> Self {
        let matched = |order: Order| Matched {
            engine: zone.areas()[order.index()].total(),
            file: info.free_blocks[order.index()],
        };
        Self {
            node: info.node,
            kind: info.kind,
            unknown: census.frames(FrameClass::Unknown) + census.frames(FrameClass::Pcp),
            on_cpu_lists: Matched { engine: on_cpu_lists, file: info.pcp.iter().map(|pcp| pcp.count.get()).sum() },
            managed: Matched { engine: zone.managed(), file: info.managed.get() },
            free: Matched { engine: zone.free(), file: info.free.get() },
            free_blocks: std::array::from_fn(|at| matched(Order::new(at as u8).expect("an array of all orders"))),
            blocks_against_type: census.blocks_against_type,
        }
    }
}

#[cfg(test)]
mod tests {
    use order9_snapshot::synth::{SynthSpec, synth};
    use order9_units::Bytes;

    use super::*;

    #[test]
    fn what_a_frame_holds_goes_by_its_class_and_by_who_is_served_there() {
        let (snapshot, _) =
            synth(&SynthSpec { size: Bytes::new(1 << 28), ..SynthSpec::default() }).expect("it is made");
        let mut census = Census::of(&snapshot).expect("it has a map");
        let zone = census.zones.last_mut().expect("it has a zone");
        let of = |class: FrameClass, zone: &ZoneCensus| contents(class, zone.start_of(1), zone);
        for (class, ordinary, movable_only) in [
            (FrameClass::Pinned, Contents::Pinned, Contents::Pinned),
            (FrameClass::Hugetlb, Contents::Fixed, Contents::Fixed),
            (FrameClass::Slab, Contents::Unmovable, Contents::Fixed),
            (FrameClass::Anon, Contents::Movable, Contents::Movable),
        ] {
            zone.kind = ZoneKind::Normal;
            zone.types[1] = Migratetype::Movable;
            assert_eq!(of(class, zone), ordinary, "{class:?}");
            zone.types[1] = Migratetype::Cma;
            assert_eq!(of(class, zone), movable_only, "{class:?} in CMA");
            zone.types[1] = Migratetype::Movable;
            zone.kind = ZoneKind::Movable;
            assert_eq!(of(class, zone), movable_only, "{class:?} in a Movable zone");
        }
    }
}
