//! Charts as specifications of Vega-Lite, with their data inside, for notebooks and papers.

use std::io::Write;

use order9_report::plot::{Chart, Panel, Style};
use serde_json::{Map, Value, json};

use crate::ExportError;

/// Schema of the specifications: Vega-Lite 6.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// Writes one panel of a chart: a colour for each policy, a line for each run.
///
/// # Errors
/// A place that cannot be written to.
pub fn write(chart: &Chart, panel: &Panel, out: &mut dyn Write) -> Result<(), ExportError> {
    serde_json::to_writer(&mut *out, &specification(chart, panel))?;
    Ok(out.write_all(b"\n")?)
}

/// The specification of one panel.
fn specification(chart: &Chart, panel: &Panel) -> Value {
    let unit = panel.unit.name();
    let title = if unit.is_empty() { panel.title.clone() } else { format!("{} ({unit})", panel.title) };
    let mark = match panel.style {
        Style::Joined => json!({"type": "line", "tooltip": true}),
        Style::Dots => json!({"type": "point", "filled": true, "size": 12, "opacity": 0.5, "tooltip": true}),
    };
    json!({
        "$schema": SCHEMA,
        "title": {"text": chart.title, "subtitle": chart.subtitle},
        "width": 640,
        "height": 240,
        "data": {"name": "points", "values": points(chart, panel)},
        "mark": mark,
        "encoding": {
            "x": {"field": "time", "type": "quantitative", "title": "time (s)"},
            "y": {"field": "value", "type": "quantitative", "title": title, "axis": {"format": "~s"}},
            "color": {"field": "policy", "type": "nominal", "title": "policy", "sort": chart.groups},
            "detail": {"field": "run", "type": "nominal"},
        },
    })
}

/// A row for each value: the time in seconds, the value, the policy and the number of the line. A gap is `null`.
fn points(chart: &Chart, panel: &Panel) -> Vec<Value> {
    let of_line = |(run, line): (usize, &order9_report::plot::Line)| {
        let policy = chart.groups[line.group].clone();
        let row = move |&(at, value): &(order9_units::Nanos, f64)| {
            let row: Map<String, Value> = [
                ("time".to_owned(), json!(at.get() as f64 / 1e9)),
                ("value".to_owned(), if value.is_finite() { json!(value) } else { Value::Null }),
                ("policy".to_owned(), json!(policy)),
                ("run".to_owned(), json!(run)),
            ]
            .into_iter()
            .collect();
            Value::Object(row)
        };
        line.points.iter().map(row).collect::<Vec<_>>()
    };
    panel.lines.iter().enumerate().flat_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use order9_report::plot::{Line, Quantity, Unit};
    use order9_units::Nanos;

    use super::*;

    #[test]
    fn a_chart_has_its_values_and_its_gaps() {
        let points = vec![(Nanos::new(500_000_000), 1.5), (Nanos::new(1_000_000_000), f64::NAN)];
        let panel = Panel {
            title: "pgfault/s".to_owned(),
            unit: Unit { quantity: Quantity::Events, per_second: true },
            style: Style::Joined,
            lines: vec![Line { group: 0, seed: 1, points }],
        };
        let chart = Chart {
            title: "usemem".to_owned(),
            subtitle: "a machine".to_owned(),
            span: (Nanos::ZERO, Nanos::new(1_000_000_000)),
            groups: vec!["linux-5.0".to_owned()],
            marks: Vec::new(),
            panels: Vec::new(),
        };
        let made = specification(&chart, &panel);
        let expected = json!([
            {"time": 0.5, "value": 1.5, "policy": "linux-5.0", "run": 0},
            {"time": 1.0, "value": null, "policy": "linux-5.0", "run": 0},
        ]);
        assert_eq!(made["data"]["values"], expected);
        assert_eq!(made["encoding"]["y"]["title"], "pgfault/s (events/s)");
    }
}
