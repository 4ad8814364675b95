//! Uses of a zone's pageblocks, and the frames that are dealt to pageblocks of mixed use.

use order9_units::{Order, PAGEBLOCK_PAGES, Pfn, ZoneKind};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::SeedableRng;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::content::Content;
use super::layout::ZoneLayout;
use super::spec::{Pattern, SynthError, SynthSpec};
use super::urn::{Urn, below};

/// Frames of a pageblock.
pub(super) const BLOCK: u64 = PAGEBLOCK_PAGES.get();

/// Use of a pageblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Kernel memory that is not reclaimable only.
    Unmovable,
    /// Reclaimable slab only.
    Reclaimable,
    /// One huge page.
    Huge,
    /// Used and free frames as dealt.
    Mixed,
    /// Used and free frames as in `Mixed`, with one unmovable page.
    Contaminated,
    /// Free frames only.
    Free,
}

/// Plan by which one zone is painted.
pub(super) struct ZonePlan {
    /// Number of the zone, for its random streams.
    number: u64,
    /// The pageblock that the first role is for.
    first_block: Pfn,
    roles: Vec<Role>,
    /// Still to be dealt to `Mixed` and `Contaminated` pageblocks.
    pub(super) mixed: Urn,
    /// Still to be dealt to `Unmovable` pageblocks, and one frame to each `Contaminated` one.
    pub(super) kernel: Urn,
}

impl ZonePlan {
    /// Plans a zone.
    pub(super) fn of(spec: &SynthSpec, zone: &ZoneLayout, number: u64) -> Result<Self, SynthError> {
        let first_block = zone.managed.start.align_down(Order::PAGEBLOCK);
        let mut plan = Self { number, first_block, roles: Vec::new(), mixed: Urn::default(), kernel: Urn::default() };
        if zone.kind == ZoneKind::Dma {
            plan.roles = vec![Role::Free; ((zone.managed.end - first_block).get() / BLOCK) as usize];
            return Ok(plan);
        }
        let frames = Frames::of(spec, zone.managed.len().get());
        let blocks = Blocks::of(spec, zone, &frames)?;
        plan.assign_roles(spec, &blocks);
        plan.fill_urns(spec, &frames, &blocks);
        Ok(plan)
    }

    /// The role of every pageblock, upward from [`Self::first_block`].
    pub(super) fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Start of the first pageblock with a managed frame.
    pub(super) fn first_block(&self) -> Pfn {
        self.first_block
    }

    /// The random stream of one chunk, or of the plan itself.
    pub(super) fn stream(&self, spec: &SynthSpec, chunk: u64) -> Pcg32 {
        let name = [self.number.to_le_bytes(), chunk.to_le_bytes()];
        Pcg32::seed_from_u64(xxh3_64_with_seed(name.as_flattened(), spec.seed))
    }

    fn assign_roles(&mut self, spec: &SynthSpec, blocks: &Blocks) {
        for (role, count) in [
            (Role::Unmovable, blocks.unmovable),
            (Role::Reclaimable, blocks.reclaimable),
            (Role::Huge, blocks.huge),
            (Role::Contaminated, blocks.contaminated),
            (Role::Mixed, blocks.mixed),
            (Role::Free, blocks.free),
        ] {
            self.roles.resize(self.roles.len() + count as usize, role);
        }
        if spec.pattern != Pattern::Packed {
            let mut rng = self.stream(spec, u64::MAX);
            shuffle(&mut self.roles, &mut rng);
        }
    }

    fn fill_urns(&mut self, spec: &SynthSpec, frames: &Frames, blocks: &Blocks) {
        let mixed = (blocks.mixed + blocks.contaminated) * BLOCK - blocks.contaminated;
        if spec.pattern.groups_kernel_memory() {
            add_kernel_memory(&mut self.kernel, blocks.unmovable * BLOCK + blocks.contaminated);
        } else {
            add_kernel_memory(&mut self.mixed, frames.unmovable);
            self.mixed.add(Content::SlabReclaimable, frames.reclaimable);
        }
        self.mixed.add(Content::Pinned, frames.pinned);
        self.mixed.add(Content::CleanCache, frames.clean_cache);
        self.mixed.add(Content::Free, frames.free - blocks.free * BLOCK);
        // Also takes the place of kernel memory that does not fill a pageblock of its own.
        self.mixed.add(Content::Anon, mixed - self.mixed.total());
    }
}

/// Unmovable memory of the kernel: three parts slab, one page tables, one without a flag.
fn add_kernel_memory(urn: &mut Urn, frames: u64) {
    let (slab, page_tables) = (frames * 3 / 5, frames / 5);
    urn.add(Content::Slab, slab);
    urn.add(Content::PageTable, page_tables);
    urn.add(Content::Kernel, frames - slab - page_tables);
}

/// The shares of a spec in frames of one zone, all rounded down. Their sum is at most the zone.
struct Frames {
    unmovable: u64,
    reclaimable: u64,
    pinned: u64,
    huge: u64,
    clean_cache: u64,
    free: u64,
}

impl Frames {
    fn of(spec: &SynthSpec, frames: u64) -> Self {
        let of = |part| share(frames, part);
        let parts = [spec.unmovable, spec.reclaimable, spec.pinned, spec.huge, spec.clean_cache].map(of);
        let [unmovable, reclaimable, pinned, huge, clean_cache] = parts;
        // Shares may exceed the fill by a rounding error.
        let used = of(spec.fill).max(parts.iter().sum());
        Self { unmovable, reclaimable, pinned, huge, clean_cache, free: frames - used }
    }
}

/// Number of pageblocks of a zone by use.
struct Blocks {
    unmovable: u64,
    reclaimable: u64,
    huge: u64,
    contaminated: u64,
    mixed: u64,
    free: u64,
}

impl Blocks {
    fn of(spec: &SynthSpec, zone: &ZoneLayout, frames: &Frames) -> Result<Self, SynthError> {
        let all = zone.managed.len().get() / BLOCK;
        let groups = spec.pattern.groups_kernel_memory();
        let degree = if spec.pattern == Pattern::Packed { 0.0 } else { spec.degree };
        let free = share(frames.free, 1.0 - degree) / BLOCK;
        let huge = frames.huge / BLOCK;
        let reclaimable = if groups { frames.reclaimable / BLOCK } else { 0 };
        let others = free + huge + reclaimable;
        let contaminated = if spec.pattern.contaminates() {
            share(all - others - frames.unmovable / BLOCK, spec.contamination)
        } else {
            0
        };
        let Some(grouped) = frames.unmovable.checked_sub(contaminated) else {
            return Err(SynthError::Contamination {
                contamination: spec.contamination,
                node: zone.node,
                kind: zone.kind,
                needed: contaminated,
                pages: frames.unmovable,
            });
        };
        let unmovable = if groups { grouped / BLOCK } else { 0 };
        let mixed = all - others - unmovable - contaminated;
        Ok(Self { unmovable, reclaimable, huge, contaminated, mixed, free })
    }
}

/// A share of some frames, rounded down; a rounding error below a whole number does not count.
fn share(frames: u64, share: f64) -> u64 {
    ((frames as f64 * share + 1e-6) as u64).min(frames)
}

/// Every order equally likely.
fn shuffle(roles: &mut [Role], rng: &mut Pcg32) {
    for last in (1..roles.len()).rev() {
        roles.swap(last, below(rng, last as u64 + 1) as usize);
    }
}
