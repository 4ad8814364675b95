//! First touches of huge pages, and what they cost where their memory is there.

use std::fs;
use std::time::Instant;

use memmap2::{Advice, MmapMut};
use order9_snapshot::Measured;
use order9_units::{Order, ZoneKind};

use crate::parse::buddyinfo;
use crate::smaps;

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;
/// Huge pages that are touched at once: 128 MiB.
const TOUCHED: usize = 64;

/// Free huge pages without which none is touched: the kernel would compact memory for the measurement, which moves pages of others, empties
/// per-CPU lists, and takes time that is no price of a fault.
const FREE_MIN: u64 = 2 * TOUCHED as u64;

/// Measures the first touch of a huge page: of 64 that were freed just now, so that neither a search for memory nor a hypervisor is part of
/// it, by the time that passed. `None` where a program that asks for them does not get all, or few are free.
pub(crate) fn huge_fault() -> Option<Measured> {
    if !enough_are_free() {
        return None;
    }
    drop(touch(&mut region()?));
    let mut region = region()?;
    let mut times = touch(&mut region);
    let last = times.len().checked_sub(1)?;
    let is_huge = huge_in(&region) >= HUGE * times.len();
    times.sort_unstable();
    is_huge.then(|| Measured {
        ps: times[times.len() / 2] * 1000,
        lowest_ps: times[0] * 1000,
        highest_ps: times[last] * 1000,
        rounds: times.len() as u32,
    })
}

/// Whether programs can take a region of huge pages without any effort of the kernel.
pub(crate) fn enough_are_free() -> bool {
    let zones = fs::read_to_string("/proc/buddyinfo").ok().and_then(|text| buddyinfo::parse(&text).ok());
    zones.is_some_and(|zones| free_huge(&zones) >= FREE_MIN)
}

/// Free huge pages in zones that programs get them from.
fn free_huge(zones: &buddyinfo::FreeBlocks) -> u64 {
    let of_programs = zones.iter().filter(|((_, kind), _)| *kind != ZoneKind::Dma);
    let huge = |blocks: &[u64; Order::COUNT]| -> u64 {
        let from = usize::from(Order::PAGEBLOCK.get());
        (0..).zip(&blocks[from..]).map(|(order, blocks)| blocks << order).sum()
    };
    of_programs.map(|(_, blocks)| huge(blocks)).sum()
}

/// Bytes of a region in huge pages. The kernel would tell of a region beside it along with it, if that were advised alike; there is none.
fn huge_in(region: &[u8]) -> usize {
    let text = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let place = region.as_ptr().addr() as u64;
    let ranges = smaps::parse(&text);
    let range = ranges.iter().find(|range| (range.start..range.end).contains(&place));
    range.map_or(0, |range| range.anon_huge.get() as usize)
}

/// Memory for huge pages that nobody has touched.
pub(crate) fn region() -> Option<MmapMut> {
    let region = MmapMut::map_anon((TOUCHED + 1) * HUGE).ok()?;
    region.advise(Advice::HugePage).ok()?;
    Some(region)
}

/// Time of the first touch of each huge page of a region, in ns.
pub(crate) fn touch(region: &mut [u8]) -> Vec<u64> {
    let skip = region.as_ptr().align_offset(HUGE);
    let touches = region[skip..].chunks_exact_mut(HUGE).map(|page| {
        let began = Instant::now();
        page[0] = 1;
        began.elapsed().as_nanos() as u64
    });
    touches.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_order_from_9_on_are_huge_pages() {
        let zones = "Node 0, zone DMA 0 0 0 0 0 0 0 0 0 1 3\nNode 0, zone Normal 9 0 0 0 0 0 0 0 7 3 5\n";
        assert_eq!(free_huge(&buddyinfo::parse(zones).expect("it is sound")), 13);
    }

    #[test]
    fn a_region_has_as_many_touches_as_whole_huge_pages() {
        let mut region = region().expect("memory is there");
        let times = touch(&mut region);
        assert!(times.len() >= TOUCHED && times.iter().all(|&ns| ns > 0), "{times:?}");
    }
}
