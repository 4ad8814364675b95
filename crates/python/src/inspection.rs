//! [`PyInspection`]: what `order9 inspect` says about a memory, as attributes, as a table and as a picture.

use order9_export::schema::{self, Column, Kind, Value};
use order9_export::tables::Rows as _;
use order9_report::inspect::{self, Report, caption, headline, missing_map, text};
use order9_report::picture::Picture;
use order9_report::terminal::{Canvas, ColourDepth};
use order9_snapshot::inspection::{Findings, View, ZoneView};
use order9_units::NodeId;
use pyo3::prelude::*;

use crate::convert::{escaped, python};
use crate::errors::{SnapshotError, raised};
use crate::picture::PyPicture;
use crate::table::{Making, Table};

/// Findings about a memory. Numbers of huge pages are of 2 MiB; json() has everything.
#[pyclass(frozen, module = "order9", name = "Inspection")]
pub(crate) struct PyInspection(pub(crate) inspect::View);

/// Columns of the text, and lines that it leaves to the map: none.
const CANVAS: Canvas = Canvas { width: 100, lines: 0, colour: ColourDepth::None };

/// Table of the zones.
const ZONES: schema::Table = schema::Table {
    name: "zones",
    columns: &[
        column("node", Kind::Number),
        column("zone", Kind::Text),
        column("present_pages", Kind::Number),
        column("managed_pages", Kind::Number),
        column("free_pages", Kind::Number),
        column("free_pages_in_huge_pages", Kind::Number),
        column("free_huge_pages", Kind::MaybeNumber),
        column("recoverable_huge_pages", Kind::MaybeNumber),
        column("moves", Kind::MaybeNumber),
        column("huge_pages_in_use", Kind::MaybeNumber),
        column("lost_huge_pages", Kind::MaybeNumber),
    ],
};

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

fn zone_row(node: NodeId, zone: &ZoneView) -> [Value<'_>; 11] {
    let View { present, managed, free, free_in_huge_pages, findings } = &zone.view;
    let found = |number: fn(&Findings) -> u64| findings.as_ref().map_or(Value::Nothing, |of| Value::Number(number(of)));
    [
        Value::Number(node.0.into()),
        Value::Text(zone.name),
        Value::Number(present.get()),
        Value::Number(managed.get()),
        Value::Number(free.get()),
        Value::Number(free_in_huge_pages.get()),
        found(|of| of.blocks.free),
        found(|of| of.by_moving.huge_pages),
        found(|of| of.by_moving.moves.get()),
        found(|of| of.blocks.huge),
        found(|of| of.lost.blocks),
    ]
}

impl PyInspection {
    fn findings(&self) -> PyResult<&Findings> {
        let found = self.0.inspection.total.findings.as_ref();
        found.ok_or_else(|| raised::<SnapshotError>(&missing_map(&self.0.inspection)))
    }

    fn picture(&self) -> Option<PyPicture> {
        let map = self.0.map.as_ref()?;
        Some(PyPicture(Picture::new(map, &caption(&self.0.inspection))))
    }
}

#[pymethods]
impl PyInspection {
    /// Number of huge pages that are free now.
    #[getter]
    fn free_huge_pages(&self) -> PyResult<u64> {
        Ok(self.findings()?.blocks.free)
    }

    /// Number of huge pages that moving pages could add to those that are free now.
    #[getter]
    fn recoverable_huge_pages(&self) -> PyResult<u64> {
        Ok(self.findings()?.by_moving.huge_pages)
    }

    /// Least number of pages to move for all of these.
    #[getter]
    fn moves(&self) -> PyResult<u64> {
        Ok(self.findings()?.by_moving.moves.get())
    }

    /// CPU time of these moves, in nanoseconds.
    #[getter]
    fn move_time_ns(&self) -> PyResult<u64> {
        Ok(self.findings()?.by_moving.time.get())
    }

    /// Number of huge pages in use.
    #[getter]
    fn huge_pages_in_use(&self) -> PyResult<u64> {
        Ok(self.findings()?.blocks.huge)
    }

    /// Number of pageblocks that no moving of pages can free.
    #[getter]
    fn lost_huge_pages(&self) -> PyResult<u64> {
        Ok(self.findings()?.lost.blocks)
    }

    /// Number of base pages that exist.
    #[getter]
    fn present_pages(&self) -> u64 {
        self.0.inspection.total.present.get()
    }

    /// Number of free base pages, as the kernel counts them.
    #[getter]
    fn free_pages(&self) -> u64 {
        self.0.inspection.total.free.get()
    }

    /// Number of free base pages in blocks of a huge page or more.
    #[getter]
    fn free_pages_in_huge_pages(&self) -> u64 {
        self.0.inspection.total.free_in_huge_pages.get()
    }

    /// Release of the kernel.
    #[getter]
    fn kernel_release(&self) -> String {
        self.0.inspection.machine.kernel_release.clone()
    }

    /// Number of online CPUs.
    #[getter]
    fn cpus(&self) -> u32 {
        self.0.inspection.machine.cpus
    }

    /// A row for each zone, in base pages and in huge pages; nothing is said of huge pages where the map of frames could not be read.
    fn zones(&self) -> Table {
        let mut rows = Making::new(ZONES);
        for node in &self.0.inspection.nodes {
            for zone in &node.zones {
                rows.row(&zone_row(node.id, zone)).expect("memory takes every row");
            }
        }
        rows.finish()
    }

    /// Everything, as `order9 inspect --json` prints it: `order9 schema inspect` describes it.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &Report::new(&self.0.inspection))
    }

    /// Everything in words, as `order9 inspect` prints it without the map.
    fn text(&self) -> String {
        text(&self.0.inspection, None, CANVAS)
    }

    fn __repr__(&self) -> String {
        headline(&self.0.inspection, CANVAS).trim_end().to_owned()
    }

    pub(crate) fn _repr_html_(&self) -> String {
        let words = format!("<pre>{}</pre>", escaped(&headline(&self.0.inspection, CANVAS)));
        self.picture().map(|picture| picture.drawn()).unwrap_or_default() + &words
    }
}
