//! Memory of a program.

use std::os::fd::AsFd as _;

use order9_units::{Bytes, Nanos};
use order9_workloads::{Access, AddressSpace, Advice, Area, Loads, Mapping, Measuring as _, Of, Prot, Stop, streams};

use super::Thread;
use crate::errno::refused;
use crate::raw::{self, Backing, Region};

/// Words of a page among which a random load chooses: one for each cache line.
const LINES: u64 = 64;

impl AddressSpace for Thread {
    async fn mmap(&self, mapping: Mapping) -> Result<Area, Stop> {
        let Mapping { length, of } = mapping;
        let is_hugetlb = matches!(of, Of::Hugetlb { .. });
        let length = if is_hugetlb { huge_pages(length)? } else { length };
        let region = self.process.space.take("mmap", length, is_hugetlb)?;
        let opened = match of {
            Of::File(file, _) | Of::FileShared(file, _) | Of::FilePrivate(file, _) => Some(self.file("open", file)?),
            Of::Anon | Of::Shared | Of::Hugetlb { .. } => None,
        };
        let of_file = |offset: Bytes, shared| {
            let file = opened.as_ref().expect("it was opened above").as_fd();
            Backing::File { file, offset: offset.get(), shared }
        };
        let (backing, write) = match of {
            Of::Anon => (Backing::Anon { shared: false }, true),
            Of::Shared => (Backing::Anon { shared: true }, true),
            Of::Hugetlb { shared } => (Backing::Hugetlb { shared }, true),
            Of::File(_, offset) => (of_file(offset, true), false),
            Of::FileShared(_, offset) => (of_file(offset, true), true),
            Of::FilePrivate(_, offset) => (of_file(offset, false), true),
        };
        raw::map(region, &backing, write).map_err(|error| refused("mmap", error))?;
        Ok(region.area())
    }

    async fn munmap(&self, area: Area) -> Result<(), Stop> {
        raw::unmap(Region::of(area)?).map_err(|error| refused("munmap", error))
    }

    async fn mprotect(&self, area: Area, prot: Prot) -> Result<(), Stop> {
        let prot = match prot {
            Prot::None => libc::PROT_NONE,
            Prot::Read => libc::PROT_READ,
            Prot::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        raw::protect(Region::of(area)?, prot).map_err(|error| refused("mprotect", error))
    }

    async fn mremap(&self, area: Area, length: Bytes) -> Result<Area, Stop> {
        let old = Region::of(area)?;
        if length <= area.length {
            let kept = Region::of(area.part(Bytes::ZERO, length))?.area();
            let rest = old.area().part(kept.length, old.area().length - kept.length);
            if rest.length > Bytes::ZERO {
                raw::unmap(Region::of(rest)?).map_err(|error| refused("mremap", error))?;
            }
            return Ok(kept);
        }
        let new = self.process.space.take("mremap", length, false)?;
        raw::remap(old, new).map_err(|error| refused("mremap", error))?;
        Ok(new.area())
    }

    async fn madvise(&self, area: Area, advice: Advice) -> Result<(), Stop> {
        let advice = match advice {
            Advice::DontNeed => libc::MADV_DONTNEED,
            Advice::Free => libc::MADV_FREE,
            Advice::Remove => libc::MADV_REMOVE,
            Advice::HugePage => libc::MADV_HUGEPAGE,
            Advice::NoHugePage => libc::MADV_NOHUGEPAGE,
            Advice::Collapse => raw::MADV_COLLAPSE,
            // These were proposed and never merged: no kernel has numbers for them.
            Advice::Local | Advice::HugePageForceLocal => {
                return Err(Stop::Refused { call: "madvise", errno: "EINVAL" });
            }
        };
        raw::advise(Region::of(area)?, advice).map_err(|error| refused("madvise", error))
    }

    async fn mlock(&self, area: Area) -> Result<(), Stop> {
        raw::lock(Region::of(area)?, true).map_err(|error| refused("mlock", error))
    }

    async fn munlock(&self, area: Area) -> Result<(), Stop> {
        raw::lock(Region::of(area)?, false).map_err(|error| refused("munlock", error))
    }

    async fn mincore(&self, area: Area) -> Result<u64, Stop> {
        let mut pages = 0;
        raw::resident(Region::of(area)?, |_| pages += 1).map_err(|error| refused("mincore", error))?;
        Ok(pages)
    }

    async fn touch(&self, area: Area, access: Access) -> Result<(), Stop> {
        raw::touch(Region::of(area)?, access == Access::Write);
        Ok(())
    }

    async fn fill(&self, area: Area) -> Result<(), Stop> {
        raw::fill(Region::of(area)?, 0x39);
        Ok(())
    }

    async fn load(&self, area: Area, loads: u64) -> Result<Loads, Stop> {
        let region = Region::of(area)?;
        let mut there = Vec::new();
        raw::resident(region, |page| there.push(page)).map_err(|error| refused("mincore", error))?;
        if there.is_empty() {
            return Ok(Loads::default());
        }
        let start = region.area().start;
        let pages: Vec<Region> = there.iter().map(|page| raw::line(region, page - start)).collect();
        let draw = |number: u64| streams::mix(self.key ^ number);
        // The pages are drawn here and the lines within them below, so that choosing costs little beside loading.
        let lines: Vec<Region> = (0..loads.min(LINES * pages.len() as u64))
            .map(|number| {
                let drawn = draw(number);
                let page = pages[(drawn % pages.len() as u64) as usize].area().start - start;
                raw::line(region, page + (drawn >> 32) % LINES * 64)
            })
            .collect();
        let before = self.now();
        raw::chase(&lines, loads, |number| number as usize % lines.len());
        let time: Nanos = (self.now() - before).saturating_sub(self.process.run.clock_price);
        Ok(Loads { loads, time, tlb_misses: None })
    }

    async fn pin(&self, area: Area) -> Result<(), Stop> {
        let ring = raw::pin(Region::of(area)?).map_err(|error| refused("io_uring_register", error))?;
        self.process.state().pins.insert(area.start, ring);
        Ok(())
    }

    async fn unpin(&self, area: Area) -> Result<(), Stop> {
        let ring = self.process.state().pins.remove(&area.start);
        ring.map(drop).ok_or(Stop::Refused { call: "io_uring_register", errno: "EINVAL" })
    }
}

/// Whole huge pages.
fn huge_pages(length: Bytes) -> Result<Bytes, Stop> {
    let whole = length.get().checked_next_multiple_of(2 << 20);
    whole.map(Bytes::new).ok_or(Stop::Refused { call: "mmap", errno: "ENOMEM" })
}
