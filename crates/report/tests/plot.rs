//! A chart of a small made-up run, compared with a picture that was looked at.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-report --test plot`, then look at the picture.

use std::fs;
use std::path::Path;

use order9_report::picture::{png, svg};
use order9_report::plot::{Chart, Line, Mark, Metric, Panel, Reading, Readings, Size, Style};
use order9_units::{Bytes, CounterMeaning, CounterUnit, Nanos};

fn seconds(seconds: u64) -> Nanos {
    Nanos::new(seconds * 1_000_000_000)
}

fn panel(metric: &str, style: Style) -> Panel {
    let times: Vec<Nanos> = (0..=60).map(seconds).collect();
    let metric: Metric = metric.parse().expect("a metric");
    let series = |slope: u64| {
        let free: Vec<u64> = (0..=60).map(|second| (1 << 18) + second * slope * 1000).collect();
        let scanned: Vec<u64> = (0..=60).map(|second| second * second * slope).collect();
        let level = Some(CounterMeaning::level(CounterUnit::Pages));
        let event = Some(CounterMeaning::event(CounterUnit::Pages));
        let counters = vec![
            Reading { name: "nr_free_pages", meaning: level, values: &free },
            Reading { name: "pgscan_kswapd", meaning: event, values: &scanned },
        ];
        let readings = Readings { times: &times, counters, memory: Some(Bytes::from_gib(4)) };
        metric.evaluate(&readings).expect("there are such counters")
    };
    let line = |group: usize| {
        let values = series(group as u64 + 1).values;
        Line { group, seed: 1, points: times.iter().copied().zip(values).collect() }
    };
    Panel { title: metric.to_string(), unit: series(1).unit, style, lines: vec![line(0), line(1)] }
}

fn chart() -> Chart {
    let mark = |group, at, name: &str| Mark { group, at: seconds(at), name: name.to_owned() };
    Chart {
        title: "made-up".to_owned(),
        subtitle: "on paper, a<b".to_owned(),
        span: (seconds(0), seconds(60)),
        groups: vec!["linux-5.0".to_owned(), "linux-5.1 (2 seeds)".to_owned()],
        marks: vec![mark(0, 0, "prepare"), mark(0, 20, "measure"), mark(1, 0, "prepare"), mark(1, 30, "measure")],
        panels: vec![
            panel("nr_free_pages", Style::Joined),
            panel("nr_free_pages%", Style::Joined),
            panel("pgscan_kswapd/s", Style::Dots),
        ],
    }
}

fn drawn(size: Size) -> String {
    let mut bytes = Vec::new();
    svg::write(&chart().draw(size), &mut bytes).expect("memory takes it");
    String::from_utf8(bytes).expect("SVG is text")
}

#[test]
fn a_chart_looks_as_it_did() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plot.svg");
    let actual = drawn(Size { width: 800, height: None });
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &actual).expect("golden files can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{} differs from what is drawn now:\n{actual}", path.display());
}

#[test]
fn a_chart_has_the_size_asked_for_where_its_panels_fit() {
    assert!(drawn(Size { width: 640, height: Some(700) }).contains(r#"width="640" height="700""#));
    assert!(!drawn(Size { width: 640, height: Some(200) }).contains(r#"height="200""#));
}

#[test]
fn lines_reach_the_pixels_of_a_png() {
    let mut bytes = Vec::new();
    png::write(&chart().draw(Size { width: 800, height: None }), &mut bytes).expect("memory takes it");
    let decoder = ::png::Decoder::new(std::io::Cursor::new(bytes));
    let mut reader = decoder.read_info().expect("a PNG file");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
    reader.next_frame(&mut pixels).expect("all of it");
    for colour in [[0x00, 0x5f, 0x9e], [0xe6, 0x7a, 0x00]] {
        let inked = pixels.as_chunks::<3>().0.iter().filter(|pixel| **pixel == colour).count();
        assert!(inked > 200, "{inked} pixels of {colour:?}");
    }
}
