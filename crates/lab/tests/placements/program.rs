//! Programs as the list has them, and how the lab takes their steps.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use order9_machine::Thread;
use order9_units::{Bytes, NodeId, NodeMask, PAGE_SIZE, PAGEBLOCK_PAGES};
use order9_workloads::{
    Access, AddressSpace, Administration, Advice, Area, DropCaches, Files, Mapping, MbindFlags, Mempolicy, Nodes,
    Processes, Stop,
};

/// A release of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

/// The releases that something is for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Only {
    from: Option<Version>,
    below: Option<Version>,
}

impl Only {
    pub(crate) fn has(&self, release: Version) -> bool {
        self.from.is_none_or(|from| release >= from) && self.below.is_none_or(|below| release < below)
    }
}

/// A share in percent, from one number to another.
type Share = RangeInclusive<f64>;

#[derive(Clone, Debug)]
enum Step {
    Cpu(NodeId),
    Policy(Mempolicy),
    Weights([String; 2]),
    Map { area: String, percent: f64, huge: bool },
    Mbind { area: String, policy: Mempolicy, moves: bool },
    Touch(String),
    Cache { percent: f64 },
    Pin(String),
    Move { area: String, to: NodeId },
    Migrate { from: NodeMask, to: NodeMask },
    Expect { area: String, shares: [Share; 2] },
    Huge { share: Share, only: Only },
}

/// A program of the list.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) only: Only,
    steps: Vec<Step>,
}

/// All programs of a list.
///
/// # Panics
/// If a line is none.
pub(crate) fn programs(text: &str) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        match words[..] {
            [] => {}
            ["program", name, ref only @ ..] => {
                programs.push(Program { name: name.to_owned(), only: only_for(only), steps: Vec::new() });
            }
            _ => {
                let step = step(&words).unwrap_or_else(|| panic!("line {}: {line}", at + 1));
                programs.last_mut().expect("a program begins with its name").steps.push(step);
            }
        }
    }
    programs
}

fn only_for(words: &[&str]) -> Only {
    let version = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some(Version(major.parse().ok()?, minor.parse().ok()?))
    };
    let limit = |word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        Some(version(words[at + 1]).expect("a release such as 5.3"))
    };
    Only { from: limit("from"), below: limit("below") }
}

fn step(words: &[&str]) -> Option<Step> {
    let area = |name: &str| name.to_owned();
    let node = |text: &str| Some(NodeId(text.parse().ok()?));
    Some(match *words {
        ["cpu", at] => Step::Cpu(node(at)?),
        ["policy", policy] => Step::Policy(Mempolicy::parse(policy)?),
        ["weights", one, other] => Step::Weights([one, other].map(str::to_owned)),
        ["map", name, size, ref how @ ..] => {
            let percent = size.strip_suffix('%')?.parse().ok()?;
            Step::Map { area: area(name), percent, huge: how == ["huge"] }
        }
        ["mbind", name, policy, ref how @ ..] => {
            Step::Mbind { area: area(name), policy: Mempolicy::parse(policy)?, moves: how == ["move"] }
        }
        ["touch", name] => Step::Touch(area(name)),
        ["cache", size] => Step::Cache { percent: size.strip_suffix('%')?.parse().ok()? },
        ["pin", name] => Step::Pin(area(name)),
        ["move", name, to] => Step::Move { area: area(name), to: node(to)? },
        ["migrate", from, to] => Step::Migrate { from: NodeMask::parse(from)?, to: NodeMask::parse(to)? },
        ["expect", name, here, there] => Step::Expect { area: area(name), shares: [share(here)?, share(there)?] },
        ["huge", size, ref only @ ..] => Step::Huge { share: share(size)?, only: only_for(only) },
        _ => return None,
    })
}

fn share(text: &str) -> Option<Share> {
    let text = text.strip_suffix('%')?;
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    Some(least.parse().ok()?..=most.parse().ok()?)
}

impl Program {
    /// Weights of interleaving, which the administrator sets.
    pub(crate) fn weights(&self) -> Option<&[String; 2]> {
        self.steps.iter().find_map(|step| if let Step::Weights(weights) = step { Some(weights) } else { None })
    }

