//! [`PyPicture`]: a map or a chart, as SVG in a notebook and as a file.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use order9_report::picture::{Picture, png, svg};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// A map of memory or a chart. Notebooks draw it; save writes SVG or PNG.
#[pyclass(frozen, module = "order9", name = "Picture")]
pub(crate) struct PyPicture(pub(crate) Picture);

impl PyPicture {
    /// The picture as SVG.
    pub(crate) fn drawn(&self) -> String {
        let mut out = Vec::new();
        svg::write(&self.0, &mut out).expect("memory takes what is drawn");
        String::from_utf8(out).expect("SVG is text")
    }
}

#[pymethods]
impl PyPicture {
    /// The picture as SVG.
    fn svg(&self) -> String {
        self.drawn()
    }

    fn _repr_svg_(&self) -> String {
        self.drawn()
    }

    /// Writes the picture to a file that ends in .svg or .png.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let refused = |error: std::io::Error| PyOSError::new_err(format!("{}: {error}", path.display()));
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let write = match ending {
            "svg" => |picture: &Picture, out: &mut BufWriter<File>| svg::write(picture, out),
            "png" => |picture: &Picture, out: &mut BufWriter<File>| png::write(picture, out),
            _ => return Err(PyValueError::new_err(format!("{}: expected a name with .svg or .png", path.display()))),
        };
        let mut out = BufWriter::new(File::create(&path).map_err(refused)?);
        write(&self.0, &mut out).and_then(|()| out.flush()).map_err(refused)
    }

    fn __repr__(&self) -> String {
        format!("Picture({} x {})", self.0.width, self.0.height)
    }
}
