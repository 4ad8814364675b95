//! A machine with all its bases: from a built-in name or the path of a file to something that can be simulated.

use order9_machine::access::{AccessPrices, NodePrices};
use order9_machine::cost::{PRICES, Picos, Prices};
use order9_mm::AccessLevels;
use order9_toml::{Member, chain};
use order9_units::{Bytes, Nanos, PAGEBLOCK_PAGES};

use super::distances::{self, DistanceText};
use super::error::MachineError;
use super::figure::{FIGURES, Factor, Figure, FigureText, Needed};
use super::text::MachineText;
use super::{MachineSpec, NodeSpec, Remote, Reserved};

/// Loads the machine called `name`: a built-in one, or a file if there is a `/` or an ending `.toml` in it.
///
/// # Errors
/// The first thing wrong with it or one of its bases.
pub fn load(name: &str) -> Result<MachineSpec, MachineError> {
    let members = chain::<MachineText>(name)?;
    let nodes = members.iter().rev().find_map(|member| member.said.nodes.clone()).unwrap_or_default();
    let mut figures = figures(&members);
    if nodes.len() < 2 {
        // A base may have had several.
        figures.retain(|figure| figure.info.needed != Needed::SeveralNodes);
    }
    let distances = distances::of_chain(&members, &nodes)?;
    figures.extend(distances.iter().flat_map(|(member, text)| text.figures.iter().map(|text| text.figure(member))));
    // All together, as nodes: a disk of another kind must not keep what belonged to the old one.
    let disks = members.iter().rev().find(|member| !member.said.disks.is_empty());
    let of_disks = disks.iter().flat_map(|member| {
        let texts = member.said.disks.iter().flat_map(|text| &text.figures);
        texts.map(|text| text.figure(member))
    });
    figures.extend(of_disks);
    let missing = missing(&nodes, &figures);
    if !missing.is_empty() {
        // Only a chain's end can lack what its nodes ask for; without base it is the beginning, too.
        let file = members.last().map_or(name, |member| &member.name).to_owned();
        return Err(MachineError::Incomplete { file, missing });
    }
    let spec = MachineSpec {
        name: name.to_owned(),
        summary: members.last().map(|member| member.said.summary.clone()).unwrap_or_default(),
        chain: members.iter().map(|member| member.name.clone()).collect(),
        nodes,
        reserved: Reserved {
            kernel_image: Bytes::new(value(&figures, "reserved.kernel_image")),
            boot_tables: Bytes::new(value(&figures, "reserved.boot_tables")),
            struct_page: Bytes::new(value(&figures, "reserved.struct_page")),
        },
        slice: Nanos::new(value(&figures, "slice").div_ceil(1000)),
        tick: find(&figures, "tick").map(|tick| Nanos::new(tick.value.div_ceil(1000))),
        remote: remote(&figures),
        prices: with_access(prices(&figures), &figures, &distances),
        disks: disks.map(|member| member.said.disks.iter().map(|text| text.disk.clone()).collect()).unwrap_or_default(),
        figures,
    };
    spec.checked()
}

/// For each of [`FIGURES`] that is given, except those of disks, the value of the last file of the chain that gives it.
fn figures(members: &[Member<MachineText>]) -> Vec<Figure> {
    let last = |at: usize| {
        let said = |member: &Member<MachineText>| {
            let text = member.said.figures.iter().find(|text| std::ptr::eq(text.info, &FIGURES[at]))?;
            Some(text.figure(member))
        };
        members.iter().rev().find_map(said)
    };
    (0..FIGURES.len()).filter_map(last).collect()
}

impl FigureText {
    /// The value as a figure of `member`.
    fn figure(&self, member: &Member<MachineText>) -> Figure {
        let Self { info, ref key, value, ref source } = *self;
        Figure { info, key: key.clone(), value, source: source.clone(), set_in: member.name.clone() }
    }
}

