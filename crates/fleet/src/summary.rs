//! Many hosts as a whole: distributions over hosts, owners of lost memory, settings, groups, outliers.

use std::collections::BTreeMap;

use order9_snapshot::classify::FrameClass;
use order9_units::PAGEBLOCK_PAGES;
use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::settings;
use crate::features::{FEATURES, Reader, column};
use crate::groups::Groups;
use crate::host::{Host, Level};
use crate::outliers::{self, Outlier};
use crate::quantiles::Quantiles;
use crate::read::{Reading, Unreadable};
use crate::trial::Projection;

/// A fleet as a whole.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fleet {
    /// Raised when a field changes its meaning or goes.
    pub schema: u32,
    /// Number of hosts.
    pub hosts: usize,
    /// Hosts whose files held the facts of an earlier reading.
    pub known: usize,
    /// Hosts without a map of frames: those count where counters and lists of the kernel tell enough.
    pub without_map: usize,
    /// Memory of all hosts, in pages.
    pub present_pages: u64,
    /// Files that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Hosts without any free huge page outside zone DMA.
    pub without_free: usize,
    /// Hosts without any free huge page, and without one that moving pages could make, outside zone DMA.
    pub without_any: usize,
    /// Facts of hosts and how they spread over the fleet.
    pub distributions: Vec<Distribution>,
    /// Owners of lost pageblocks, most pageblocks first.
    pub owners: Vec<Owner>,
    /// Hosts by series of the kernel, most hosts first.
    pub kernels: Vec<Valued>,
    /// Settings in which hosts differ, with their values.
    pub settings: Vec<SettingValues>,
    /// Groups of hosts that look alike, the largest first.
    pub groups: Vec<Group>,
    /// Mean silhouette of the groups, -1 to 1; nothing where all hosts are one group.
    pub silhouette: Option<f64>,
    /// Hosts that are unlike their group, the farthest first.
    pub outliers: Vec<Outlier>,
    /// Settings that were tried on a sample.
    pub what_if: Vec<Projection>,
}

/// A fact of hosts over the fleet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Distribution {
    /// Name of the fact.
    pub fact: &'static str,
    /// Whether values are percentages; else they are numbers.
    pub is_percent: bool,
    /// Hosts of which the fact is known.
    pub hosts: usize,
    /// Hosts that have nothing of it.
    pub none: usize,
    /// Mean over hosts.
    pub mean: f64,
    /// Values that 5, 25, 50, 75 and 95 % of the hosts do not exceed.
    pub quantiles: [f64; 5],
    /// All values.
    #[serde(skip)]
    pub values: Quantiles,
    #[serde(skip)]
    reader: FactReader,
}

/// A class of frames that holds pageblocks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Owner {
    /// The class, in words.
    pub owner: &'static str,
    /// Lost pageblocks that the class holds mostly, in all hosts.
    pub blocks: u64,
    /// Pages of the class in lost pageblocks.
    pub pages: u64,
    /// Hosts on which no other class holds as many.
    pub first_on: usize,
}

/// A value, and the hosts that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Valued {
    /// The value.
    pub value: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Hosts among them without a free huge page.
    pub without_free: usize,
}

/// Values of a setting.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SettingValues {
    /// Linux path of the setting.
    pub path: String,
    /// Values, most hosts first.
    pub values: Vec<Valued>,
}

/// Hosts that look alike.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Group {
    /// Number of the group, from 1 on: `host_group` of the table.
    pub group: usize,
    /// Number of hosts.
    pub hosts: usize,
    /// Hosts without a free huge page.
    pub without_free: usize,
    /// Name of the host in the middle.
    pub typical: String,
    /// Medians of the facts by which hosts are compared.
    pub medians: Vec<Median>,
}

/// Median of a fact over the hosts of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Median {
    /// Name of the fact.
    pub fact: &'static str,
    /// Median: a share of 1, or for `memory` the binary logarithm of GiB.
    pub median: f64,
    /// The median in words.
    pub words: String,
}

impl Fleet {
    /// The fleet of these hosts, and their groups.
    #[must_use]
    pub fn of(reading: &Reading, groups: &Groups, what_if: Vec<Projection>) -> Self {
        let hosts = &reading.hosts;
        let [present, free, recoverable, blocks] =
            ["present_pages", "free_huge_ordinary", "recoverable_ordinary", "blocks"].map(column);
        let has_no_free = |host: &Host| host.number(free) == Some(0);
        let has_none = |host: &&Host| has_no_free(host) && host.number(recoverable) == Some(0);
        Self {
            schema: 1,
            hosts: hosts.len(),
            known: reading.known,
            without_map: hosts.iter().filter(|host| host.number(blocks).is_none()).count(),
            present_pages: hosts.iter().filter_map(|host| host.number(present)).sum(),
            unreadable: reading.unreadable.clone(),
            without_free: hosts.iter().filter(|host| has_no_free(host)).count(),
            without_any: hosts.iter().filter(has_none).count(),
            distributions: FACTS.map(|fact| Distribution::new(hosts, fact)).into(),
            owners: owners(hosts),
            kernels: valued(hosts.iter().map(|host| (host.series(), has_no_free(host)))),
            settings: differing(hosts, &has_no_free),
            groups: (0..groups.medoids.len()).map(|group| Group::of(hosts, groups, group, &has_no_free)).collect(),
            silhouette: groups.silhouette,
            outliers: outliers::of(hosts, groups),
            what_if,
        }
    }
}

