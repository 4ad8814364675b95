//! A fleet as a page: how facts spread over hosts, who owns lost memory, groups, settings, outliers, and every host.

use order9_fleet::groups::Groups;
use order9_fleet::{Distribution, FEATURES, Fleet, Host, Quantiles, Valued, column};
use order9_report::number::{count_of, decimal, grouped, percent, size};
use order9_units::Pages;
use serde::Serialize;

use crate::listing::{Cell, Kind, Listing};
use crate::number::Shown;
use crate::{Page, Section, Text};

/// Cumulative distributions over hosts.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Heading of the part.
    title: &'static str,
    panels: Vec<Panel>,
}

/// Distribution of one fact.
#[derive(Clone, Debug, Serialize)]
struct Panel {
    title: &'static str,
    is_percent: bool,
    /// Hosts that have nothing of it, in words.
    none: String,
    /// Values at which the shares are read.
    at: Vec<Shown>,
    /// Percentage of hosts that do not exceed each: of all hosts, then of each group.
    lines: Vec<Vec<Shown>>,
}

/// Points of a curve: more than a screen shows.
const POINTS: usize = 240;
/// Curves of a panel: as many as there are colours.
const CURVES: usize = 6;

/// The page of a fleet.
#[must_use]
pub fn page(title: String, fleet: &Fleet, hosts: &[Host], groups: &Groups) -> Page {
    let shown = groups.medoids.len().min(CURVES - 1);
    let names = (0..if groups.medoids.len() > 1 { shown } else { 0 }).map(|group| format!("group {}", group + 1));
    let mut page = Page {
        title,
        subtitle: format!(
            "{}, {} of memory",
            count_of(fleet.hosts as u64, "host"),
            size(Pages::new(fleet.present_pages).bytes())
        ),
        groups: std::iter::once("all hosts".to_owned()).chain(names).collect(),
        ..Page::default()
    };
    page.sections.push(Section::Text(Text { title: "In short".to_owned(), text: fleet.to_text() }));
    let members = |group: usize| groups.members(group).collect::<Vec<_>>();
    let of_groups: Vec<Vec<usize>> = (0..page.groups.len() - 1).map(members).collect();
    page.sections.push(Section::Spread(spread(fleet, hosts, &of_groups)));
    let what_if = fleet.what_if.iter().map(|projection| {
        let title = format!("What if {}", projection.settings.join(" "));
        Section::Text(Text { title, text: projection.to_text() })
    });
    page.sections.extend(what_if);
    let listings =
        [alike(fleet), owners(fleet), outliers(fleet), settings(fleet), unreadable(fleet), all(hosts, groups)];
    page.sections.extend(listings.into_iter().filter(|listing| !listing.is_empty()).map(Section::Listing));
    page
}

fn spread(fleet: &Fleet, hosts: &[Host], groups: &[Vec<usize>]) -> Spread {
    let panel = |distribution: &Distribution| {
        let most = if distribution.is_percent { 100.0 } else { distribution.values.at(1.0).max(1.0) };
        let at: Vec<f64> = (0..=POINTS).map(|nth| most * nth as f64 / POINTS as f64).collect();
        let line = |values: &Quantiles| {
            let all = values.values();
            let below =
                |&value: &f64| 100.0 * all.partition_point(|&one| one <= value) as f64 / all.len().max(1) as f64;
            at.iter().map(|value| Shown(below(value))).collect()
        };
        let of_group = |members: &Vec<usize>| {
            line(&Quantiles::new(members.iter().filter_map(|&host| distribution.of(&hosts[host]))))
        };
        let none = percent(distribution.none as u64, distribution.hosts as u64);
        Panel {
            title: distribution.fact,
            is_percent: distribution.is_percent,
            none: format!(
                "none on {} of {} ({none})",
                grouped(distribution.none as u64),
                count_of(distribution.hosts as u64, "host")
            ),
            lines: std::iter::once(line(&distribution.values)).chain(groups.iter().map(of_group)).collect(),
            at: at.iter().map(|&value| Shown(value)).collect(),
        }
    };
    let known = fleet.distributions.iter().filter(|distribution| distribution.hosts > 0);
    Spread { title: "Distributions over hosts", panels: known.map(panel).collect() }
}

fn alike(fleet: &Fleet) -> Listing {
    let heads = FEATURES.iter().map(|feature| (feature.name, Kind::Number));
    let columns = [("group", Kind::Name), ("hosts", Kind::Bar)].into_iter().chain(heads);
    let columns = columns.chain([("without a free huge page", Kind::Number), ("typical host", Kind::Name)]);
    let note = match fleet.silhouette {
        Some(silhouette) => format!(
            "Medians of the facts by which hosts were compared. Mean silhouette of these groups: {}, where 1 is a sharp division and \
             0 none. host_group of the table is the number of the group.",
            decimal(silhouette, 2)
        ),
        None => {
            "Medians of the facts by which hosts were compared. No division of them is substantial: they are one group."
                .to_owned()
        }
    };
    let mut listing = Listing::new("Groups of hosts that look alike", &note, columns);
    for group in &fleet.groups {
        let mut cells = vec![Cell::value(group.group.to_string(), group.group as f64), Cell::count(group.hosts as u64)];
        cells.extend(group.medians.iter().map(|median| Cell::value(&median.words, median.median)));
        cells.push(share(group.without_free, group.hosts));
        cells.push(Cell::name(&group.typical));
        listing.row(cells);
    }
    listing
}

