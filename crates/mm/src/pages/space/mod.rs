//! Address spaces: mappings, page tables, the faults that fill them and the operations that change them.
//!
//! Key types: [`Space`] (mappings and page table of one program), [`Vma`] (one mapping), [`FaultStep`] (how an access goes
//! on), `Owner` (whose page a frame is). All operations are methods of [`Mm`](crate::Mm), take addresses and lengths as the system
//! calls do, and answer as Linux: errors are [`Errno`]s.
//! An operation that needs memory never allocates: it says what it needs, the caller allocates, which may take a while, and
//! hands the page in; everything is then checked again. Huge pages are in [`crate::thp`]. Never prices its work, waits, or reclaims.

mod check;
mod content;
mod edit;
mod fault;
mod file_fault;
mod fork;
pub(crate) mod inherited;
mod lazy_free;
mod madvise;
mod mmap;
mod mremap;
mod numa_use;
mod page;
mod private;
pub(crate) mod pte;
mod residence;
mod resolve;
mod rmap;
mod spaces;
mod swap_in;
mod table;
mod usage;
mod view;
pub(crate) mod vma;
mod zeroed;

use alloc::boxed::Box;
use core::ops::{AddAssign, SubAssign};

use order9_frames::Idx;
use order9_units::{Order, Pages};

use table::PageTable;
use vma::VmaSet;

use crate::mempolicy::TaskPolicies;
use crate::numa_balancing::SpaceBalancing;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

pub use crate::addr::{TASK_END, VirtAddr, Vpn, VpnRange};
pub use crate::errno::Errno;
pub use crate::ids::SpaceId;
pub use crate::settings::map_limit::MAX_MAP_COUNT;
pub use fault::{Access, Fault, FaultStep, Need};
pub use fork::{Fork, ForkCopy};
pub use madvise::Madvise;
pub use mmap::{Backing, MmapRequest, Place};
pub use mremap::{Move, Mremap, MremapRequest, MremapTo};
pub use numa_use::NumaUse;
pub(crate) use page::{NO_CPU, Zap};
pub(crate) use pte::{Pte, PteFlag, PteKind};
pub use residence::{Residence, Touched};
pub(crate) use rmap::{FILES, Mapping, Mappings, Owner, PLACES, Rmap};
pub use spaces::Spaces;
pub(crate) use table::{Huge, Slot, Table};
pub use usage::{MappingUse, Share};
pub use view::PageView;
pub use vma::{HugeAdvice, Prot, Vma, VmaKind};

/// Address space of one program.
#[derive(Clone, Default)]
pub struct Space {
    pub(crate) vmas: VmaSet,
    pub(crate) table: PageTable,
    pub(crate) rss: Rss,
    /// Entries that name a slot of swap.
    pub(crate) swap_pages: u64,
    page_tables: u64,
    /// The frame of a page table that no slot has yet; it counts as one.
    pub(crate) spare_table: Option<Idx>,
    /// The space maps the huge page of zeros, or did, and holds it until its end.
    pub(crate) holds_huge_zero: bool,
    /// Pages of hugetlb pools.
    hugetlb_pages: u64,
    /// `prctl(PR_SET_THP_DISABLE)`.
    pub(crate) thp_disabled: bool,
    /// Tasks of the space lack `CAP_SYS_NICE`.
    pub(crate) unprivileged: bool,
    /// Memory policies and cpuset of its tasks.
    pub(crate) tasks: TaskPolicies,
    /// Facts of NUMA balancing about the space and its tasks, once balancing is on.
    pub(crate) balancing: Option<Box<SpaceBalancing>>,
}

/// Next step of an operation that fills a page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableStep {
    /// A slot is done; call again.
    Progress,
    /// The slot of this page needs a page table: allocate a page with [`crate::Gfp::GFP_PGTABLE_USER`], pass it to
    /// [`Mm::give_table`](crate::Mm::give_table), and call again.
    NeedTable(Vpn),
    /// The child needs a copy of this page of its own: allocate a page with [`crate::Gfp::GFP_HIGHUSER_MOVABLE`], pass it to
    /// [`Mm::give_copy`](crate::Mm::give_copy), and call again.
    NeedCopy(ForkCopy),
    /// Nothing is left.
    Done,
}

/// Pages mapped by a space, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rss {
    /// Of this space alone, or shared by fork until written: `RssAnon`.
    pub anon_pages: u64,
    /// Of tmpfs files and shared memory: `RssShmem`.
    pub shmem_pages: u64,
    /// Of files on disk: `RssFile`.
    pub file_pages: u64,
}

impl Rss {
    /// All together: `VmRSS`.
    #[must_use]
    pub const fn total(self) -> Pages {
        Pages::new(self.anon_pages + self.shmem_pages + self.file_pages)
    }
}

