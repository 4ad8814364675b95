//! Callers in the kernel: which code allocated the kernel's own frames, as /sys/kernel/debug/page_owner tells.
//!
//! A read at position N gives the record of the first allocated block from frame N on. A record costs the kernel some ten microseconds, so
//! that pageblocks with the fewest frames of the kernel come first: there a few pages hold a whole huge page.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use order9_snapshot::flags::kpf;
use order9_snapshot::owners::Caller;
use order9_snapshot::{FrameMap, FrameState};
use order9_units::{PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};

use crate::page_owner::Record;

/// The file of the running kernel.
pub(super) const FILE: &str = "/sys/kernel/debug/page_owner";

/// More bytes than a record has: 16 to 64 functions of a stack.
const RECORD_MAX: usize = 1 << 13;

/// Flags that the kernel's own frames never have: those of programs, page cache, free blocks and memory that nobody allocated.
const NOT_KERNEL: u64 = kpf::LRU
    | kpf::ANON
    | kpf::SWAPBACKED
    | kpf::UNEVICTABLE
    | kpf::BUDDY
    | kpf::HUGE
    | kpf::HWPOISON
    | kpf::NOPAGE
    | kpf::OFFLINE
    | kpf::RESERVED
    | kpf::ZERO_PAGE;

/// Whoever allocated frames, by name.
pub(super) struct Callers {
    pub(super) names: Vec<Caller>,
    places: BTreeMap<Caller, usize>,
    most: usize,
}

impl Callers {
    /// Nobody yet; the names of at most so many are kept.
    pub(super) const fn new(most: usize) -> Self {
        Self { names: Vec::new(), places: BTreeMap::new(), most }
    }

    fn place(&mut self, caller: Caller) -> Option<usize> {
        if let Some(&place) = self.places.get(&caller) {
            return Some(place);
        }
        let place = self.names.len();
        (place < self.most).then(|| {
            self.names.push(caller.clone());
            self.places.insert(caller, place);
            place
        })
    }
}

/// The file, opened; `None` where the kernel keeps no records.
pub(super) fn open() -> Option<File> {
    File::open(FILE).ok()
}

/// Reads who allocated the kernel's frames of a map, and calls `found` with each block and the place of its caller, until `is_over`.
/// `read` fills bytes from a position, as [`FileExt::read_at`] does. Returns whether all frames were looked at.
pub(super) fn for_each(
    frames: &FrameMap,
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    is_over: impl Fn() -> bool,
    callers: &mut Callers,
    mut found: impl FnMut(PfnRange, usize),
) -> io::Result<bool> {
    let mut bytes = vec![0; RECORD_MAX];
    for block in blocks(frames) {
        if is_over() {
            return Ok(false);
        }
        let mut at = block.start;
        while let Some(next) =
            PfnRange::new(at.min(block.end), block.end).iter().find(|&pfn| is_kernel(frames.get(pfn)))
        {
            let length = read(&mut bytes, next.get())?;
            // No block from here on.
            let Some(record) = Record::parse(&String::from_utf8_lossy(&bytes[..length])) else { break };
            // A frame without a record is free, on a per-CPU list, or older than the records.
            let is_of = record.range.contains(next);
            if let Some(place) = record.caller.filter(|_| is_of).and_then(|caller| callers.place(caller)) {
                found(record.range.intersect(block), place);
            }
            at = if is_of { record.range.end } else { record.range.start.max(next + Pages::new(1)) };
        }
    }
    Ok(true)
}

/// Reads a file of the kernel at a frame's number.
pub(super) fn reader(file: &File) -> impl FnMut(&mut [u8], u64) -> io::Result<usize> {
    |bytes, at| file.read_at(bytes, at)
}

fn is_kernel(state: Option<FrameState>) -> bool {
    state.is_some_and(|state| state.flags & NOT_KERNEL == 0)
}

/// Pageblocks in which the kernel has frames, those with the fewest first.
fn blocks(frames: &FrameMap) -> Vec<PfnRange> {
    let starts = (0..frames.len().get()).step_by(PAGEBLOCK_PAGES.get() as usize);
    let mut counted: Vec<(usize, PfnRange)> = starts
        .map(|start| PfnRange::of(Pfn::new(start), PAGEBLOCK_PAGES))
        .map(|block| (block.iter().filter(|&pfn| is_kernel(frames.get(pfn))).count(), block))
        .filter(|&(count, _)| count > 0)
        .collect();
    counted.sort_by_key(|&(count, block)| (count, block.start));
    counted.into_iter().map(|(_, block)| block).collect()
}

#[cfg(test)]
mod tests {
    use order9_snapshot::FrameMapBuilder;

    use super::*;

    #[test]
    fn pageblocks_with_few_kernel_frames_come_first_and_each_block_is_read_once() {
        let mut map = FrameMapBuilder::new();
        // Slab in all of the first pageblock; in the second a free page on a per-CPU list, and an allocation of two frames.
        for at in 0..1024 {
            let flags = match at {
                0..512 => kpf::SLAB,
                550 | 600 | 601 => 0,
                _ => kpf::LRU,
            };
            map.push(FrameState { flags, count: 0 });
        }
        let map = map.finish();
        let mut asked = Vec::new();
        let mut callers = Callers::new(9);
        let mut blocks = Vec::new();
        let read = |bytes: &mut [u8], at: u64| {
            asked.push(at);
            // The page of a program comes after the free one.
            let (order, first) = if at == 550 { (0, 551) } else { (if at < 512 { 3 } else { 1 }, at) };
            let stack = format!(" new_slab+0x1/0x2\n f{order}+0x1/0x2\n");
            let text = format!("Page allocated via order {order}, mask 0x0\nPFN {first:#x} type\n{stack}");
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            Ok(text.len())
        };
        let all = for_each(&map, read, || false, &mut callers, |range, place| blocks.push((range, place)));
        assert!(all.expect("no error"));
        assert_eq!((&asked[..3], asked.len()), ([550, 600, 0].as_slice(), 2 + 64));
        assert_eq!(blocks[0], (PfnRange::of(Pfn::new(600), Pages::new(2)), 0));
        assert_eq!(callers.names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["f1", "f3"]);
        let none = for_each(&map, |_, _| unreachable!("it is over"), || true, &mut callers, |_, _| ());
        assert!(!none.expect("no error"));
    }
}
