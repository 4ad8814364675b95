//! Tables of a comparison as HTML for notebooks, and the page about runs.

use std::io::Write as _;
use std::path::Path;

use order9_html::claims::Claims;
use order9_html::runs::{self, Judged, Stored, maps_file};
use order9_html::worth::WorthOf;
use order9_record::{Existing, Experiment, ExtraFile, Loaded, Target, read};
use order9_report::compare::Report;
use order9_snapshot::maps;
use pyo3::prelude::*;

use crate::convert::escaped;
use crate::errors::{OrRaise as _, RecordError};
use crate::results::Recorded;
use crate::whole_file::write_whole;

/// All tables, one below the other; marked changes are green or red.
pub(crate) fn tables(report: &Report) -> String {
    let mut html = String::new();
    for grid in report.grids() {
        let columns: String = grid.columns.iter().map(|title| format!("<th>{}</th>", escaped(title))).collect();
        html += &format!("<h4>{}</h4><table><thead><tr><th></th>{columns}</tr></thead><tbody>", escaped(&grid.heading));
        for row in &grid.rows {
            let cell = |cell: &order9_report::compare::GridCell| {
                let colour = match cell.better {
                    Some(true) => " style=\"color: #0a7d4b\"",
                    Some(false) => " style=\"color: #b3261e\"",
                    None => "",
                };
                format!("<td{colour}>{}</td>", escaped(&cell.text))
            };
            let name = format!("{} {}", row.statistic, row.operation);
            let cells: String = row.cells.iter().map(cell).collect();
            html += &format!("<tr><th>{} ({})</th>{cells}</tr>", escaped(name.trim()), escaped(row.unit));
        }
        html += "</tbody></table>";
    }
    html
}

/// Stores an experiment with maps and snapshots as a run directory.
pub(crate) fn store(recorded: &Recorded, report: &Report, directory: &Path, existing: Existing) -> PyResult<()> {
    let mut files = vec![ExtraFile {
        name: "report.txt".to_owned(),
        content: report.to_text(order9_report::compare::text::Fit::Widened).into_bytes(),
    }];
    for ((policy, seed), series) in &recorded.maps {
        files.push(ExtraFile { name: maps_file(policy, *seed), content: maps::write(series) });
    }
    for ((policy, seed, name), snapshot) in &recorded.snapshots {
        let mut content = Vec::new();
        order9_snapshot::format::write(snapshot, &mut content).expect("memory takes what the lab has made");
        files.push(ExtraFile { name: format!("{policy}-seed-{seed}-{name}.o9snap"), content });
    }
    let (inputs, runs) = (recorded.loaded.manifest.inputs.clone(), recorded.loaded.runs.clone());
    let experiment = Experiment { inputs, runs };
    let target = Target::new(directory, existing).or_raise::<RecordError>()?;
    target.write(&experiment, &files).or_raise::<RecordError>().map(drop)
}

/// Writes the page about the runs that `directory` stores.
pub(crate) fn write(
    directory: &Path,
    report: &Report,
    claims: Vec<Claims>,
    notes: Vec<String>,
    to: &Path,
) -> PyResult<()> {
    let loaded: Loaded = read(directory).or_raise::<RecordError>()?;
    let titles: Vec<String> = loaded.manifest.inputs.policies.iter().map(|policy| policy.title.clone()).collect();
    let stored = [Stored { path: directory, loaded }];
    let all = runs::together(&stored, &titles);
    let worth = WorthOf::of(&all).or_raise::<RecordError>()?;
    let judged = Judged { report, claims, worth, notes };
    let page = runs::page(&stored, &titles, &all, judged).or_raise::<RecordError>()?;
    let mut out = Vec::new();
    page.write(&mut out).or_raise::<RecordError>()?;
    let refused = |error: std::io::Error| crate::errors::raised::<RecordError>(&format!("{}: {error}", to.display()));
    write_whole(to, |file| file.write_all(&out)).map_err(refused)
}
