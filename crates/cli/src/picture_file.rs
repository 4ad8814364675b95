//! Files of pictures: the ending of the name says which kind.

use std::path::{Path, PathBuf};

use order9_report::picture::{self, Picture};

use crate::failure::Failure;
use crate::output::write_file;

/// A picture to be drawn, its name checked before any work is done.
pub(crate) struct PictureFile {
    path: PathBuf,
    write: fn(&Picture, &mut dyn std::io::Write) -> std::io::Result<()>,
}

impl PictureFile {
    /// A file called so, which ends in `.png` or `.svg`.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let path = path.to_owned();
        match extension.as_deref() {
            Some("png") => Ok(Self { path, write: |picture, out| picture::png::write(picture, out) }),
            Some("svg") => Ok(Self { path, write: |picture, out| picture::svg::write(picture, out) }),
            _ => Err(Failure::file(&path, "expected a name that ends in .png or .svg")),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, picture: &Picture) -> Result<(), Failure> {
        write_file(&self.path, |out| (self.write)(picture, out))
    }
}
