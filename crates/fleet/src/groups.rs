//! Groups of hosts that look alike: agglomerative clustering of a handful of standardised facts, by Ward's criterion.
//!
//! The number of groups is the one with the best mean silhouette (Rousseeuw 1987). Every host then belongs to the group whose
//! medoid is nearest. Method, thresholds and limits: docs/fleet.md.

use kodama::{Dendrogram, Method, linkage};

use crate::features::{FEATURES, Reader};
use crate::host::Host;

/// Hosts that are clustered; in a larger fleet those with the least digests, which say nothing of a host. Distances between more
/// would take more memory than anything else here.
const SAMPLE: usize = 1500;
/// Most clusters that a cut makes.
const CUTS: usize = 24;
/// Most groups.
const GROUPS: usize = 8;
/// Least hosts of a group, as a share of the sample, and in number.
const LEAST: (f64, usize) = (0.01, 3);
/// Mean silhouette up to which Kaufman and Rousseeuw (1990) find no substantial structure: all hosts are one group then.
const STRUCTURE: f64 = 0.25;

/// Groups of a fleet, the largest first.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Group of each host; none for one without a map.
    pub of: Vec<Option<usize>>,
    /// Host in the middle of each group: the one with the least sum of distances to its others.
    pub medoids: Vec<usize>,
    /// Mean silhouette of the groups, -1 to 1; nothing where all hosts are one group.
    pub silhouette: Option<f64>,
}

/// A host as a point: its features, standardised.
type Point = [f64; FEATURES.len()];

impl Groups {
    /// Finds the groups of `hosts`.
    #[must_use]
    pub fn of(hosts: &[Host]) -> Self {
        let points = points(hosts);
        let mut sample: Vec<usize> = (0..hosts.len()).filter(|&at| points[at].is_some()).collect();
        sample.sort_by(|&a, &b| hosts[a].file.digest.cmp(&hosts[b].file.digest).then(a.cmp(&b)));
        sample.truncate(SAMPLE);
        if sample.is_empty() {
            return Self { of: vec![None; hosts.len()], ..Self::default() };
        }
        let sampled: Vec<Point> = sample.iter().filter_map(|&at| points[at]).collect();
        let distances = Distances::of(&sampled);
        let (clusters, silhouette) = best_cut(&distances);
        let medoids: Vec<usize> = clusters.iter().map(|members| distances.medoid(members)).collect();
        let nearest = |point: &Point| nearest(point, medoids.iter().map(|&medoid| &sampled[medoid]));
        let of: Vec<Option<usize>> = points.iter().map(|point| point.as_ref().map(nearest)).collect();
        Self { of, medoids: medoids.into_iter().map(|medoid| sample[medoid]).collect(), silhouette }.by_size()
    }

    /// Hosts of a group, in their order.
    pub fn members(&self, group: usize) -> impl Iterator<Item = usize> {
        self.of.iter().enumerate().filter(move |(_, of)| **of == Some(group)).map(|(host, _)| host)
    }

    /// Numbers the groups by the number of their hosts.
    fn by_size(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.medoids.len()).collect();
        order.sort_by_key(|&group| (std::cmp::Reverse(self.members(group).count()), self.medoids[group]));
        let place = |group: usize| order.iter().position(|&old| old == group);
        self.of = self.of.into_iter().map(|group| place(group?)).collect();
        self.medoids = order.iter().map(|&group| self.medoids[group]).collect();
        self
    }
}

/// Features of all hosts, each less its mean and by its standard deviation. A feature that all hosts share counts for nothing.
fn points(hosts: &[Host]) -> Vec<Option<Point>> {
    let readers = Reader::all();
    let raw: Vec<Option<Vec<f64>>> =
        hosts.iter().map(|host| readers.iter().map(|reader| reader.of(host)).collect()).collect();
    let known: Vec<&Vec<f64>> = raw.iter().flatten().collect();
    let count = known.len().max(1) as f64;
    let scales: Vec<(f64, f64)> = (0..readers.len())
        .map(|at| {
            let mean = known.iter().map(|values| values[at]).sum::<f64>() / count;
            let variance = known.iter().map(|values| (values[at] - mean).powi(2)).sum::<f64>() / count;
            (mean, variance.sqrt())
        })
        .collect();
    let standard = |values: &Vec<f64>| {
        let mut point = [0.0; FEATURES.len()];
        for ((to, value), &(mean, deviation)) in point.iter_mut().zip(values).zip(&scales) {
            // Rounding leaves a deviation where there is none.
            *to = if deviation > 1e-9 { (value - mean) / deviation } else { 0.0 };
        }
        point
    };
    raw.iter().map(|values| values.as_ref().map(standard)).collect()
}

fn distance(one: &Point, other: &Point) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Number of the nearest medoid; of equals, the first.
fn nearest<'a>(point: &Point, medoids: impl Iterator<Item = &'a Point>) -> usize {
    let by_distance = medoids.enumerate().map(|(group, medoid)| (distance(point, medoid), group));
    by_distance.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, group)| group)
}

/// Distances between all pairs of points.
struct Distances {
    points: usize,
    /// The upper triangle, row by row.
    pairs: Vec<f64>,
}

impl Distances {
    fn of(points: &[Point]) -> Self {
        let pairs =
            points.iter().enumerate().flat_map(|(at, one)| points[at + 1..].iter().map(|other| distance(one, other)));
        Self { points: points.len(), pairs: pairs.collect() }
    }

    fn between(&self, a: usize, b: usize) -> f64 {
        let (low, high) = (a.min(b), a.max(b));
        if low == high { 0.0 } else { self.pairs[low * (2 * self.points - low - 1) / 2 + high - low - 1] }
    }

