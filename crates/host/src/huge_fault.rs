//! First touches of huge pages, and what they cost where their memory is there.

use std::fs;
use std::time::Instant;

use memmap2::{Advice, MmapMut};
use order9_snapshot::Measured;

use crate::smaps;

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;
/// Huge pages that are touched at once: 128 MiB.
const TOUCHED: usize = 64;

/// Measures the first touch of a huge page: of 64 that were freed just now, so that neither a search for memory nor a hypervisor is part of
/// it, by the time that passed. `None` where a program that asks for them does not get all.
pub(crate) fn huge_fault() -> Option<Measured> {
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
    fn a_region_has_as_many_touches_as_whole_huge_pages() {
        let mut region = region().expect("memory is there");
        let times = touch(&mut region);
        assert!(times.len() >= TOUCHED && times.iter().all(|&ns| ns > 0), "{times:?}");
    }
}
