//! Files of pictures: the ending of the name says which kind.

use std::path::Path;

use order9_report::picture::{self, Picture};

use crate::failure::Failure;
use crate::target::Target;

/// A picture to be drawn, its place tried before any work is done.
pub(crate) struct PictureFile {
    target: Target,
    write: fn(&Picture, &mut dyn std::io::Write) -> std::io::Result<()>,
}

impl PictureFile {
    /// A file called so, which ends in `.png` or `.svg`; `-` is SVG on standard output.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let write: fn(&Picture, &mut dyn std::io::Write) -> _ = match extension.as_deref() {
            Some("png") => |picture, out| picture::png::write(picture, out),
            Some("svg") => |picture, out| picture::svg::write(picture, out),
            None if path.as_os_str() == "-" => |picture, out| picture::svg::write(picture, out),
            _ => return Err(Failure::file(path, "expected a name that ends in .png or .svg, or - for SVG")),
        };
        Ok(Self { target: Target::new(path, true)?, write })
    }

    pub(crate) fn name(&self) -> &Path {
        self.target.name()
    }

    /// Whether it goes to standard output.
    pub(crate) fn is_output(&self) -> bool {
        self.target.is_output()
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, picture: &Picture) -> Result<(), Failure> {
        self.target.write(|out| (self.write)(picture, out)).map(drop)
    }
}
