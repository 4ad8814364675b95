//! The page: its data, and the template that carries them.

use std::io::{self, Write};

use serde::Serialize;

use crate::about::About;
use crate::claims::Claims;
use crate::compaction::Compaction;
use crate::fleet::Spread;
use crate::latency::Latency;
use crate::listing::Listing;
use crate::maps::Maps;
use crate::pack::packed;
use crate::tables::Tables;
use crate::timeline::Timeline;
use crate::trace::Traces;
use crate::worth::WorthOf;

/// All that a page shows, from top to bottom.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Name of the page: workload, or file of a snapshot.
    pub title: String,
    /// Machine and settings in a line.
    pub subtitle: String,
    /// Names of the policies that have a colour: `group` of curves and lines counts in them.
    pub groups: Vec<String>,
    /// The parts of the page.
    pub sections: Vec<Section>,
    /// Bytes that sections name by their number, each packed by itself and opened when it is needed.
    #[serde(skip)]
    pub blobs: Vec<Vec<u8>>,
}

/// One part of a page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Section {
    /// Inputs, digest and notes of the runs.
    About(About),
    /// Statements of a published claim with their verdicts.
    Claims(Claims),
    /// Comparison tables and the verdicts of tests.
    Tables(Tables),
    /// Distributions of latencies.
    Latency(Latency),
    /// Counters over time.
    Timeline(Timeline),
    /// Maps of memory.
    Maps(Maps),
    /// Compaction by its recorded events.
    Compaction(Compaction),
    /// Timelines for Perfetto.
    Traces(Traces),
    /// Worth of the switches of an ablation.
    Worth(WorthOf),
    /// Distributions over hosts.
    Spread(Spread),
    /// A table of anything.
    Listing(Listing),
    /// A text as a terminal shows it.
    Text(Text),
}

/// A part of plain text.
#[derive(Clone, Debug, Serialize)]
pub struct Text {
    /// Heading of the part.
    pub title: String,
    /// The text, with lines as they are.
    pub text: String,
}

/// Programs of the page, in the order in which they need each other.
const PROGRAMS: [&str; 14] = [
    include_str!("../assets/uplot/uplot.min.js"),
    include_str!("../assets/base.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/latency.js"),
    include_str!("../assets/timeline.js"),
    include_str!("../assets/series.js"),
    include_str!("../assets/canvas.js"),
    include_str!("../assets/map.js"),
    include_str!("../assets/compaction.js"),
    include_str!("../assets/worth.js"),
    include_str!("../assets/trace.js"),
    include_str!("../assets/fleet.js"),
    include_str!("../assets/page.js"),
];
const STYLES: [&str; 2] = [include_str!("../assets/uplot/uplot.min.css"), include_str!("../assets/page.css")];
const TEMPLATE: &str = include_str!("../assets/page.html");

impl Page {
    /// Writes the page as HTML. Equal pages give equal bytes.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let data = serde_json::to_vec(self).map_err(io::Error::from)?;
        let holders = std::iter::once(("data".to_owned(), data.as_slice()))
            .chain(self.blobs.iter().enumerate().map(|(at, blob)| (format!("blob-{at}"), blob.as_slice())));
        let mut rest = TEMPLATE;
        for (mark, fill) in [
            ("{{title}}", &(|out: &mut dyn Write| out.write_all(escaped(&self.title).as_bytes())) as &Fill<'_>),
            ("{{style}}", &|out| STYLES.iter().try_for_each(|style| writeln!(out, "{style}"))),
            ("{{data}}", &|out| {
                holders.clone().try_for_each(|(id, bytes)| {
                    writeln!(out, "<script type=\"text/plain\" id=\"{id}\">{}</script>", packed(bytes))
                })
            }),
            ("{{programs}}", &|out| {
                PROGRAMS.iter().try_for_each(|program| writeln!(out, "<script>\n{program}</script>"))
            }),
        ] {
            let (before, after) = rest.split_once(mark).expect("the template has every mark, in this order");
            out.write_all(before.as_bytes())?;
            fill(out)?;
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }
}

/// Writes what stands in the place of a mark of the template.
type Fill<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

/// `text` as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_everything_and_names_nothing_outside() {
        let page = Page { title: "a < b".to_owned(), blobs: vec![vec![1, 2, 3]], ..Page::default() };
        let mut bytes = Vec::new();
        page.write(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("<title>a &lt; b</title>"), "{}", &text[..400]);
        for needed in ["id=\"data\"", "id=\"blob-0\"", "default-src 'none'", "MIT License"] {
            assert!(text.contains(needed), "{needed}");
        }
        assert!(!text.contains("{{"), "a mark of the template is left");
        for outside in ["src=\"", "href=\"http", "@import", "url("] {
            assert!(!text.contains(outside), "{outside}");
        }
    }

    #[test]
    fn no_program_ends_its_own_element() {
        for program in PROGRAMS {
            assert!(!program.contains("</script"), "{}", &program[..80]);
        }
    }
}
