//! Memory of programs: the system calls that map it, and accesses to it.

use order9_mm::env::Env as _;
use order9_mm::space::{
    self, Backing, Madvise, MmapRequest, Mremap, MremapRequest, MremapTo, Place, VirtAddr, VpnRange,
};
use order9_mm::tasks::map_from_pools;
use order9_mm::tasks::{fill_tables, madvise_collapse};
use order9_units::{Bytes, Order, PAGE_SIZE, Pages};
use order9_workloads::{Access, AddressSpace, Advice, Area, Loads, Mapping, Of, Prot, Stop};

use crate::access::Pass;
use crate::faults::refused;
use crate::files::file_of;
use crate::thread::Thread;
use crate::time::Class;
use crate::time::Mode;

const HUGE_PAGE: Bytes = Order::PAGEBLOCK.pages().bytes();

impl AddressSpace for Thread {
    async fn mmap(&self, mapping: Mapping) -> Result<Area, Stop> {
        self.enter().await?;
        let _lock = self.mmap_lock(Mode::Exclusive).await;
        let request = self.mmap_request(mapping);
        // A program opens a file to map it, and closes it then: the mapping keeps it.
        let opened = self.open_for_mapping(mapping.of).await?;
        let start = match mapping.of {
            Of::Hugetlb { .. } => map_from_pools(self, self.process.space, &request).await,
            _ => self.kernel.with(|mm| mm.mmap(self.process.space, &request, self.cpu())),
        };
        if let Some(file) = opened {
            self.kernel.with(|mm| mm.pages_mut().fs_close(file)).expect("it was opened above");
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
        let begun = self.kernel.with(|mm| {
            mm.mremap(
                space,
                &MremapRequest { addr: start(area), old_length: area.length, new_length: length, to },
                self.cpu(),
            )
        });
        let moved = match begun.map_err(|errno| refused("mremap", errno))? {
            Mremap::Done(start) => start,
            Mremap::Moving(mut run) => {
                let cpu = self.cpu();
                let done = fill_tables(self, space, |mm| mm.move_step(&mut run, cpu)).await;
                done.map_err(|why| self.stopped("mremap", why))?;
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
            Advice::Collapse => {
                let done = madvise_collapse(self, start(area), area.length).await;
                return done.map_err(|why| self.stopped("madvise", why));
            }
        };
        let changes = !matches!(advice, Madvise::DontNeed | Madvise::Free | Madvise::Remove);
        let (_changing, _reading);
        if changes {
            _changing = self.change_mappings(range(area)).await;
        } else {
            _reading = self.mmap_lock(Mode::Shared).await;
            self.kernel.pay(Class::System, self.kernel.prices.discard).await;
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
        while let Some((missing, access)) = self.kernel.with(|mm| mm.pages().spaces().next_to_populate(space, at, end))
        {
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

    async fn mincore(&self, area: Area) -> Result<u64, Stop> {
        self.resident(range(area)).await
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

    async fn pin(&self, area: Area) -> Result<(), Stop> {
        self.pin_pages(range(area)).await
    }

    async fn unpin(&self, area: Area) -> Result<(), Stop> {
        self.unpin_pages(start(area)).await
    }
}

impl Thread {
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