fn owners(fleet: &Fleet) -> Listing {
    let columns = [("owner", Kind::Name), ("pageblocks", Kind::Bar), ("share", Kind::Number), ("memory", Kind::Number)];
    let columns =
        columns.into_iter().chain([("its pages there", Kind::Number), ("hosts where it is first", Kind::Number)]);
    let note =
        "Pageblocks that no moving of pages can free, by the class that most of their pages that stay belong to.";
    let mut listing = Listing::new("Owners of lost pageblocks", note, columns);
    let all: u64 = fleet.owners.iter().map(|owner| owner.blocks).sum();
    for owner in &fleet.owners {
        let memory = (order9_units::PAGEBLOCK_PAGES * owner.blocks).bytes();
        listing.row(vec![
            Cell::name(owner.owner),
            Cell::count(owner.blocks),
            Cell::value(percent(owner.blocks, all), owner.blocks as f64),
            Cell::value(size(memory), memory.get() as f64),
            Cell::count(owner.pages),
            Cell::count(owner.first_on as u64),
        ]);
    }
    listing
}

fn outliers(fleet: &Fleet) -> Listing {
    let columns = [("host", Kind::Name), ("group", Kind::Number), ("fact", Kind::Name), ("its value", Kind::Number)];
    let columns = columns.into_iter().chain([("median of the group", Kind::Number), ("score", Kind::Bar)]);
    let note = "Hosts whose value of a fact lies far from the median of their group: a modified z-score beyond 3.5. Of each host the \
                fact that is farthest.";
    let mut listing = Listing::new("Hosts that stand out", note, columns).with_search();
    for outlier in &fleet.outliers {
        listing.row(vec![
            Cell::name(&outlier.host),
            Cell::count(outlier.group as u64),
            Cell::name(&outlier.fact),
            Cell::name(&outlier.value),
            Cell::name(&outlier.usual),
            Cell::value(decimal(outlier.score.abs(), 1), outlier.score.abs()),
        ]);
    }
    listing
}

fn settings(fleet: &Fleet) -> Listing {
    let columns = [
        ("setting", Kind::Name),
        ("value", Kind::Name),
        ("hosts", Kind::Bar),
        ("without a free huge page", Kind::Number),
    ];
    let note = "Kernels, and settings in which hosts differ. A difference between values is no proof of a cause: order9 fleet what-if \
                tries a setting on copies of the hosts.";
    let mut listing = Listing::new("Kernels and settings", note, columns);
    let mut add = |name: &str, values: &[Valued]| {
        for valued in values {
            let hosts = valued.hosts;
            listing.row(vec![
                Cell::name(name),
                Cell::name(&valued.value),
                Cell::count(hosts as u64),
                share(valued.without_free, hosts),
            ]);
        }
    };
    add("kernel", &fleet.kernels);
    fleet.settings.iter().for_each(|setting| add(&setting.path, &setting.values));
    listing
}

fn unreadable(fleet: &Fleet) -> Listing {
    let columns = [("file", Kind::Name), ("problem", Kind::Name)];
    let mut listing = Listing::new("Files that could not be read", "", columns);
    fleet.unreadable.iter().for_each(|of| listing.row(vec![Cell::name(&of.file), Cell::name(&of.problem)]));
    listing
}

/// Columns of the table of all hosts: title, and column of the facts.
const COLUMNS: [(&str, &str); 9] = [
    ("free huge", "free_huge_ordinary"),
    ("recoverable", "recoverable_ordinary"),
    ("huge in use", "blocks_huge"),
    ("lost", "blocks_lost"),
    ("pageblocks", "blocks"),
    ("GiB free", "gib_free"),
    ("GiB recoverable", "gib_recoverable"),
    ("GiB tainted", "gib_tainted"),
    ("uptime, h", "uptime_hours"),
];

fn all(hosts: &[Host], groups: &Groups) -> Listing {
    let first = [("host", Kind::Name), ("group", Kind::Number), ("kernel", Kind::Name), ("memory", Kind::Number)];
    let columns = first.into_iter().chain(COLUMNS.map(|(title, _)| (title, Kind::Number)));
    let note = "Numbers of huge pages or pageblocks, and of aligned areas of 1 GiB. Lost: held by pages that stay.";
    let mut listing = Listing::new("All hosts", note, columns).with_search();
    let present = column("present_pages");
    let columns = COLUMNS.map(|(_, name)| column(name));
    for (host, group) in hosts.iter().zip(&groups.of) {
        let memory = Pages::new(host.number(present).unwrap_or_default()).bytes();
        let mut cells = vec![
            Cell::name(&host.name),
            Cell::maybe(group.map(|group| group as u64 + 1)),
            Cell::name(&host.kernel),
            Cell::value(size(memory), memory.get() as f64),
        ];
        cells.extend(columns.iter().map(|&column| Cell::maybe(host.number(column))));
        listing.row(cells);
    }
    listing
}

fn share(part: usize, whole: usize) -> Cell {
    Cell::value(percent(part as u64, whole as u64), part as f64 / whole.max(1) as f64)
}
