//! The system calls of programs: the lab's [`Sys`].

use std::future::Future;
use std::ops::Range;

use order9_mm::Errno;
use order9_mm::compaction::{compact_memory, compact_node};
use order9_mm::env::Env as _;
use order9_mm::space::{self, Backing, Madvise, MmapRequest, Mremap, MremapTo, Place, VirtAddr, VpnRange};
use order9_units::{Bytes, Nanos, NodeId, NodeMask, Order, PAGE_SIZE, Pages};
use order9_workloads::{
    Access, Advice, Area, ChildKind, DropCaches, Ended, Facts, FileId, KernelAlloc, Loads, Mapping, MbindFlags, Memory,
    Mempolicy, Mount, Numastat, Of, PoolFile, Prot, Spread, Statfs, Stop, Sys,
};
use rand_pcg::rand_core::Rng as _;

use crate::access::Pass;
use crate::faults::refused;
use crate::files::file_of;
use crate::kernel_memory::KernelMemory;
use crate::process::Child;
use crate::results::Unit;
use crate::thread::Thread;
use crate::time::{CpuId, Mode, NoSuchCpu};

const HUGE_PAGE: Bytes = Order::PAGEBLOCK.pages().bytes();

impl Sys for Thread {
    type Child = Child;
    type KernelMemory = KernelMemory;

    fn facts(&self) -> Facts {
        self.kernel.facts()
    }

    fn memory(&self) -> Memory {
        self.kernel.look(|mm| Memory { free: mm.free_pages().bytes(), available: mm.available().bytes() })
    }

    fn now(&self) -> Nanos {
        self.kernel.handle.now()
    }

    fn seed(&self, name: &str) -> u64 {
        self.kernel.handle.stream(name).next_u64()
    }

    async fn sleep(&self, time: Nanos) -> Result<(), Stop> {
        self.enter().await?;
        let end = self.now() + time;
        while self.now() < end {
            self.alive()?;
            self.kernel.handle.wait(self.process.waiting, Some(end - self.now())).await;
        }
        self.alive()
    }

    async fn compute(&self, time: Nanos) -> Result<(), Stop> {
        self.run_user(time).await;
        self.alive()
    }

    async fn mmap(&self, mapping: Mapping) -> Result<Area, Stop> {
        self.enter().await?;
        let _lock = self.mmap_lock(Mode::Exclusive).await;
        let request = self.mmap_request(mapping);
        // A program opens a file to map it, and closes it then: the mapping keeps it.
        let opened = self.open_for_mapping(mapping.of).await?;
        let start = match mapping.of {
            Of::Hugetlb { .. } => self.map_from_pools(&request).await,
            _ => self.kernel.with(|mm| mm.mmap(self.process.space, &request, self.cpu())),
        };
        if let Some(file) = opened {
            self.kernel.with(|mm| mm.fs_close(file)).expect("it was opened above");
        }
        self.spend().await;
        let start = start.map_err(|errno| refused("mmap", errno))?;
        let length = match mapping.of {
            Of::Hugetlb { .. } => Bytes::new(mapping.length.get().next_multiple_of(HUGE_PAGE.get())),
            _ => whole_pages(mapping.length),
        };
        Ok(Area { start: start.get(), length })
    }

    async fn munmap(&self, area: Area) -> Result<(), Stop> {
        self.enter().await?;
        let mut rest = range(area);
        let changing = self.change_mappings(rest).await;
        changing.downgrade(rest, self.mmap_lock_rule());
        while self.kernel.with(|mm| mm.unmap_step(self.process.space, &mut rest, self.cpu())) == Ok(true) {
            self.spend().await;
        }
        let done = self.kernel.with(|mm| mm.munmap(self.process.space, start(area), area.length, self.cpu()));
        self.drop_unlinked();
        self.spend().await;
        done.map_err(|errno| refused("munmap", errno))
    }