fn missing(nodes: &[NodeSpec], figures: &[Figure]) -> Vec<String> {
    let needed = |needed| match needed {
        Needed::Always => true,
        Needed::SeveralNodes => nodes.len() > 1,
        Needed::Never => false,
    };
    let nodes = nodes.is_empty().then(|| "nodes".to_owned());
    let open = FIGURES.iter().filter(|info| needed(info.needed) && find(figures, &info.key).is_none());
    nodes.into_iter().chain(open.map(|info| info.key.clone())).collect()
}

fn find<'a>(figures: &'a [Figure], key: &str) -> Option<&'a Figure> {
    figures.iter().find(|figure| figure.key == key)
}

/// The value of a figure that every machine has.
fn value(figures: &[Figure], key: &str) -> u64 {
    find(figures, key).expect("figures that every machine has are checked").value
}

fn remote(figures: &[Figure]) -> Option<Remote> {
    let factor = |key| find(figures, key).map(|figure| Factor::from_thousandths(figure.value));
    Some(Remote { latency: factor("remote.latency")?, bandwidth: factor("remote.bandwidth")? })
}

fn prices(figures: &[Figure]) -> Prices {
    let mut prices = Prices::default();
    for info in PRICES {
        if let Some(figure) = find(figures, &format!("prices.{}", info.key)) {
            *(info.field)(&mut prices) = Picos::new(figure.value);
        }
    }
    let or = |price: Picos, other| if price == Picos::ZERO { other } else { price };
    prices.clear_huge_part = or(prices.clear_huge_part, prices.clear_page);
    prices.unmap_huge_part = or(prices.unmap_huge_part, prices.pte_clear);
    prices.uncache_part = or(prices.uncache_part, prices.uncache_page);
    prices.dirty_part = or(prices.dirty_part, prices.dirty_page);
    prices.writeback_part = or(prices.writeback_part, prices.writeback_page);
    prices.read_part = or(prices.read_part, prices.read_page);
    prices.split_pmd = or(prices.split_pmd, prices.pte_set.times(PAGEBLOCK_PAGES.get()));
    prices
}

/// The prices with accesses to other nodes. Where the file has no such figures, accesses to other nodes cost as much as
/// to the own one.
fn with_access(mut local: Prices, figures: &[Figure], distances: &[(&Member<MachineText>, &DistanceText)]) -> Prices {
    let factors = remote(figures).unwrap_or(Remote { latency: Factor::ONE, bandwidth: Factor::ONE });
    let price = |key| find(figures, key).map(|figure| Picos::new(figure.value));
    let or_local = |key, local| price(key).unwrap_or(local);
    let near = of_node(
        &local,
        factors,
        or_local("remote.load_base", local.load_base),
        or_local("remote.load_huge", local.load_huge),
    );
    let far_base = price("remote.far_load_base").unwrap_or(near.load_base);
    let far_huge = price("remote.far_load_huge").unwrap_or(near.load_huge);
    let far = NodePrices {
        // What is further for a load that walks is as much further for one that does not, which is never slower.
        load: (near.load + far_base.saturating_sub(near.load_base)).min(far_huge),
        load_base: far_base,
        load_huge: far_huge,
        ..near
    };
    let mut apart = [None; AccessLevels::APART];
    for (place, (_, text)) in apart.iter_mut().zip(distances) {
        let [latency, bandwidth, base, huge] = [0, 1, 2, 3].map(|nth| text.figures[nth].value);
        let [latency, bandwidth] = [latency, bandwidth].map(Factor::from_thousandths);
        let prices = of_node(&local, Remote { latency, bandwidth }, Picos::new(base), Picos::new(huge));
        *place = Some((text.distance, prices));
    }
    local.access = AccessPrices { tlb_entries: value(figures, "tlb.entries"), near, far, apart };
    local
}

/// Prices of accesses to a node that is slower by these factors.
fn of_node(local: &Prices, factors: Remote, load_base: Picos, load_huge: Picos) -> NodePrices {
    let Remote { latency, bandwidth } = factors;
    // The walk goes through page tables, which are near the CPU that made them.
    let touched = local.touch_page.saturating_sub(local.touch_walk);
    NodePrices {
        touch_page: latency.of(touched) + local.touch_walk,
        fill_page: bandwidth.of(local.fill_page),
        load: latency.of(local.load),
        load_base,
        load_huge,
    }
}
