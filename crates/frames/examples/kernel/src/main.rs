//! A kernel whose first act is to manage its memory: a memory map in, the first frame out, no heap.
//!
//! ```text
//! cargo build --release
//! qemu-system-x86_64 -kernel target/x86_64-unknown-none/release/order9-frames-kernel -m 256M \
//!     -display none -serial stdio -device isa-debug-exit,iobase=0xf4
//! ```
//!
//! It prints the memory found and the outcome of a check of itself over the serial port, and ends QEMU with status 33 if all is well.

#![no_std]
#![no_main]

mod boot;
mod serial;
mod tables;

use core::fmt::Write;
use core::panic::PanicInfo;

use boot::StartInfo;
use order9_frames::policy::FramesPolicy;
use order9_frames::storage::Lent;
use order9_frames::{Frames, FramesBuilder, Gfp, Layout, Request, Sizes, ZoneSpec};
use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
use serial::{Serial, exit};
use tables::Carver;

/// End of the memory that `boot` maps, in bytes.
const MAPPED: u64 = 4 << 30;
/// Ranges that this kernel tells apart.
const RANGES: usize = 32;
const CPU: usize = 0;

type Memory = Frames<(), Lent<'static>>;

unsafe extern "C" {
    static __end: u8;
}

/// Entry of the kernel, which the code of `boot` calls; `info` is the loader's start info.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(info: &'static StartInfo) -> ! {
    let mut memory = set_up(info);
    let found = check(&mut memory);
    match found {
        Ok((pages, huge)) => {
            let free = memory.zones()[0].free() + memory.pcp_pages(memory.zones()[0].id());
            let _ = writeln!(Serial, "{pages} pages and {huge} huge pages taken and given back, {free} free: all is well");
            exit(16)
        }
        Err(wrong) => {
            let _ = writeln!(Serial, "wrong: {wrong}");
            exit(1)
        }
    }
}

/// The allocator over all memory that the loader's map has, with its tables behind the kernel.
fn set_up(info: &'static StartInfo) -> Memory {
    // SAFETY: the loader has passed it, and `boot` has mapped the first 4 GiB.
    let map = unsafe { info.memory_map() };
    let mut usable = [PfnRange::default(); RANGES];
    let mut count = 0;
    for entry in map.iter().filter(|entry| entry.kind == 1 && entry.start < MAPPED) {
        // Whole pages, and not the first MiB, which belongs to the firmware.
        let start = entry.start.max(1 << 20).next_multiple_of(4096) / 4096;
        let end = (entry.start + entry.size).min(MAPPED) / 4096;
        if start < end {
            usable[count] = PfnRange::new(Pfn::new(start), Pfn::new(end));
            count += 1;
        }
    }
    let usable = &mut usable[..count];
    usable.sort_unstable();
    let span = PfnRange::new(usable[0].start, usable[count - 1].end);
    let mut holes = [PfnRange::default(); RANGES];
    for (hole, pair) in holes.iter_mut().zip(usable.windows(2)) {
        *hole = PfnRange::new(pair[0].end, pair[1].start);
    }
    let zone = ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span };
    let mut layout =
        Layout { distances: &[10], zones: &[zone], holes: &holes[..count - 1], cpus: &[NodeId(0)], ..Layout::default() };
    let policy = FramesPolicy::default();
    let sizes = Sizes::new(&layout, &policy, 0).expect("the loader's map makes sense");

    let end_of_kernel = &raw const __end as usize;
    let own = usable.iter().find(|range| range.start.get() * 4096 <= end_of_kernel as u64).expect("the kernel is in memory");
    // SAFETY: nothing lies behind the kernel in the range that it is in, and the range is mapped.
    let mut carver = unsafe { Carver::new(end_of_kernel, (own.end.get() * 4096) as usize) };
    let tables = carver.tables(&sizes);
    let reserved = [PfnRange::new(own.start, Pfn::new(carver.at().div_ceil(4096) as u64))];
    layout.reserved = &reserved;
    let memory = FramesBuilder::in_storage(&layout, policy, (), &sizes, tables).expect("tables are as long as they must be");
    let memory = memory.boot();
    let managed = memory.zones()[0].managed();
    let bytes = memory.bytes() as u64;
    let _ = writeln!(Serial, "{} MiB in {count} ranges, {managed} pages managed, {} KiB of tables", managed >> 8, bytes >> 10);
    memory
}

/// Takes pages of all sizes, writes to them, gives them back, and counts.
fn check(memory: &mut Memory) -> Result<(usize, u64), &'static str> {
    let before = free(memory);
    let page = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
    // A list of pages in the pages themselves: there is no other place for it.
    let (mut first, mut pages) = (None, 0);
    while pages < 4096 {
        let Ok(pfn) = memory.alloc(&page) else { break };
        write(pfn, first);
        first = Some(pfn);
        pages += 1;
    }
    let mut given_back = 0;
    while let Some(pfn) = first {
        first = read(pfn);
        memory.free(pfn, CPU).map_err(|_| "a page that was taken cannot be given back")?;
        given_back += 1;
    }
    if given_back != pages {
        return Err("a page was given out twice");
    }
    let huge_page = Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE_LIGHT);
    let (mut first, mut huge) = (None, 0);
    while let Ok(pfn) = memory.alloc(&huge_page) {
        if !pfn.is_aligned(Order::PAGEBLOCK) {
            return Err("a huge page is not aligned");
        }
        write(pfn, first);
        first = Some(pfn);
        huge += 1;
    }
    while let Some(pfn) = first {
        first = read(pfn);
        memory.free(pfn, CPU).map_err(|_| "a huge page that was taken cannot be given back")?;
    }
    memory.drain_all();
    if free(memory) != before { Err("pages were lost") } else { Ok((pages, huge)) }
}

/// Free pages, those on per-CPU lists included.
fn free(memory: &Memory) -> Pages {
    memory.zones().iter().map(|zone| Pages::new(zone.free() + memory.pcp_pages(zone.id()))).sum()
}

/// Notes in a page which one was taken before it.
fn write(pfn: Pfn, before: Option<Pfn>) {
    let at = (pfn.get() * 4096) as *mut u64;
    // SAFETY: the allocator has just given the page out, so it is memory, mapped, and nobody else's.
    unsafe { at.write(before.map_or(u64::MAX, Pfn::get)) }
}

/// Reads the note that `write` left in a page: the page taken before it.
fn read(pfn: Pfn) -> Option<Pfn> {
    let at = (pfn.get() * 4096) as *const u64;
    // SAFETY: the page is still this kernel's, and holds what `write` put there.
    let before = unsafe { at.read() };
    (before != u64::MAX).then(|| Pfn::new(before))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Serial, "{info}");
    exit(2)
}