    async fn mprotect(&self, area: Area, prot: Prot) -> Result<(), Stop> {
        self.enter().await?;
        let _changing = self.change_mappings(range(area)).await;
        let prot = match prot {
            Prot::None => space::Prot::NONE,
            Prot::Read => space::Prot::READ,
            Prot::ReadWrite => space::Prot::RW,
        };
        let done = self.kernel.with(|mm| mm.mprotect(self.process.space, start(area), area.length, prot));
        self.spend().await;
        done.map_err(|errno| refused("mprotect", errno))
    }

    async fn mremap(&self, area: Area, length: Bytes) -> Result<Area, Stop> {
        self.enter().await?;
        let _changing = self.change_mappings(range(area)).await;
        let (space, to) = (self.process.space, MremapTo::MayMove);
        let begun = self.kernel.with(|mm| mm.mremap(space, start(area), area.length, length, to, self.cpu()));
        let moved = match begun.map_err(|errno| refused("mremap", errno))? {
            Mremap::Done(start) => start,
            Mremap::Moving(mut run) => {
                let cpu = self.cpu();
                self.fill_tables("mremap", space, |mm| mm.move_step(&mut run, cpu)).await?;
                run.to()
            }
        };
        self.spend().await;
        Ok(Area { start: moved.get(), length: whole_pages(length) })
    }

    async fn madvise(&self, area: Area, advice: Advice) -> Result<(), Stop> {
        self.enter().await?;
        let advice = match advice {
            Advice::DontNeed => Madvise::DontNeed,
            Advice::Free => Madvise::Free,
            Advice::Remove => Madvise::Remove,
            Advice::HugePage => Madvise::HugePage,
            Advice::NoHugePage => Madvise::NoHugePage,
            Advice::Local => Madvise::Local,
            Advice::HugePageForceLocal => Madvise::HugePageForceLocal,
            Advice::Collapse => return self.collapse(start(area), area.length).await,
        };
        let changes = !matches!(advice, Madvise::DontNeed | Madvise::Free | Madvise::Remove);
        let (_changing, _reading);
        if changes {
            _changing = self.change_mappings(range(area)).await;
        } else {
            _reading = self.mmap_lock(Mode::Shared).await;
        }
        let done = self.kernel.with(|mm| mm.madvise(self.process.space, start(area), area.length, advice, self.cpu()));
        self.spend().await;
        done.map_err(|errno| refused("madvise", errno))
    }

    async fn mlock(&self, area: Area) -> Result<(), Stop> {
        self.enter().await?;
        let space = self.process.space;
        let locked = {
            let _changing = self.change_mappings(range(area)).await;
            self.kernel.with(|mm| mm.mlock(space, start(area), area.length))
        };
        locked.map_err(|errno| refused("mlock", errno))?;
        let (mut at, end) = (start(area), VirtAddr::new(area.start + area.length.get()));
        while let Some((missing, access)) = self.kernel.with(|mm| mm.next_to_populate(space, at, end)) {
            self.fault(missing, access, None).await?;
            at = VirtAddr::new(missing.get() + PAGE_SIZE.get());
        }
        self.spend().await;
        self.alive()
    }

    async fn munlock(&self, area: Area) -> Result<(), Stop> {
        self.enter().await?;
        let _changing = self.change_mappings(range(area)).await;
        let done = self.kernel.with(|mm| mm.munlock(self.process.space, start(area), area.length));
        self.spend().await;
        done.map_err(|errno| refused("munlock", errno))
    }

    async fn touch(&self, area: Area, access: Access) -> Result<(), Stop> {
        self.access_all(area, access, Pass::touch(&self.kernel.prices)).await
    }

    async fn fill(&self, area: Area) -> Result<(), Stop> {
        self.access_all(area, Access::Write, Pass::fill(&self.kernel.prices)).await
    }

    async fn load(&self, area: Area, loads: u64) -> Result<Loads, Stop> {
        self.load_at_random(range(area), loads).await
    }

    async fn mincore(&self, area: Area) -> Result<u64, Stop> {
        self.resident(range(area)).await
    }

    async fn page_node(&self, area: Area) -> Result<NodeId, Stop> {
        self.node_of_page(start(area)).await
    }

    async fn move_pages(&self, area: Area, node: NodeId) -> Result<u64, Stop> {
        self.pages_to_node(range(area), node).await
    }

