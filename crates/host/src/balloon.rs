//! Whether the hypervisor of this machine takes free pages back, by which the first touch of them costs more than work of the kernel.
//!
//! [`hypervisor_fault`] measures by how much.
//!
//! Source: the virtio specification, section on the memory balloon device (`VIRTIO_BALLOON_F_REPORTING`).

use std::fs;

use order9_snapshot::Measured;
use order9_units::Bytes;

use crate::huge_fault::{enough_are_free, region, touch};
use crate::memory::available_memory;

/// Place of the feature in the bits that the device and the driver agreed on.
const REPORTING: usize = 5;

/// Whether this is a virtual machine that reports free huge pages to its hypervisor, which takes their memory until they are
/// touched again.
#[must_use]
pub fn hypervisor_takes_free_pages() -> bool {
    let Ok(devices) = fs::read_dir("/sys/bus/virtio/drivers/virtio_balloon") else { return false };
    devices.flatten().any(|device| {
        let features = fs::read_to_string(device.path().join("features"));
        features.is_ok_and(|bits| reports(&bits))
    })
}

/// Most regions of so many that are touched: 1 GiB. What was freed last is handed out first, and has not been reported.
const REGIONS_MAX: usize = 8;
/// Waits that tell the price well, after which no more memory is touched.
const WAITS_ENOUGH: usize = 16;
/// Fewer waits than this tell no price.
const WAITS_MIN: usize = 3;
/// Memory that stays available to others.
const ROOM: Bytes = Bytes::new(1 << 30);
/// Number of times that a fault takes of a usual one when it waits for the hypervisor. Nothing else in a fault that got a huge page
/// from a free list comes near: clearing is most of a usual one.
const WAITED: u64 = 5;

/// Measures what the first touch of a huge page takes beyond a usual fault when the hypervisor has to find its memory first: the time
/// that passes, since a guest does not see what its hypervisor does. `None` where the hypervisor takes nothing, where there are no huge
/// pages for programs that ask, where few are free, or where too few of those touched had been taken.
#[must_use]
pub fn hypervisor_fault() -> Option<Measured> {
    if !hypervisor_takes_free_pages() || !enough_are_free() {
        return None;
    }
    let mut first = touch(&mut region()?);
    // What was freed just now is the first to be handed out again, and no report has had the time to reach it.
    let again = touch(&mut region()?);
    let mut held = Vec::new();
    while waits(&first, &again).is_none_or(|price| (price.rounds as usize) < WAITS_ENOUGH) && held.len() < REGIONS_MAX {
        let has_room = enough_are_free() && available_memory() > ROOM;
        let Some(mut region) = region().filter(|_| has_room) else { break };
        first.extend(touch(&mut region));
        held.push(region);
    }
    waits(&first, &again)
}

/// Price of a wait: of the touches that took so many times the usual, the median, less the usual.
fn waits(first: &[u64], again: &[u64]) -> Option<Measured> {
    let mut again = again.to_vec();
    again.sort_unstable();
    let usual = *again.get(again.len() / 2)?;
    let mut waits: Vec<u64> = first.iter().filter(|&&ns| ns > WAITED * usual).map(|ns| (ns - usual) * 1000).collect();
    waits.sort_unstable();
    (waits.len() >= WAITS_MIN).then(|| Measured {
        ps: waits[waits.len() / 2],
        lowest_ps: waits[0],
        highest_ps: waits[waits.len() - 1],
        rounds: waits.len() as u32,
    })
}

/// Whether a device reports free pages; bits are printed from the lowest on.
fn reports(features: &str) -> bool {
    features.as_bytes().get(REPORTING) == Some(&b'1')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_what_a_touch_takes_beyond_the_usual() {
        let price = waits(&[200, 4_200, 5_200, 180, 9_200], &[200; 5]).expect("three waited");
        assert_eq!((price.ps, price.lowest_ps, price.highest_ps, price.rounds), (5_000_000, 4_000_000, 9_000_000, 3));
        assert_eq!(waits(&[200, 4_200, 5_200, 990], &[200; 4]), None, "two are too few");
        assert_eq!((waits(&[], &[]), waits(&[9_000; 4], &[])), (None, None));
    }

    #[test]
    fn the_feature_is_the_bit_of_the_specification() {
        assert!(reports("0110010100000000\n"));
        assert!(!reports("0110000100000000\n") && !reports("") && !reports("011"));
    }
}
