//! A fleet on the first screen: at most 25 lines.

use order9_report::number::{count_of, decimal, grouped, percent, size};
use order9_report::table::Table;
use order9_report::terminal::ColourDepth;
use order9_units::Pages;

use crate::features::FEATURES;
use crate::summary::{Distribution, Fleet};

/// Columns of the text.
const WIDTH: usize = 98;
/// Most rows of the tables of owners and groups.
const OWNERS: usize = 3;
const GROUPS: usize = 4;
/// Distributions of the first screen, by place.
const SHOWN: [usize; 6] = [1, 2, 3, 4, 5, 6];

impl Fleet {
    /// The fleet as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let parts = [self.headline(), self.spread(), self.held(), self.alike(), self.unlike()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn headline(&self) -> String {
        let of = |hosts: usize| format!("{} ({})", grouped(hosts as u64), percent(hosts as u64, self.hosts as u64));
        let mut text = format!(
            "{}, {} of memory",
            count_of(self.hosts as u64, "host"),
            size(Pages::new(self.present_pages).bytes())
        );
        if self.known > 0 {
            text += &format!("; {} known from before", grouped(self.known as u64));
        }
        if self.without_map > 0 {
            text += &format!("; {} without a map", grouped(self.without_map as u64));
        }
        if !self.unreadable.is_empty() {
            text += &format!("; {} could not be read", count_of(self.unreadable.len() as u64, "file"));
        }
        format!(
            "{text}.\nWithout a free huge page: {} of the hosts; even if every page moved as needed: {}.\n",
            of(self.without_free),
            of(self.without_any)
        )
    }

    fn spread(&self) -> String {
        let mut table = Table::new(["of each host", "none on", "p5", "p25", "median", "p75", "p95"]).with_zeros();
        for distribution in SHOWN.into_iter().filter_map(|at| self.distributions.get(at)).filter(|of| of.hosts > 0) {
            let mut row =
                vec![distribution.fact.to_owned(), percent(distribution.none as u64, distribution.hosts as u64)];
            row.extend(distribution.quantiles.map(|value| shown(distribution, value)));
            table.row(row);
        }
        table.render(WIDTH, ColourDepth::None)
    }

    fn held(&self) -> String {
        let all: u64 = self.owners.iter().map(|owner| owner.blocks).sum();
        let mut table = Table::new(["lost pageblocks held by", "blocks", "share", "first on"]);
        for owner in self.owners.iter().filter(|owner| owner.blocks > 0).take(OWNERS) {
            table.row(vec![
                owner.owner.to_owned(),
                grouped(owner.blocks),
                percent(owner.blocks, all),
                count_of(owner.first_on as u64, "host"),
            ]);
        }
        if table.is_empty() { String::new() } else { table.render(WIDTH, ColourDepth::None) }
    }

    fn alike(&self) -> String {
        let header = ["group", "hosts"].into_iter().chain(FEATURES.iter().map(|feature| feature.short));
        let header = header.chain(["none free", "like"]).map(str::to_owned).collect();
        let mut table = Table::with_header(header).with_zeros();
        for group in self.groups.iter().take(GROUPS) {
            let mut row = vec![group.group.to_string(), grouped(group.hosts as u64)];
            row.extend(FEATURES.iter().zip(&group.medians).map(|(feature, median)| feature.number(median.median)));
            row.extend([percent(group.without_free as u64, group.hosts as u64), short(&group.typical, 20)]);
            table.row(row);
        }
        if table.is_empty() { String::new() } else { table.render(WIDTH, ColourDepth::None) }
    }

    fn unlike(&self) -> String {
        let words = |at: usize| {
            let outlier = &self.outliers[at];
            format!("{}: {} {} (usually {})", short(&outlier.host, 40), outlier.fact, outlier.value, outlier.usual)
        };
        let mut text = match self.outliers.len() {
            0 => "No host stands out of its group.\n".to_owned(),
            1 => format!("One host stands out of its group. {}.\n", words(0)),
            n => format!("{} stand out of their groups. {}.\n", count_of(n as u64, "host"), words(0)),
        };
        if let Some(first) = self.unreadable.first() {
            text += &format!("Not read: {}: {}", short(&first.file, 60), first.problem);
            text += &match self.unreadable.len() - 1 {
                0 => ".\n".to_owned(),
                more => format!("; and {}.\n", count_of(more as u64, "other")),
            };
        }
        text
    }
}

fn shown(distribution: &Distribution, value: f64) -> String {
    if distribution.is_percent {
        return decimal(value, usize::from(value > 0.0 && value < 10.0));
    }
    grouped(value.round() as u64)
}

/// A name that fits a column: its end is kept, where names of hosts differ.
fn short(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    std::iter::once('\u{2026}').chain(name.chars().skip(length + 1 - most)).collect()
}
