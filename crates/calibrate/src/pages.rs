//! Faults, unmapping, forks and the clearing of pages.

use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::process::getppid;

use crate::clock::{cpu_of, cpu_per, tick, wall_per};
use crate::direct::Direct;
use crate::sys::{Child, Mapping, PAGE, PageSize, Region, SLOT};
use crate::zone::memory_file;

/// Pages per measurement: 256 MiB, several times what caches hold.
pub(crate) const PAGES: usize = 64 * 1024;

/// Base pages in the huge pages of a measurement: 64 MiB.
const HUGE: usize = 32 * SLOT / PAGE;

/// The least of several measurements counts: the hypervisor may back huge pages only now, which takes many times as long.
const HUGE_TIMES: usize = 4;

/// Slots of 2 MiB in which only single pages are touched.
const SLOTS: usize = 512;

/// Calls of those that do next to nothing, in one batch.
const CALLS: usize = 5_000;

/// Batches of such calls.
const BATCHES: usize = 4;

/// Forks of a process with nothing to copy.
const FORKS: usize = 20;

/// Fills in what one CPU does alone. The CPU's list of free pages has more than [`PAGES`], and has them again afterwards.
pub(crate) fn measure(direct: &mut Direct) -> io::Result<()> {
    calls(direct)?;
    faults(direct)?;
    discards(direct)?;
    clearing(direct)?;
    forks(direct)
}

fn calls(direct: &mut Direct) -> io::Result<()> {
    direct.tick = tick();
    direct.getppid = least(|| {
        for _ in 0..CALLS {
            black_box(getppid());
        }
        Ok(())
    })?;
    let mut page = Region::anonymous(1, PageSize::Base)?;
    direct.msync = least(|| (0..CALLS).try_for_each(|_| page.sync_page()))?;
    direct.mprotect_empty = least(|| (0..CALLS).try_for_each(|_| page.protect_and_restore()))?;
    page.store(0, PAGE);
    direct.mprotect_page = least(|| protect_and_read(&mut page, CALLS))?;
    Ok(())
}

/// Time per call in the quickest batch of [`CALLS`]: milliseconds of work that an interrupt leaves behind would double the time of a short call.
fn least(mut batch: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    (0..BATCHES).try_fold(f64::INFINITY, |least, _| Ok(least.min(cpu_per(CALLS, &mut batch)?)))
}

/// Work of a program whose page loses the right to be written, and gets it back.
pub(crate) fn protect_and_read(page: &mut Region, times: usize) -> io::Result<()> {
    (0..times).try_for_each(|_| {
        page.protect_and_restore()?;
        page.load();
        Ok(())
    })
}

fn faults(direct: &mut Direct) -> io::Result<()> {
    // First, since it leaves the CPU's list with pages that the hypervisor has backed.
    let mut region = Region::anonymous(PAGES, PageSize::Base)?;
    direct.populate = cpu_per(PAGES, || region.populate())?;
    drop(region);

    let mut region = Region::anonymous(PAGES, PageSize::Base)?;
    direct.write_fault = cpu_of(PAGES, || region.store(0, PAGE));
    direct.unmap = cpu_of(PAGES, || drop(region));

    let mut region = Region::anonymous(PAGES, PageSize::Base)?;
    direct.zero_fault = cpu_of(PAGES, || region.load());
    direct.unmap_zero = cpu_of(PAGES, || drop(region));

    (direct.huge_fault, direct.huge_populate) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..HUGE_TIMES {
        let mut region = Region::anonymous(HUGE, PageSize::Huge)?;
        direct.huge_fault = direct.huge_fault.min(cpu_of(HUGE, || region.store(0, SLOT)));
        drop(region);
        let mut region = Region::anonymous(HUGE, PageSize::Huge)?;
        direct.huge_populate = direct.huge_populate.min(cpu_per(HUGE, || region.populate())?);
    }

    let mut region = Region::anonymous(SLOTS * SLOT / PAGE, PageSize::Base)?;
    direct.first_in_slot = cpu_of(SLOTS, || region.store(0, SLOT));
    direct.second_in_slot = cpu_of(SLOTS, || region.store(PAGE, SLOT));
    Ok(())
}

/// Calls that take single pages away, and calls that find none.
fn discards(direct: &mut Direct) -> io::Result<()> {
    let mut region = Region::anonymous(PAGES, PageSize::Base)?;
    region.store(0, PAGE);
    direct.discard_one = cpu_per(PAGES / 2, || region.punch_every_second_page())?;
    direct.discard_none = cpu_per(PAGES / 2, || region.punch_every_second_page())?;
    region.store(0, PAGE);
    direct.discard_two = cpu_per(PAGES / 4, || region.punch_every_second_pair())?;
    let mut region = Region::anonymous(HUGE, PageSize::Huge)?;
    region.store(0, PAGE);
    direct.discard_first_part = cpu_per(HUGE * PAGE / SLOT, || region.give_back_of_slots(PAGE))?;
    direct.discard_part = cpu_per(HUGE / 2, || region.punch_every_second_page())?;
    Ok(())
}

/// File pages that fallocate left uncleared are cleared when they are first mapped, and only then.
fn clearing(direct: &mut Direct) -> io::Result<()> {
    let file = memory_file()?;
    fallocate(&file, FallocateFlags::empty(), 0, (PAGES * PAGE) as u64)?;
    for per_page in [&mut direct.map_uncleared, &mut direct.map_cleared] {
        let mut mapping = Mapping::of_file(file.as_fd(), PAGES)?;
        *per_page = cpu_per(PAGES, || mapping.populate())?;
    }
    Ok(())
}

fn forks(direct: &mut Direct) -> io::Result<()> {
    direct.fork_empty = wall_per(FORKS, || (0..FORKS).try_for_each(|_| Child::fork().map(drop)))?;
    let mut child = None;
    direct.fork_base = time_of_fork(&mut child)?;
    drop(child);

    let mut region = Region::anonymous(PAGES, PageSize::Base)?;
    region.store(0, PAGE);
    direct.mprotect_run = cpu_per(2 * PAGES, || region.protect_and_restore())?;
    let mut child = None;
    direct.fork_page = (time_of_fork(&mut child)? - direct.fork_base) / PAGES as f64;
    direct.cow_fault = cpu_of(PAGES, || region.store(0, PAGE));
    drop(child);
    Ok(())
}

/// Time until fork() returns here; `child` lives on.
fn time_of_fork(child: &mut Option<Child>) -> io::Result<f64> {
    cpu_per(1, || {
        *child = Some(Child::fork()?);
        Ok(())
    })
}