    async fn set_affinity(&self, cpus: &[u32]) -> Result<(), Stop> {
        self.enter().await?;
        let cpus = cpus.iter().filter_map(|&cpu| u16::try_from(cpu).ok().map(CpuId)).collect();
        let bound = self.kernel.handle.set_affinity(&cpus).await;
        bound.map_err(|NoSuchCpu| refused("sched_setaffinity", Errno::Einval))
    }

    async fn set_spread(&self, spread: Spread) -> Result<(), Stop> {
        self.kernel.handle.set_packed(spread == Spread::Packed);
        self.alive()
    }

    fn cpus_of(&self, node: NodeId) -> Vec<u32> {
        self.kernel.handle.cpus_of(node).iter().map(|cpu| cpu.0.into()).collect()
    }

    async fn set_mempolicy(&self, policy: Mempolicy) -> Result<(), Stop> {
        self.set_policy(policy).await
    }

    async fn mbind(&self, area: Area, policy: Mempolicy, flags: MbindFlags) -> Result<(), Stop> {
        self.bind(area, policy, flags).await
    }

    async fn get_mempolicy(&self, area: Option<Area>) -> Result<Mempolicy, Stop> {
        self.policy_of(area).await
    }

    fn mems_allowed(&self) -> NodeMask {
        self.kernel.look(|mm| mm.mems_allowed(self.process.space)).unwrap_or_default()
    }

    async fn set_mempolicy_home_node(&self, area: Area, home: NodeId) -> Result<(), Stop> {
        self.set_home(area, home).await
    }

    async fn migrate_pages(&self, from: NodeMask, to: NodeMask) -> Result<u64, Stop> {
        self.migrate(from, to).await
    }

    async fn set_mems(&self, mems: NodeMask, migrates: bool) -> Result<(), Stop> {
        self.set_cpuset(mems, migrates).await
    }

    fn numa_maps(&self) -> String {
        self.numa_maps_text()
    }

    fn numastat(&self) -> Vec<Numastat> {
        self.numastat_of_nodes()
    }

    fn node(&self) -> NodeId {
        self.cpu_node()
    }

    async fn pin(&self, area: Area) -> Result<(), Stop> {
        self.pin_pages(range(area)).await
    }

    async fn unpin(&self, area: Area) -> Result<(), Stop> {
        self.unpin_pages(start(area)).await
    }

    async fn mount_tmpfs(&self, options: &str) -> Result<Mount, Stop> {
        self.mount(options).await
    }

    async fn remount_tmpfs(&self, mount: Mount, options: &str) -> Result<(), Stop> {
        self.remount(mount, options).await
    }

    async fn statfs(&self, mount: Mount) -> Result<Statfs, Stop> {
        self.statfs_tmpfs(mount).await
    }

    async fn create_on(&self, mount: Mount) -> Result<FileId, Stop> {
        self.new_file_on(mount).await
    }

    async fn truncate(&self, file: FileId, length: Bytes) -> Result<(), Stop> {
        self.truncate_tmpfs(file, length).await
    }

    async fn fallocate(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        self.preallocate(file, offset, length).await
    }

    async fn punch_hole(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        self.punch(file, offset, length).await
    }

    async fn create_file(&self, length: Bytes) -> Result<FileId, Stop> {
        self.make_file(length).await
    }

    async fn remove_file(&self, file: FileId) -> Result<(), Stop> {
        self.unlink(file).await
    }

    async fn create(&self) -> Result<FileId, Stop> {
        self.new_file().await
    }

    async fn open(&self, file: FileId) -> Result<(), Stop> {
        self.open_file(file).await
    }

    async fn close(&self, file: FileId) -> Result<(), Stop> {
        self.close_file(file).await
    }

