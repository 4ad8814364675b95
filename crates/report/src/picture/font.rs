//! The typeface of pictures: Noto Sans Mono, rasterised beforehand in three faces.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};

use super::TextSize;

impl TextSize {
    fn face(self) -> (FontWeight, RasterHeight) {
        match self {
            Self::Small => (FontWeight::Regular, RasterHeight::Size16),
            Self::Bold => (FontWeight::Bold, RasterHeight::Size16),
            Self::Large => (FontWeight::Bold, RasterHeight::Size24),
        }
    }

    /// Width of a character in pixels.
    pub(crate) fn advance(self) -> u32 {
        let (weight, height) = self.face();
        get_raster_width(weight, height) as u32
    }

    /// Height of a line in pixels.
    pub(super) fn height(self) -> u32 {
        self.face().1.val() as u32
    }

    /// The picture of a character; a question mark where the typeface lacks it.
    pub(super) fn glyph(self, c: char) -> RasterizedChar {
        let (weight, height) = self.face();
        get_raster(c, weight, height)
            .or_else(|| get_raster('?', weight, height))
            .expect("the typeface has a question mark")
    }
}
