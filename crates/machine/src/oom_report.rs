//! The kernel's log of a kill for memory: the request, the state of memory by node and zone, the tasks, and the victim.
//! The lines are laid out as in published logs of 5.x and 6.x; figures that the machine does not have are left out.

use std::fmt::{self, Write};
use std::rc::Rc;

use order9_mm::page_cache::WritePending;
use order9_mm::space::Rss;
use order9_mm::{LruList, LruType, Mark, Request, Zone};
use order9_units::{Migratetype, NodeId, Order, PAGE_SIZE, Pages, ZoneKind};

use crate::kernel::Engine;
use crate::process::Process;

/// One page in kB.
const PAGE_KB: u64 = PAGE_SIZE.get() / 1024;
/// Levels of the first lines, by their name there and in /proc/vmstat.
const LEVELS: [(&str, &str); 16] = [
    ("active_anon", "nr_active_anon"),
    ("inactive_anon", "nr_inactive_anon"),
    ("isolated_anon", "nr_isolated_anon"),
    ("active_file", "nr_active_file"),
    ("inactive_file", "nr_inactive_file"),
    ("isolated_file", "nr_isolated_file"),
    ("unevictable", "nr_unevictable"),
    ("dirty", "nr_dirty"),
    ("writeback", "nr_writeback"),
    ("slab_reclaimable", "nr_slab_reclaimable"),
    ("slab_unreclaimable", "nr_slab_unreclaimable"),
    ("mapped", "nr_mapped"),
    ("shmem", "nr_shmem"),
    ("pagetables", "nr_page_table_pages"),
    ("free", "nr_free_pages"),
    ("free_cma", "nr_free_cma"),
];
/// Types of free blocks, by their letter.
const LETTERS: [(Migratetype, char); 6] = [
    (Migratetype::Unmovable, 'U'),
    (Migratetype::Movable, 'M'),
    (Migratetype::Reclaimable, 'E'),
    (Migratetype::HighAtomic, 'H'),
    (Migratetype::Cma, 'C'),
    (Migratetype::Isolate, 'I'),
];

/// Subject of a report.
pub(crate) struct OomReport<'a> {
    pub(crate) mm: &'a Engine,
    pub(crate) request: &'a Request,
    pub(crate) asked_by: &'a Process,
    /// All there were; their number is that of their address space, from 1 on.
    pub(crate) processes: &'a [Rc<Process>],
    pub(crate) victim: Option<&'a Rc<Process>>,
}

impl fmt::Display for OomReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { order, gfp, .. } = *self.request;
        let (name, order, adj) = (&self.asked_by.name, order.get(), self.asked_by.oom_score_adj.get().get());
        writeln!(f, "{name} invoked oom-killer: gfp_mask={gfp:?}, order={order}, oom_score_adj={adj}")?;
        self.levels(f)?;
        self.mm.frames().nodes().try_for_each(|node| self.node_levels(f, node))?;
        self.mm.frames().zones().iter().try_for_each(|zone| {
            zone_marks(
                f,
                zone,
                self.mm.frames().pcp_pages(zone.id()),
                self.mm.pages().cache().zone_write_pending(zone.id()),
            )
        })?;
        self.mm.frames().zones().iter().try_for_each(|zone| zone_blocks(f, zone))?;
        self.caches(f)?;
        self.tasks(f)?;
        self.verdict(f)
    }
}

