//! [`PyMap`]: memory frame by frame, as an array and as a picture.

use order9_report::inspect::{View, caption};
use order9_report::picture::Picture;
use order9_snapshot::Snapshot;
use order9_snapshot::classify::{FrameClass, Layout};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{OrRaise as _, SnapshotError};
use crate::picture::PyPicture;

/// Use of every frame of a memory. to_numpy gives a class for each frame, by its pfn; classes names them.
#[pyclass(frozen, module = "order9", name = "Map")]
pub(crate) struct PyMap {
    classes: Vec<u8>,
    picture: PyPicture,
}

impl PyMap {
    /// The map of `snapshot`, which `view` is of.
    pub(crate) fn of(snapshot: &Snapshot, view: &View) -> PyResult<Self> {
        let layout = Layout::of(snapshot).or_raise::<SnapshotError>()?;
        let end = snapshot.zones.iter().map(|zone| zone.span.end.get()).max().unwrap_or(0);
        let mut classes = vec![FrameClass::Hole.index() as u8; end as usize];
        for zone in 0..layout.zones().len() {
            layout.for_each_chunk(zone, |start, of| {
                let part = &mut classes[start.get() as usize..][..of.len()];
                part.iter_mut().zip(of).for_each(|(number, class)| *number = class.index() as u8);
            });
        }
        let map = view.map.clone().unwrap_or_default();
        Ok(Self { classes, picture: PyPicture(Picture::new(&map, &caption(&view.inspection))) })
    }
}

#[pymethods]
impl PyMap {
    /// The class of each frame, a byte each, by pfn.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.classes)
    }

    /// Names of the classes by their number in the array.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        FrameClass::ALL.into_iter().try_for_each(|class| dict.set_item(class.index(), class.name()))?;
        Ok(dict)
    }

    /// The map as a picture: a cell for each pageblock.
    fn picture(&self) -> PyPicture {
        PyPicture(self.picture.0.clone())
    }

    pub(crate) fn _repr_svg_(&self) -> String {
        self.picture.drawn()
    }

    fn __len__(&self) -> usize {
        self.classes.len()
    }

    fn __repr__(&self) -> String {
        format!("Map({} frames)", self.classes.len())
    }
}
