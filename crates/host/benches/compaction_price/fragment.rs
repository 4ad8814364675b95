//! Fragments memory without unsafe code: the kernel hands out neighbouring frames to consecutive faults, so that mappings
//! touched in turn lie interleaved in physical memory, and dropping most of them leaves holes between what stays.

use std::io;

use memmap2::{Advice, MmapMut};
use order9_units::{Bytes, PAGE_SIZE};

/// One page of each mapping in turn.
const MAPPINGS: usize = 4;

/// Takes `bytes` of anonymous memory as base pages and gives back all but every fourth page. The returned mapping holds
/// what stays.
pub(crate) fn keep_every_fourth_page(bytes: Bytes) -> io::Result<MmapMut> {
    let page = PAGE_SIZE.get() as usize;
    let each = (bytes.get() as usize / MAPPINGS).next_multiple_of(page).max(page);
    let mut mappings = Vec::with_capacity(MAPPINGS);
    for _ in 0..MAPPINGS {
        let mapping = MmapMut::map_anon(each)?;
        mapping.advise(Advice::NoHugePage)?;
        mappings.push(mapping);
    }
    for at in (0..each).step_by(page) {
        mappings.iter_mut().for_each(|mapping| mapping[at] = 1);
    }
    Ok(mappings.swap_remove(0))
}
