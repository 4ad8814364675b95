//! Watermarks and lowmem reserves as Linux computes them at boot with transparent huge pages on.
//!
//! Sources: the kernel's documentation of `min_free_kbytes`, `watermark_scale_factor` and `lowmem_reserve_ratio`
//! (admin-guide/sysctl/vm); checked against /proc/zoneinfo of real hosts.

use order9_units::{Pages, ZoneKind};

use super::layout::ZoneLayout;
use crate::Watermarks;

/// `vm.lowmem_reserve_ratio` of DMA, DMA32 and Normal.
pub(super) const RESERVE_RATIOS: [u64; 3] = [256, 256, 32];

/// Zones Linux prints a reserve for: the four kinds, and the one for device memory.
const RESERVE_COLUMNS: usize = ZoneKind::COUNT + 1;

/// Watermarks of all zones.
pub(super) struct Marks {
    /// `vm.min_free_kbytes`.
    pub(super) min_free_kbytes: u64,
    /// Watermarks by zone.
    pub(super) zones: Vec<Watermarks>,
}

/// Computes the watermarks of a machine.
pub(super) fn of(zones: &[ZoneLayout]) -> Marks {
    let managed: u64 = zones.iter().map(managed).sum();
    let min_free_kbytes = min_free_kbytes(managed, zones.len() as u64);
    let marks = |zone: &ZoneLayout| {
        let min = min_free_kbytes / 4 * self::managed(zone) / managed;
        let distance = (min / 4).max(self::managed(zone) * 10 / 10_000);
        let above = |times| Pages::new(min + times * distance);
        Watermarks { min: above(0), low: above(1), high: above(2), promo: Some(above(3)), boost: Some(Pages::ZERO) }
    };
    Marks { min_free_kbytes, zones: zones.iter().map(marks).collect() }
}

/// The larger of the boot formula, which grows with the root of memory, and what transparent huge pages ask for: two
/// pageblocks per zone and migratetype-mixing margins, within 5 % of memory.
fn min_free_kbytes(managed: u64, zones: u64) -> u64 {
    let boot = (16 * managed * 4).isqrt().clamp(128, 262_144);
    let recommended = (512 * zones * (2 + 9)).min(managed / 20);
    boot.max(recommended * 4)
}

/// The `protection` row of a zone: pages kept from requests that could use higher zones.
pub(super) fn protection(zones: &[ZoneLayout], zone: &ZoneLayout) -> Vec<Pages> {
    let above = |column: usize| {
        let higher =
            |other: &&ZoneLayout| other.node == zone.node && other.kind > zone.kind && other.kind.index() <= column;
        zones.iter().filter(higher).map(managed).sum::<u64>()
    };
    let ratio = RESERVE_RATIOS[zone.kind.index()];
    (0..RESERVE_COLUMNS).map(|column| Pages::new(above(column) / ratio)).collect()
}

fn managed(zone: &ZoneLayout) -> u64 {
    zone.managed.len().get()
}

#[cfg(test)]
mod tests {
    use order9_units::Bytes;

    use super::*;
    use crate::synth::layout::Layout;

    /// Managed pages 3,840, 779,264 and 3,358,720; expected values from the formulas by hand.
    #[test]
    fn a_sixteen_gigabyte_machine_has_the_watermarks_of_linux() {
        let mut zones = Layout::of(Bytes::from_gib(16), 1).zones;
        zones[1].managed.end = zones[1].managed.start + Pages::new(779_264);
        zones[2].managed.end = zones[2].managed.start + Pages::new(3_358_720);
        let marks = of(&zones);
        assert_eq!(marks.min_free_kbytes, 67_584);
        let rows: Vec<_> = marks.zones.iter().map(|marks| [marks.min, marks.low, marks.high].map(Pages::get)).collect();
        assert_eq!(rows, [[15, 18, 21], [3178, 3972, 4766], [13_701, 17_126, 20_551]]);
        let reserves: Vec<_> = zones.iter().map(|zone| protection(&zones, zone)).collect();
        let pages = |row: [u64; 5]| row.map(Pages::new).to_vec();
        assert_eq!(reserves[0], pages([0, 3044, 16_164, 16_164, 16_164]));
        assert_eq!(reserves[1], pages([0, 0, 13_120, 13_120, 13_120]));
        assert_eq!(reserves[2], pages([0; 5]));
    }
}