impl OomReport<'_> {
    fn level(&self, name: &str) -> u64 {
        order9_procfs::vmstat(self.mm).find(|&(known, _)| known == name).map_or(0, |(_, pages)| pages)
    }

    fn levels(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "Mem-Info:")?;
        for (nth, (name, counter)) in LEVELS.into_iter().enumerate() {
            write!(out, "{}{name}:{}", if nth % 3 == 0 { "" } else { " " }, self.level(counter))?;
            if nth % 3 == 2 {
                writeln!(out)?;
            }
        }
        let cached: u64 = self.mm.frames().zones().iter().map(|zone| self.mm.frames().pcp_pages(zone.id())).sum();
        writeln!(out, " free_pcp:{cached}")
    }

    /// Writes the levels of a node; nothing for a node without memory.
    fn node_levels(&self, out: &mut impl Write, node: NodeId) -> fmt::Result {
        let own = || self.mm.frames().zones().iter().filter(|zone| zone.node() == node);
        if own().all(|zone| zone.managed() == 0) {
            return Ok(());
        }
        let lru = |list| self.mm.lru_pages(node, list);
        let isolated = |of| own().map(|zone| self.mm.pages().lru().zone_lru(zone.id()).isolated(of)).sum();
        let pending = self.mm.write_pending(Some(node));
        write!(out, "Node {}", node.0)?;
        for (name, pages) in [
            ("active_anon", lru(LruList::ActiveAnon)),
            ("inactive_anon", lru(LruList::InactiveAnon)),
            ("active_file", lru(LruList::ActiveFile)),
            ("inactive_file", lru(LruList::InactiveFile)),
            ("unevictable", lru(LruList::Unevictable)),
            ("isolated(anon)", isolated(LruType::Anon)),
            ("isolated(file)", isolated(LruType::File)),
            ("dirty", pending.dirty),
            ("writeback", pending.writeback),
        ] {
            write!(out, " {name}:{}kB", pages * PAGE_KB)?;
        }
        writeln!(out, " all_unreclaimable? {}", if self.mm.kswapd_gave_up(node) { "yes" } else { "no" })
    }

    fn caches(&self, out: &mut impl Write) -> fmt::Result {
        let kb = |pages: Pages| pages.get() * PAGE_KB;
        writeln!(out, "{} total pagecache pages", self.level("nr_file_pages"))?;
        writeln!(out, "{} pages in swap cache", self.mm.pages().swap().swap_cached().get())?;
        writeln!(out, "Free swap  = {}kB", kb(self.mm.pages().swap().swap_free()))?;
        writeln!(out, "Total swap = {}kB", kb(self.mm.pages().swap().swap_total()))?;
        let sum = |of: fn(&Zone) -> u64| self.mm.frames().zones().iter().map(of).sum::<u64>();
        writeln!(out, "{} pages RAM", sum(Zone::present))?;
        writeln!(out, "{} pages reserved", sum(Zone::present) - sum(Zone::managed))
    }

    fn tasks(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "Tasks state (memory values in pages):")?;
        writeln!(out, "[  pid  ] total_vm      rss pgtables_bytes swapents oom_score_adj name")?;
        for process in self.processes.iter().filter(|process| !process.has_ended()) {
            let Some(space) = self.mm.space(process.space) else { continue };
            let (pid, rss) = (process.space.index() + 1, space.rss().total().get());
            let total_vm: Pages = space.vmas().map(|vma| vma.range.len()).sum();
            let (tables, swapped) = (Pages::new(space.page_tables()).bytes().get(), space.swapped().get());
            let (name, adj) = (&process.name, process.oom_score_adj.get().get());
            writeln!(out, "[{pid:7}] {:8} {rss:8} {tables:14} {swapped:8} {adj:13} {name}", total_vm.get())?;
        }
        Ok(())
    }

    /// Writes the nodes to which the request was bound, if not to all.
    fn constraint(&self, out: &mut impl Write) -> fmt::Result {
        let memory = self.mm.phys().memory_nodes();
        let Some(nodes) = self.request.nodemask.filter(|&nodes| !memory.is_subset_of(nodes)) else { return Ok(()) };
        writeln!(out, "oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask={nodes},mems_allowed={memory}")
    }

    fn verdict(&self, out: &mut impl Write) -> fmt::Result {
        self.constraint(out)?;
        let Some((victim, space)) = self.victim.and_then(|of| Some((of, self.mm.space(of.space)?))) else {
            return writeln!(out, "Out of memory and no killable processes...");
        };
        let Rss { anon_pages, shmem_pages, file_pages } = space.rss();
        let total_vm: Pages = space.vmas().map(|vma| vma.range.len()).sum();
        let [total, anon, file, shmem, tables] =
            [total_vm.get(), anon_pages, file_pages, shmem_pages, space.page_tables()].map(|pages| pages * PAGE_KB);
        write!(out, "Out of memory: Killed process {} ({}) ", victim.space.index() + 1, victim.name)?;
        write!(out, "total-vm:{total}kB, anon-rss:{anon}kB, file-rss:{file}kB, shmem-rss:{shmem}kB, ")?;
        writeln!(out, "pgtables:{tables}kB oom_score_adj:{}", victim.oom_score_adj.get().get())
    }
}

fn zone_marks(out: &mut impl Write, zone: &Zone, cached: u64, pending: WritePending) -> fmt::Result {
    write!(out, "Node {} {}", zone.node().0, zone.kind())?;
    for (name, pages) in [
        ("free", zone.free()),
        ("boost", zone.boost()),
        ("min", zone.mark(Mark::Min)),
        ("low", zone.mark(Mark::Low)),
        ("high", zone.mark(Mark::High)),
        ("reserved_highatomic", zone.reserved_highatomic()),
        ("writepending", pending.total()),
        ("present", zone.present()),
        ("managed", zone.managed()),
        ("free_pcp", cached),
    ] {
        write!(out, " {name}:{}kB", pages * PAGE_KB)?;
    }
    write!(out, "\nlowmem_reserve[]:")?;
    let reserve: [u64; ZoneKind::COUNT] = zone.lowmem_reserve();
    reserve.iter().try_for_each(|pages| write!(out, " {pages}"))?;
    writeln!(out)
}

/// Free blocks of every order, with the letters of their types.
fn zone_blocks(out: &mut impl Write, zone: &Zone) -> fmt::Result {
    write!(out, "Node {} {}:", zone.node().0, zone.kind())?;
    for (order, area) in Order::all().zip(zone.areas()) {
        let there = |&&(mt, _): &&(Migratetype, char)| area.blocks[mt.index()] > 0;
        let letters: String = LETTERS.iter().filter(there).map(|&(_, letter)| letter).collect();
        write!(out, " {}*{}kB", area.total(), order.pages().get() * PAGE_KB)?;
        if !letters.is_empty() {
            write!(out, " ({letters})")?;
        }
    }
    writeln!(out, " = {}kB", zone.free() * PAGE_KB)
}