/// Columns that add up to a fact, and the column that it is a share of.
type Fact = (&'static str, &'static [&'static str], Option<&'static str>);

/// Facts whose distribution is shown.
const FACTS: [Fact; 7] = [
    ("free memory, %", &["free_pages"], Some("present_pages")),
    ("free memory in 2 MiB blocks, %", &["free_huge"], Some("free_pages")),
    ("free huge pages", &["free_huge_ordinary"], None),
    ("recoverable huge pages", &["recoverable_ordinary"], None),
    ("lost pageblocks, %", &["blocks_lost", "blocks_slab"], Some("blocks")),
    ("areas of 1 GiB free or recoverable", &["gib_free", "gib_recoverable"], None),
    ("areas of 1 GiB clean, %", &["gib_free", "gib_clean"], Some("gib_areas")),
];

/// A fact, ready to be read from many hosts.
#[derive(Clone, Debug)]
struct FactReader {
    parts: Vec<usize>,
    /// Column that the fact is a share of, and number of its units in one of the parts.
    whole: Option<(usize, f64)>,
}

impl FactReader {
    fn new((_, parts, whole): Fact) -> Self {
        let huge = PAGEBLOCK_PAGES.get() as f64;
        let whole = whole.map(|name| (column(name), if name == "free_pages" { huge } else { 1.0 }));
        Self { parts: parts.iter().map(|name| column(name)).collect(), whole }
    }

    fn of(&self, host: &Host) -> Option<f64> {
        let part = self.parts.iter().map(|&part| host.number(part)).sum::<Option<u64>>()? as f64;
        let Some((whole, scale)) = self.whole else { return Some(part) };
        Some(match host.number(whole)? {
            0 => 0.0,
            whole => 100.0 * scale * part / whole as f64,
        })
    }
}

impl Distribution {
    fn new(hosts: &[Host], fact: Fact) -> Self {
        let reader = FactReader::new(fact);
        let values = Quantiles::new(hosts.iter().filter_map(|host| reader.of(host)));
        let all = values.values();
        Self {
            fact: fact.0,
            is_percent: reader.whole.is_some(),
            hosts: all.len(),
            none: all.iter().filter(|value| **value == 0.0).count(),
            mean: all.iter().sum::<f64>() / all.len().max(1) as f64,
            quantiles: [0.05, 0.25, 0.5, 0.75, 0.95].map(|share| values.at(share)),
            values,
            reader,
        }
    }

    /// Value of a host; nothing where it is not known.
    #[must_use]
    pub fn of(&self, host: &Host) -> Option<f64> {
        self.reader.of(host)
    }
}

fn owners(hosts: &[Host]) -> Vec<Owner> {
    let [held, pages] = ["held_blocks", "held_pages"].map(column);
    let mut sums: BTreeMap<&str, Owner> = BTreeMap::new();
    for host in hosts {
        let rows = host.rows.iter().filter(|row| row.level == Level::Owner);
        // An inspection lists the owner of most pageblocks first.
        for (nth, row) in rows.enumerate() {
            let Some(class) = FrameClass::ALL.into_iter().find(|class| class.name() == row.owner) else { continue };
            let owner =
                sums.entry(class.name()).or_insert(Owner { owner: class.describe(), blocks: 0, pages: 0, first_on: 0 });
            let blocks = row.numbers[held].unwrap_or_default();
            owner.blocks += blocks;
            owner.pages += row.numbers[pages].unwrap_or_default();
            owner.first_on += usize::from(nth == 0 && blocks > 0);
        }
    }
    let mut owners: Vec<Owner> = sums.into_values().collect();
    owners.sort_by_key(|owner| std::cmp::Reverse((owner.blocks, owner.pages)));
    owners
}

/// Values with their hosts, most hosts first.
fn valued(values: impl Iterator<Item = (String, bool)>) -> Vec<Valued> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (value, has_no_free) in values {
        let (hosts, without_free) = counts.entry(value).or_default();
        *hosts += 1;
        *without_free += usize::from(has_no_free);
    }
    let valued = counts.into_iter().map(|(value, (hosts, without_free))| Valued { value, hosts, without_free });
    let mut valued: Vec<Valued> = valued.collect();
    valued.sort_by(|a, b| b.hosts.cmp(&a.hosts).then_with(|| a.value.cmp(&b.value)));
    valued
}

fn differing(hosts: &[Host], has_no_free: &dyn Fn(&Host) -> bool) -> Vec<SettingValues> {
    let of = |(at, (_, path)): (usize, (String, String))| {
        let known = hosts.iter().filter(|host| !host.settings[at].is_empty());
        SettingValues { path, values: valued(known.map(|host| (host.settings[at].clone(), has_no_free(host)))) }
    };
    settings().enumerate().map(of).filter(|setting| setting.values.len() > 1).collect()
}

impl Group {
    fn of(hosts: &[Host], groups: &Groups, group: usize, has_no_free: &dyn Fn(&Host) -> bool) -> Self {
        let members: Vec<&Host> = groups.members(group).map(|host| &hosts[host]).collect();
        let medians = Reader::all().into_iter().zip(FEATURES).map(|(reader, feature)| {
            let median = Quantiles::new(members.iter().filter_map(|host| reader.of(host))).median();
            Median { fact: feature.name, median, words: feature.shown(median) }
        });
        Self {
            group: group + 1,
            hosts: members.len(),
            without_free: members.iter().filter(|host| has_no_free(host)).count(),
            typical: hosts[groups.medoids[group]].name.clone(),
            medians: medians.collect(),
        }
    }
}