    fn sum(&self, from: usize, to: &[usize]) -> f64 {
        to.iter().map(|&other| self.between(from, other)).sum()
    }

    fn medoid(&self, members: &[usize]) -> usize {
        let by_sum = members.iter().map(|&member| (self.sum(member, members), member));
        by_sum.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a group has members").1
    }

    /// Mean silhouette of the members of several clusters.
    fn silhouette(&self, clusters: &[Vec<usize>]) -> f64 {
        let mut values = Vec::new();
        for (own, members) in clusters.iter().enumerate() {
            for &member in members {
                let mean = |to: &Vec<usize>, others: usize| self.sum(member, to) / others.max(1) as f64;
                let within = mean(members, members.len() - 1);
                let others = clusters.iter().enumerate().filter(|(other, _)| *other != own);
                let next = others.map(|(_, to)| mean(to, to.len())).fold(f64::INFINITY, f64::min);
                let larger = within.max(next);
                values.push(if larger > 0.0 { (next - within) / larger } else { 0.0 });
            }
        }
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }
}

/// The clusters with the best silhouette. Clusters with too few hosts are none: they are cut off, and count for nothing.
fn best_cut(distances: &Distances) -> (Vec<Vec<usize>>, Option<f64>) {
    let all: Vec<usize> = (0..distances.points).collect();
    let least = ((LEAST.0 * all.len() as f64).ceil() as usize).max(LEAST.1);
    let mut pairs = distances.pairs.clone();
    let tree = linkage(&mut pairs, distances.points, Method::Ward);
    let mut best = (vec![all], None);
    let mut before = 0;
    for cut in 2..=CUTS.min(distances.points) {
        let mut clusters = clusters(&tree, cut);
        clusters.retain(|members| members.len() >= least);
        // A cut that took off a few hosts alone, or split nothing that counts, is judged by the next one.
        if !(2..=GROUPS).contains(&clusters.len()) || clusters.len() == before {
            continue;
        }
        before = clusters.len();
        let silhouette = distances.silhouette(&clusters);
        if silhouette > best.1.unwrap_or(STRUCTURE) {
            best = (clusters, Some(silhouette));
        }
    }
    best
}

/// Clusters that are left when the last `cut - 1` merges of the tree are undone.
fn clusters(tree: &Dendrogram<f64>, cut: usize) -> Vec<Vec<usize>> {
    let points = tree.observations();
    let mut clusters: Vec<Option<Vec<usize>>> = (0..points).map(|point| Some(vec![point])).collect();
    for step in &tree.steps()[..points - cut] {
        let (one, other) = (clusters[step.cluster1].take(), clusters[step.cluster2].take());
        clusters.push(Some(one.into_iter().chain(other).flatten().collect()));
    }
    clusters.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::column;
    use crate::host::tests::host;

    /// Hosts whose free and lost shares lie around some centres, with a little spread.
    fn around(centres: &[(u64, u64, usize)]) -> Vec<Host> {
        let mut hosts = Vec::new();
        for &(free, lost, number) in centres {
            for nth in 0..number as u64 {
                let mut host = host(&format!("{free}-{lost}-{nth}"));
                let mut set = |name: &str, value: u64| host.rows[0].numbers[column(name)] = Some(value);
                set("free_pages", free * 1000 + nth * 37 % 900);
                set("blocks_lost", lost + nth * 7 % 5);
                hosts.push(host);
            }
        }
        hosts
    }

    #[test]
    fn hosts_around_two_centres_are_two_groups() {
        let hosts = around(&[(10, 20, 12), (80, 150, 20)]);
        let groups = Groups::of(&hosts);
        assert_eq!(groups.medoids.len(), 2);
        assert!(groups.silhouette.unwrap() > 0.7, "{:?}", groups.silhouette);
        assert_eq!(groups.members(0).collect::<Vec<_>>(), (12..32).collect::<Vec<_>>(), "the larger one comes first");
        assert!(groups.medoids.iter().enumerate().all(|(group, &medoid)| groups.of[medoid] == Some(group)));
    }

    #[test]
    fn a_lonely_host_is_no_group_and_hides_none() {
        let hosts = around(&[(10, 20, 12), (30, 60, 20), (5, 190, 1)]);
        let groups = Groups::of(&hosts);
        assert_eq!(groups.medoids.len(), 2);
        assert!(groups.of.iter().all(Option::is_some), "it belongs to the nearest");
    }

    #[test]
    fn alike_hosts_are_one_group_and_hosts_without_a_map_none() {
        let mut hosts = around(&[(40, 40, 6)]);
        for host in &mut hosts {
            host.rows[0].numbers[column("free_pages")] = Some(40_000);
            host.rows[0].numbers[column("blocks_lost")] = Some(40);
        }
        hosts[5].rows[0].numbers[column("blocks")] = None;
        let groups = Groups::of(&hosts);
        assert_eq!(groups.of, [Some(0), Some(0), Some(0), Some(0), Some(0), None]);
        assert_eq!((groups.medoids.len(), groups.silhouette), (1, None));
        assert!(Groups::of(&[]).medoids.is_empty());
    }

    #[test]
    fn the_order_of_hosts_does_not_matter() {
        let hosts = around(&[(10, 20, 12), (80, 150, 20), (40, 90, 9)]);
        let reversed: Vec<Host> = hosts.iter().rev().cloned().collect();
        let [one, other] = [&hosts, &reversed].map(|hosts| {
            let groups = Groups::of(hosts);
            let mut named: Vec<_> =
                hosts.iter().zip(&groups.of).map(|(host, group)| (host.name.clone(), *group)).collect();
            named.sort();
            named
        });
        assert_eq!(one, other);
    }
}
