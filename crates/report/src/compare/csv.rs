//! Tables as CSV, one line per value, so that a spreadsheet or a data frame can group them as it likes.

use ::csv::WriterBuilder;

use super::Report;

const HEADER: [&str; 8] =
    ["benchmark", "statistic", "operation", "unit", "column", "value", "change_percent", "significant"];

/// All tables of a report. A field is empty where there is no value or no comparison.
#[must_use]
pub fn draw(report: &Report) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    let mut write = |record: [&str; 8]| writer.write_record(record).expect("a line of eight fields fits into memory");
    write(HEADER);
    for table in &report.tables {
        for row in &table.rows {
            for (title, cell) in table.columns.iter().zip(&row.cells) {
                let value = cell.value().map(|value| value.to_string()).unwrap_or_default();
                let change = cell.change().map(|change| change.percent.to_string()).unwrap_or_default();
                let significant = cell.change().map(|change| change.significant.to_string()).unwrap_or_default();
                let names = [&report.benchmark, &row.statistic, &row.operation].map(String::as_str);
                write([names[0], names[1], names[2], row.unit.name(), title.as_str(), &value, &change, &significant]);
            }
        }
    }
    let bytes = writer.into_inner().expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("all fields are text")
}