impl AddAssign for Rss {
    fn add_assign(&mut self, other: Self) {
        self.anon_pages += other.anon_pages;
        self.shmem_pages += other.shmem_pages;
        self.file_pages += other.file_pages;
    }
}

impl SubAssign for Rss {
    fn sub_assign(&mut self, other: Self) {
        self.anon_pages -= other.anon_pages;
        self.shmem_pages -= other.shmem_pages;
        self.file_pages -= other.file_pages;
    }
}

/// Pages in use for programs on the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserLevels {
    /// `nr_anon_pages`: anonymous pages with a mapping, each once.
    pub anon: u64,
    /// `nr_anon_transparent_hugepages`: anonymous huge pages with a huge mapping.
    pub anon_thps: u64,
    /// `nr_mapped`: pages of files with a mapping, each once.
    pub mapped: u64,
    /// `nr_shmem`: pages of tmpfs files.
    pub shmem: u64,
    /// `nr_shmem_hugepages`: huge pages of tmpfs files.
    pub shmem_thps: u64,
    /// `nr_shmem_pmdmapped`: those with a huge mapping.
    pub shmem_pmdmapped: u64,
    /// Pages of files on disk.
    pub file: u64,
    /// `nr_page_table_pages`: page tables of the lowest level.
    pub page_tables: u64,
}

impl Space {
    /// Mappings of the space, upward.
    pub fn vmas(&self) -> impl Iterator<Item = &Vma> {
        self.vmas.iter()
    }

    /// The mapping that holds `addr`.
    #[must_use]
    pub fn vma_at(&self, addr: VirtAddr) -> Option<&Vma> {
        self.vmas.find(addr.vpn())
    }

    /// A mapping as the rules of huge pages have it: `prctl(PR_SET_THP_DISABLE)` advises against all of them.
    pub(crate) fn seen_by_thp(&self, vma: &Vma) -> Vma {
        Vma { advice: if self.thp_disabled { HugeAdvice::NoHuge } else { vma.advice }, ..*vma }
    }

    /// Pages mapped.
    #[must_use]
    pub const fn rss(&self) -> Rss {
        self.rss
    }

    /// Pages in swap: `VmSwap`.
    #[must_use]
    pub const fn swapped(&self) -> Pages {
        Pages::new(self.swap_pages)
    }

    /// Pages of hugetlb pools mapped, which do not count as resident: `HugetlbPages`.
    #[must_use]
    pub const fn hugetlb(&self) -> Pages {
        Pages::new(self.hugetlb_pages * Order::PAGEBLOCK.pages().get())
    }

    /// Gives the empty slot of `vpn` a page of a hugetlb pool.
    pub(crate) fn install_hugetlb(&mut self, vpn: Vpn, pte: Pte) {
        self.table.install_hugetlb(vpn, pte);
        self.hugetlb_pages += 1;
    }

    /// Empties the slot of `vpn` if it has a page of a hugetlb pool; returns its entry.
    pub(crate) fn remove_hugetlb(&mut self, vpn: Vpn) -> Option<Pte> {
        let pte = self.table.remove_hugetlb(vpn)?;
        self.hugetlb_pages -= 1;
        Some(pte)
    }

    /// Number of pages of hugetlb pools mapped.
    pub(crate) const fn hugetlb_pages(&self) -> u64 {
        self.hugetlb_pages
    }

    /// Bytes that the page table takes here, on the host.
    #[must_use]
    pub fn page_table_bytes(&self) -> u64 {
        self.table.bytes() as u64
    }

    /// Page tables of the lowest level, in frames.
    #[must_use]
    pub const fn page_tables(&self) -> u64 {
        self.page_tables
    }
}

impl UsedPages {
    /// An address space without mappings.
    pub(crate) fn create_space(&mut self, phys: &PhysMem) -> Result<SpaceId, Errno> {
        let id = self.spaces.add().ok_or(Errno::Eagain)?;
        self.rmap.make_room(phys.frames.table().len());
        Ok(id)
    }

    /// Pages in use for programs.
    #[must_use]
    pub fn user_levels(&self) -> UserLevels {
        UserLevels { mapped: self.rmap.mapped.iter().sum(), ..self.levels }
    }

    /// Ends a space: everything is unmapped, on behalf of `cpu`.
    pub(crate) fn exit(&mut self, id: SpaceId, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        self.spaces.get(id)?;
        self.unmap_range(id, VpnRange::new(Vpn::new(0), TASK_END), cpu, phys)?;
        self.drop_huge_zero(id);
        self.huge.khugepaged.forget(id);
        if let Some(frame) = self.spaces.living(id).spare_table.take() {
            self.free_page_table(id, frame, cpu, phys);
        }
        self.spaces.remove(id);
        Ok(())
    }
}