    async fn read(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<Bytes, Stop> {
        self.read_file(file, offset, length).await
    }

    async fn write(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        self.write_file(file, offset, length).await
    }

    async fn fsync(&self, file: FileId) -> Result<(), Stop> {
        self.sync_file(file).await
    }

    async fn sync(&self) -> Result<(), Stop> {
        self.sync_all().await
    }

    async fn drop_caches(&self, what: DropCaches) -> Result<(), Stop> {
        self.drop_cached(what).await
    }

    async fn compact(&self, node: Option<NodeId>) -> Result<(), Stop> {
        self.enter().await?;
        match node {
            None => compact_memory(self).await,
            Some(node) if node.index() < self.facts().nodes.len() => {
                compact_node(self, node).await;
            }
            Some(_) => return Err(refused("open", Errno::Enoent)),
        }
        self.spend().await;
        self.alive()
    }

    async fn set_nr_hugepages(&self, file: PoolFile, count: u64) -> Result<u64, Stop> {
        self.write_pools(file, count).await
    }

    async fn kernel_alloc(&self, what: KernelAlloc) -> Result<Option<KernelMemory>, Stop> {
        self.alloc_for_kernel(what).await
    }

    async fn kernel_free(&self, memory: KernelMemory) -> Result<(), Stop> {
        self.free_for_kernel(memory).await
    }

    async fn kernel_free_pages(&self, memory: KernelMemory, pages: Range<u64>) -> Result<(), Stop> {
        self.free_pages_for_kernel(memory, pages).await
    }

    async fn spawn<B, F>(&self, kind: ChildKind, name: &str, body: B) -> Result<Child, Stop>
    where
        B: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        self.start_child(kind, name, body).await
    }

    async fn wait(&self, child: Child) -> Result<Ended, Stop> {
        self.wait_child(child).await
    }

    async fn barrier(&self, name: &str, threads: u64) -> Result<(), Stop> {
        self.wait_at_barrier(name, threads).await
    }

    fn sample(&self, operation: &str, time: Nanos) {
        self.record(operation, Unit::Nanos, time.get() as f64);
    }

    fn rate(&self, operation: &str, per_second: f64) {
        self.record(operation, Unit::PerSecond, per_second);
    }

    fn mean(&self, operation: &str, total: Nanos, of: u64) {
        self.record(operation, Unit::Nanos, total.get() as f64 / of.max(1) as f64);
    }

    fn percent(&self, operation: &str, percent: f64) {
        self.record(operation, Unit::Percent, percent);
    }

    fn count(&self, what: &str, count: f64) {
        self.record(what, Unit::Count, count);
    }

    fn snapshot(&self, name: &str) {
        if let Some(keep) = &mut *self.kernel.snapshots.borrow_mut() {
            self.kernel.look(|engine| keep(name, engine));
        }
    }

    fn phase(&self, name: &str) {
        self.kernel.begin_phase(name);
    }
}

impl Thread {
    fn record(&self, operation: &str, unit: Unit, value: f64) {
        self.kernel.record.borrow_mut().sample(operation, unit, self.now(), value);
    }

    async fn access_all(&self, area: Area, access: Access, pass: Pass) -> Result<(), Stop> {
        let access = match access {
            Access::Read => space::Access::Read,
            Access::Write => space::Access::Write,
        };
        self.access(range(area), access, pass).await
    }

    fn mmap_request(&self, mapping: Mapping) -> MmapRequest {
        let backing = match mapping.of {
            Of::Anon => Backing::AnonPrivate,
            Of::Shared => Backing::AnonShared,
            Of::Hugetlb { shared } => Backing::Hugetlb { shared, reserves: true },
            Of::File(file, offset) | Of::FileShared(file, offset) => {
                Backing::File { file: file_of(file), offset: Pages::from_bytes_floor(offset), shared: true }
            }
            Of::FilePrivate(file, offset) => {
                Backing::File { file: file_of(file), offset: Pages::from_bytes_floor(offset), shared: false }
            }
        };
        let prot = if matches!(mapping.of, Of::File(..)) { space::Prot::READ } else { space::Prot::RW };
        MmapRequest { place: Place::Anywhere, length: mapping.length, prot, backing, locked: false }
    }
}

pub(crate) fn start(area: Area) -> VirtAddr {
    VirtAddr::new(area.start)
}

pub(crate) fn range(area: Area) -> VpnRange {
    VpnRange::of(start(area).vpn(), Pages::from_bytes_ceil(area.length))
}

fn whole_pages(length: Bytes) -> Bytes {
    Pages::from_bytes_ceil(length).bytes()
}
