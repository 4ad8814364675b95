//! Random programs around huge pages: everything that makes, moves, splits or takes them, in a short time.

use order9_machine::Thread;
use order9_units::{Bytes, Nanos, NodeId, Order, PAGE_SIZE};
use order9_workloads::{
    Access, AddressSpace, Administration, Advice, Area, ChildKind, DropCaches, FileId, Files, KernelAlloc,
    KernelAllocator, KernelSize, Mapping, Mount, Nodes, Of, PoolFile, Processes, Prot, Stop, Tmpfs,
};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

use crate::mib;

/// Calls that a process makes.
const CALLS: u64 = 120;
const HUGE: u64 = 2 << 20;

pub(super) struct Program {
    sys: Thread,
    rng: Pcg64Mcg,
    areas: Vec<Area>,
    files: Vec<FileId>,
    mount: Option<Mount>,
    is_child: bool,
}

impl Program {
    pub(super) fn new(sys: Thread) -> Self {
        Self::with(sys, Vec::new(), false)
    }

    fn with(sys: Thread, areas: Vec<Area>, is_child: bool) -> Self {
        let rng = Pcg64Mcg::new(u128::from(sys.seed("huge pages")) | 1);
        Self { sys, rng, areas, files: Vec::new(), mount: None, is_child }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound
    }

    /// A piece of a mapping: whole huge pages, or any pages.
    fn piece(&mut self) -> Option<Area> {
        let at = self.below(self.areas.len().max(1) as u64) as usize;
        let area = *self.areas.get(at)?;
        let unit = if self.below(2) == 0 { HUGE } else { PAGE_SIZE.get() };
        let units = (area.length.get() / unit).max(1);
        let first = self.below(units);
        let length = ((1 + self.below(units - first)) * unit).min(area.length.get() - first * unit);
        Some(area.part(Bytes::new(first * unit), Bytes::new(length)))
    }

    async fn map(&mut self) -> Result<(), Stop> {
        let length = mib(2 * (1 + self.below(3)));
        let of = match (self.below(6), self.files.last()) {
            (0, _) => Of::Shared,
            (1, Some(&file)) => Of::FileShared(file, Bytes::ZERO),
            (2, Some(&file)) => Of::FilePrivate(file, Bytes::ZERO),
            _ => Of::Anon,
        };
        let area = self.sys.mmap(Mapping { length, of }).await?;
        self.areas.push(area);
        Ok(())
    }

    async fn file(&mut self) -> Result<(), Stop> {
        const HUGE: [&str; 4] = ["huge=always", "huge=within_size", "huge=advise", "huge=always,size=5M"];
        let options = HUGE[self.below(4) as usize];
        let again = self.below(2) == 0;
        let mount = match self.mount.take() {
            Some(mount) if again => mount,
            _ => self.sys.mount_tmpfs(options).await?,
        };
        let file = self.sys.create_on(mount).await?;
        self.mount = Some(mount);
        let length = Bytes::new(mib(1).get() * (1 + self.below(6)) + self.below(3) * PAGE_SIZE.get());
        self.sys.truncate(file, length).await?;
        self.files.push(file);
        self.sys.write(file, Bytes::ZERO, Bytes::new(length.get() / 2)).await
    }

    async fn change_file(&mut self) -> Result<(), Stop> {
        let Some(&file) = self.files.last() else { return Ok(()) };
        let offset = Bytes::new(self.below(1024) * PAGE_SIZE.get());
        let length = Bytes::new((1 + self.below(700)) * PAGE_SIZE.get());
        match self.below(4) {
            0 => self.sys.punch_hole(file, offset, length).await,
            1 => self.sys.truncate(file, length).await,
            2 => self.sys.write(file, offset, length).await,
            _ => self.sys.read(file, offset, length).await.map(|_| ()),
        }
    }

    async fn fork(&mut self) -> Result<(), Stop> {
        if self.is_child {
            return Ok(());
        }
        let areas = self.areas.clone();
        let child = self.sys.spawn(ChildKind::Fork, "child", move |sys| Self::with(sys, areas, true).run()).await?;
        if self.below(2) == 0 {
            let _ = self.sys.wait(child).await?.result;
        }
        Ok(())
    }

    /// A burst of the kernel, which may not wait.
    async fn kernel(&mut self) -> Result<(), Stop> {
        let mut held = Vec::new();
        for _ in 0..self.below(200) {
            let order = Order::new(self.below(4) as u8).expect("it is small");
            let mut what = KernelAlloc::new(KernelSize::Block(order));
            (what.atomic, what.reclaimable) = (self.below(2) == 0, self.below(3) == 0);
            held.extend(self.sys.kernel_alloc(what).await?);
        }
        for memory in held {
            self.sys.kernel_free(memory).await?;
        }
        Ok(())
    }

    async fn administer(&mut self) -> Result<(), Stop> {
        match self.below(5) {
            0 => self.sys.compact(None).await,
            1 => self.sys.drop_caches(DropCaches::All).await,
            2 => {
                let count = self.below(8);
                self.sys.set_nr_hugepages(PoolFile::NrHugepages, count).await.map(|_| ())
            }
            _ => self.kernel().await,
        }
    }

    async fn call(&mut self) -> Result<(), Stop> {
        const ADVICE: [Advice; 8] = [
            Advice::HugePage,
            Advice::NoHugePage,
            Advice::DontNeed,
            Advice::Free,
            Advice::Collapse,
            Advice::Collapse,
            Advice::HugePageForceLocal,
            Advice::Remove,
        ];
        let sys = self.sys.clone();
        let choice = self.below(26);
        match choice {
            0 | 1 => return self.map().await,
            2 => return self.file().await,
            3 | 4 => return self.change_file().await,
            5 => return self.fork().await,
            6 => return self.administer().await,
            7 => return sys.compute(Nanos::new(20_000_000)).await,
            _ => {}
        }
        let Some(piece) = self.piece() else { return self.map().await };
        match choice {
            8..=11 => sys.madvise(piece, ADVICE[self.below(8) as usize]).await,
            12 => sys.munmap(piece).await,
            13 => sys.mprotect(piece, [Prot::Read, Prot::ReadWrite][self.below(2) as usize]).await,
            14 => {
                let moved = sys.mremap(piece, piece.length).await?;
                self.areas.push(moved);
                Ok(())
            }
            15 => sys.mlock(piece).await,
            16 => sys.munlock(piece).await,
            17 => {
                sys.pin(piece).await?;
                let _ = self.fork().await;
                sys.unpin(piece).await
            }
            18 => sys.move_pages(piece, NodeId(self.below(2) as u16)).await.map(|_| ()),
            19 => sys.set_affinity(&[self.below(4) as u32]).await,
            20 | 21 => sys.touch(piece, Access::Read).await,
            _ => sys.touch(piece, Access::Write).await,
        }
    }

    pub(super) async fn run(mut self) -> Result<(), Stop> {
        for _ in 0..CALLS {
            match self.call().await {
                // Refusals and signals are to be expected; a handler would return from those.
                Ok(()) | Err(Stop::Refused { .. } | Stop::Signal { .. }) => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }
}
