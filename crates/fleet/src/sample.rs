//! A stratified sample of a fleet's hosts: each group by its share, and no group left out.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::groups::Groups;
use crate::host::Host;

/// Least hosts of a group, as far as it has so many: fewer have no spread.
const LEAST: usize = 2;

/// Hosts of a sample of about `size`, group by group. Equal fleets and seeds give equal samples, and a larger one holds the smaller:
/// what was tried on that need not be tried again.
#[must_use]
pub fn sample(hosts: &[Host], groups: &Groups, size: usize, seed: u64) -> Vec<Vec<usize>> {
    let members: Vec<Vec<usize>> =
        (0..groups.medoids.len()).map(|group| drawn(hosts, groups.members(group), seed)).collect();
    let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
    let shares = shares(&sizes, size);
    members.into_iter().zip(shares).map(|(members, share)| members.into_iter().take(share).collect()).collect()
}

/// Hosts of a group in an order that the seed alone decides.
fn drawn(hosts: &[Host], members: impl Iterator<Item = usize>, seed: u64) -> Vec<usize> {
    let lot =
        |host: usize| xxh3_64_with_seed(format!("{} {}", hosts[host].file.digest, hosts[host].name).as_bytes(), seed);
    let mut members: Vec<(u64, usize)> = members.map(|host| (lot(host), host)).collect();
    members.sort_unstable();
    members.into_iter().map(|(_, host)| host).collect()
}

/// Parts of a sample that are proportional to `sizes`, rounded up, and at least [`LEAST`] as far as there are so many.
fn shares(sizes: &[usize], sample: usize) -> Vec<usize> {
    let all: usize = sizes.iter().sum::<usize>().max(1);
    sizes.iter().map(|&size| (sample * size).div_ceil(all).max(LEAST).min(size)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::host;

    fn fleet() -> (Vec<Host>, Groups) {
        let hosts: Vec<Host> = (0..100).map(|nth| host(&format!("host-{nth}"))).collect();
        let of = (0..100).map(|nth| Some(usize::from(nth >= 90) + usize::from(nth == 99))).collect();
        (hosts, Groups { of, medoids: vec![0, 90, 99], silhouette: None })
    }

    #[test]
    fn every_group_has_its_share_and_none_is_left_out() {
        let (hosts, groups) = fleet();
        let sizes = |size| sample(&hosts, &groups, size, 1).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(20), [18, 2, 1]);
        assert_eq!(sizes(1), [2, 2, 1]);
        assert_eq!(sizes(1000), [90, 9, 1]);
        assert!(sample(&[], &Groups::default(), 5, 1).is_empty());
    }

    #[test]
    fn the_seed_decides_and_larger_samples_hold_smaller_ones() {
        let (hosts, groups) = fleet();
        let small = sample(&hosts, &groups, 10, 1);
        assert_eq!(small, sample(&hosts, &groups, 10, 1));
        assert_ne!(small, sample(&hosts, &groups, 10, 2));
        let large = sample(&hosts, &groups, 40, 1);
        assert!(small.iter().zip(&large).all(|(small, large)| large.starts_with(small)));
    }
}