    /// Whether it says where its pages are to lie.
    pub(crate) fn expects(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Expect { .. }))
    }

    /// What is wrong with so many huge pages at the end, of the 2 MiB of all areas mapped huge in nodes of so many bytes.
    pub(crate) fn wrong_huge(&self, release: Version, node: Bytes, huge_pages: u64) -> Option<String> {
        let slots: u64 = self
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Map { percent, huge: true, .. } => Some(length(*percent, node).get() / HUGE.get()),
                _ => None,
            })
            .sum();
        let got = 100.0 * huge_pages as f64 / slots.max(1) as f64;
        self.steps.iter().find_map(|step| match step {
            Step::Huge { share, only } if only.has(release) && !share.contains(&got) => {
                Some(format!("{got:.1} % are huge, expected {share:?}"))
            }
            _ => None,
        })
    }
}

/// What is mapped for a share of a node: pairs of huge pages.
fn length(percent: f64, node: Bytes) -> Bytes {
    let pair = 2 * HUGE.get();
    Bytes::new((node.get() as f64 * percent / 100.0) as u64 / pair * pair)
}

const HUGE: Bytes = PAGEBLOCK_PAGES.bytes();

/// Takes the steps of a program; what lies elsewhere than expected.
pub(crate) async fn take_steps(sys: &Thread, program: &Program) -> Result<Vec<String>, Stop> {
    let (mut areas, mut wrong) = (BTreeMap::<&str, Area>::new(), Vec::new());
    for step in &program.steps {
        match step {
            Step::Cpu(node) => sys.set_affinity(&sys.cpus_of(*node)).await?,
            Step::Policy(policy) => sys.set_mempolicy(*policy).await?,
            Step::Weights(_) | Step::Huge { .. } => {}
            Step::Map { area, percent, huge } => {
                let length = length(*percent, sys.facts().nodes[0]);
                let room = sys.mmap(Mapping::anon(length + HUGE)).await?;
                let mapped = room.part(Bytes::new(room.start.wrapping_neg() % HUGE.get()), length);
                sys.madvise(mapped, if *huge { Advice::HugePage } else { Advice::NoHugePage }).await?;
                areas.insert(area, mapped);
            }
            Step::Mbind { area, policy, moves } => {
                sys.mbind(areas[area.as_str()], *policy, MbindFlags { moves: *moves, ..MbindFlags::default() }).await?;
            }
            Step::Touch(area) => sys.touch(areas[area.as_str()], Access::Write).await?,
            Step::Cache { percent } => cache(sys, length(*percent, sys.facts().nodes[0])).await?,
            Step::Pin(area) => pin(sys, areas[area.as_str()]).await?,
            Step::Move { area, to } => {
                sys.move_pages(areas[area.as_str()], *to).await?;
            }
            Step::Migrate { from, to } => {
                sys.migrate_pages(*from, *to).await?;
            }
            Step::Expect { area, shares } => {
                let found = on_nodes(sys, areas[area.as_str()]).await?;
                if found.iter().zip(shares).any(|(found, share)| !share.contains(found)) {
                    wrong.push(format!("{area} lies {found:.1?} %, expected {shares:?}"));
                }
            }
        }
    }
    Ok(wrong)
}

/// Reads a file of `length` that nobody has read before.
async fn cache(sys: &Thread, length: Bytes) -> Result<(), Stop> {
    let file = sys.create_file(length).await?;
    sys.sync().await?;
    sys.drop_caches(DropCaches::Pages).await?;
    sys.open(file).await?;
    let mut read = Bytes::ZERO;
    while read < length {
        read += sys.read(file, read, HUGE).await?;
    }
    sys.close(file).await
}

/// Pins one page of every 2 MiB and gives back the others.
async fn pin(sys: &Thread, area: Area) -> Result<(), Stop> {
    for slot in 0..area.length.get() / HUGE.get() {
        let slot = area.part(Bytes::new(slot * HUGE.get()), HUGE);
        sys.pin(slot.part(Bytes::ZERO, PAGE_SIZE)).await?;
        sys.madvise(slot.part(PAGE_SIZE, HUGE), Advice::DontNeed).await?;
    }
    Ok(())
}

/// Shares of the pages of an area on both nodes, in percent.
async fn on_nodes(sys: &Thread, area: Area) -> Result<[f64; 2], Stop> {
    let mut found = [0u64; 2];
    for page in 0..area.pages() {
        found[sys.page_node(area.part(PAGE_SIZE * page, PAGE_SIZE)).await?.index()] += 1;
    }
    Ok(found.map(|pages| 100.0 * pages as f64 / area.pages() as f64))
}
