//! Advice as tables whose cells can be sorted: every remedy that was tried, and the largest owners of memory.

use order9_report::compare::{Grid, GridCell, GridRow};
use order9_report::number::{grouped, size};
use order9_snapshot::owners::Held;
use order9_units::Pages;

use super::{Advice, Finding};
use crate::advice::text::cells;
use crate::what_if::Verdict;

impl Advice {
    /// Tables of all remedies, in the order of their worth, and of owners where the copy names some.
    #[must_use]
    pub fn grids(&self) -> Vec<Grid> {
        let now = row("as it is", cells(None, &self.now), None);
        let remedies = self.findings.iter().chain(&self.others);
        let rows = std::iter::once(now).chain(remedies.map(finding)).collect();
        let columns = ["fits", "saves", "huge", "access", "free then", "CPU", "stalled", "cache lost", "swapped"];
        let mut grids = vec![grid("Remedies that were tried", &columns, rows)];
        if let Some(owners) = &self.owners {
            let columns = ["memory", "pageblocks", "alone", "stays"];
            let users = owners.users.iter().map(|of| held(&of.owner.to_string(), of));
            let cgroups = owners.cgroups.iter().map(|of| held(&of.owner, of));
            let callers = owners.callers.iter().map(|of| held(&of.owner.to_string(), of));
            let kernel = owners.kernel.iter().map(|of| row(&of.name, vec![memory(of.pages)], None));
            grids.push(grid("Processes and mapped files", &columns, users.collect()));
            grids.push(grid("Control groups", &columns, cgroups.collect()));
            grids.push(grid("Allocated in the kernel by", &columns, callers.collect()));
            grids.push(grid("In the kernel", &columns[..1], kernel.collect()));
        }
        grids.retain(|grid| !grid.rows.is_empty());
        grids
    }
}

fn finding(finding: &Finding) -> GridRow {
    let better = match finding.verdict {
        Verdict::Better => Some(true),
        Verdict::Worse => Some(false),
        Verdict::Same | Verdict::Unknown => None,
    };
    row(&finding.remedy.name, cells(Some(finding.worth_ns), &finding.case), better)
}

fn held<T>(name: &str, of: &Held<T>) -> GridRow {
    let count = |n: u64| (grouped(n), Some(n as f64));
    row(name, vec![memory(of.pages), count(of.pageblocks), count(of.alone), count(of.stays)], None)
}

fn memory(pages: Pages) -> (String, Option<f64>) {
    (size(pages.bytes()), Some(pages.get() as f64))
}

/// A row; `better` marks the cell of what it saves.
fn row(name: &str, cells: Vec<(String, Option<f64>)>, better: Option<bool>) -> GridRow {
    const SAVES: usize = 1;
    let cells = cells.into_iter().enumerate();
    let cells = cells.map(|(at, (text, value))| GridCell { text, value, better: better.filter(|_| at == SAVES) });
    GridRow { statistic: String::new(), operation: name.to_owned(), unit: "", cells: cells.collect() }
}

fn grid(heading: &str, columns: &[&str], rows: Vec<GridRow>) -> Grid {
    let lines = rows.iter().map(|row| {
        let cells = row.cells.iter().map(|cell| cell.text.as_str());
        std::iter::once(row.operation.as_str()).chain(cells).collect::<Vec<_>>().join("\t") + "\n"
    });
    let text = lines.collect();
    Grid { heading: heading.to_owned(), columns: columns.iter().map(|of| (*of).to_owned()).collect(), rows, text }
}
