//! /proc/meminfo: what the memory of the machine is used for.

use alloc::vec::Vec;
use core::fmt::{Result, Write};

use order9_units::{Migratetype, NodeId, Order, Pages};

use super::labelled;
use crate::Mm;
use crate::frame::Idx;
use crate::lru::{LruList, ZoneLru};
use crate::policy::HugeInterface;
use crate::trace::Tracer;
use crate::zone::Zone;

impl<T: Tracer> Mm<T> {
    /// Pages that the allocator manages, and those that it will: `MemTotal`.
    #[must_use]
    pub fn managed_pages(&self) -> Pages {
        Pages::new(self.zones.iter().map(Zone::managed).sum()) + self.deferred_pages()
    }

    /// Pages that nobody uses: `MemFree`.
    #[must_use]
    pub fn free_pages(&self) -> Pages {
        Pages::new(self.zones.iter().map(Zone::free).sum()) + self.deferred_pages()
    }

    /// Pages that programs could get without swapping: `MemAvailable`. Half of the page cache, and of the slab that can be
    /// reclaimed, is taken for in use or fragmented, but never more than the low marks.
    #[must_use]
    pub fn available(&self) -> Pages {
        let sum = |of: fn(&Zone) -> u64| self.zones.iter().map(of).sum::<u64>();
        let low = sum(|zone| zone.watermarks.low);
        let unused_part = |pages: u64| pages - (pages / 2).min(low);
        let page_cache = self.lru.zones.iter().map(ZoneLru::file_pages).sum();
        let free = self.free_pages().get().saturating_sub(sum(Zone::reserved_from_programs));
        Pages::new(free + unused_part(page_cache) + unused_part(self.slab.total().reclaimable))
    }

    /// Writes /proc/meminfo with the fields of Linux 6.18, those of huge pages by release; 0 stands where the engine does not have the mechanism.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn render_meminfo(&self, out: &mut impl Write) -> Result {
        self.meminfo().try_for_each(|(name, value)| match name {
            _ if is_number(name) => labelled(out, name, value, ""),
            _ => labelled(out, name, value, " kB"),
        })
    }

    /// The fields of /proc/meminfo in the kernel's order, in kB; those called `HugePages_` count huge pages.
    ///
    /// `CmaTotal` and `CmaFree` are there on machines with contiguous memory areas.
    pub fn meminfo(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let sum = |of: fn(&Zone) -> u64| self.zones.iter().map(of).sum::<u64>();
        let (managed, free, available) = (self.managed_pages().get(), self.free_pages().get(), self.available().get());
        let slab = self.slab.total();
        let cma: u64 = self.zones.iter().map(|zone| self.cma_pages(zone)).sum();
        let cma_free = sum(|zone| zone.free_of_type(Migratetype::Cma));
        let pool = self.hugetlb_pool();
        let (user, pending) = (self.user_levels(), self.write_pending(None));
        let lru = |list| self.zones.iter().map(|zone| self.zone_lru(zone.id).pages(list)).sum::<u64>();
        let [inactive_anon, active_anon, inactive_file, active_file, unevictable] = LruList::ALL.map(lru);
        let pages = [
            ("MemTotal", managed),
            ("MemFree", free),
            ("MemAvailable", available),
            ("Buffers", 0),
            ("Cached", user.file + user.shmem),
            ("SwapCached", self.swap_cached().get()),
            ("Active", active_anon + active_file),
            ("Inactive", inactive_anon + inactive_file),
            ("Active(anon)", active_anon),
            ("Inactive(anon)", inactive_anon),
            ("Active(file)", active_file),
            ("Inactive(file)", inactive_file),
            ("Unevictable", unevictable),
            ("Mlocked", self.mlocked(None)),
            ("SwapTotal", self.swap_total().get()),
            ("SwapFree", self.swap_free().get()),
            ("Zswap", 0),
            ("Zswapped", 0),
            ("Dirty", pending.dirty),
            ("Writeback", pending.writeback),
            ("AnonPages", user.anon),
            ("Mapped", user.mapped),
            ("Shmem", user.shmem),
            ("KReclaimable", slab.reclaimable),
            ("Slab", slab.reclaimable + slab.unreclaimable),
            ("SReclaimable", slab.reclaimable),
            ("SUnreclaim", slab.unreclaimable),
            ("KernelStack", 0),
            ("PageTables", user.page_tables),
            ("SecPageTables", 0),
            ("NFS_Unstable", 0),
            ("Bounce", 0),
            ("WritebackTmp", 0),
            ("CommitLimit", 0),
            ("Committed_AS", 0),
            ("VmallocTotal", 0),
            ("VmallocUsed", 0),
            ("VmallocChunk", 0),
            ("Percpu", 0),
            ("AnonHugePages", user.anon_thps * Order::PAGEBLOCK.pages().get()),
            ("ShmemHugePages", user.shmem_thps * Order::PAGEBLOCK.pages().get()),
            ("ShmemPmdMapped", user.shmem_pmdmapped * Order::PAGEBLOCK.pages().get()),
            ("FileHugePages", 0),
            ("FilePmdMapped", 0),
            ("CmaTotal", cma),
            ("CmaFree", cma_free),
            ("Balloon", 0),
            ("HugePages_Total", pool.total),
            ("HugePages_Free", pool.free),
            ("HugePages_Rsvd", pool.reserved),
            ("HugePages_Surp", pool.surplus),
            ("Hugepagesize", Order::PAGEBLOCK.pages().get()),
            ("Hugetlb", pool.total * Order::PAGEBLOCK.pages().get()),
            ("DirectMap4k", 0),
            ("DirectMap2M", 0),
            ("DirectMap1G", 0),
        ];
        let (has_cma, policy) = (cma > 0, &self.policy.thp);
        let shown = pages.into_iter().filter(move |&(name, _)| match name {
            "CmaTotal" | "CmaFree" => has_cma,
            "ShmemHugePages" | "ShmemPmdMapped" => policy.shmem,
            "FileHugePages" | "FilePmdMapped" => policy.interface >= HugeInterface::File,
            "Hugetlb" => policy.interface >= HugeInterface::HugetlbTotal,
            _ => true,
        });
        shown.map(|(name, pages)| (name, if is_number(name) { pages } else { Pages::new(pages).bytes().get() / 1024 }))
    }

    /// `nr_mlock` of the machine or of `node`: pages that an mlocked mapping maps, each once.
    pub(super) fn mlocked(&self, node: Option<NodeId>) -> u64 {
        let mut pages: Vec<Idx> = Vec::new();
        for (_, space) in self.spaces() {
            for vma in space.vmas().filter(|vma| vma.locked) {
                let frames = space.entries(vma.range).filter_map(|pte| pte.idx());
                pages.extend(frames.filter(|&idx| node.is_none_or(|node| self.node_of(idx) == node)));
            }
        }
        pages.sort_unstable();
        pages.dedup();
        pages.len() as u64
    }
}

fn is_number(name: &str) -> bool {
    name.starts_with("HugePages_")
}
