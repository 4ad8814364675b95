//! Tables in Markdown, as GitHub and mail readers know them. Columns are aligned, so that the source can be read, too.

use super::Report;
use super::sheet::{Sheet, SheetCell, sentences, sheets};
use super::text::width;

/// All tables of a report with their headings, and below them the sentences that explain them, and `notes`.
#[must_use]
pub fn draw(report: &Report, notes: &[String]) -> String {
    let tables = sheets(report).iter().map(table).collect::<Vec<_>>().join("\n");
    let sentences = sentences(report, "**x.xx%**");
    let list: String = sentences.iter().chain(notes).map(|sentence| format!("- {}\n", unmarked(sentence))).collect();
    format!("{tables}\n{list}")
}

fn table(sheet: &Sheet) -> String {
    let header = ["".to_owned(), "unit".to_owned()].into_iter().chain(sheet.titles.iter().map(|title| text(title)));
    let lines = sheet.rows.iter().map(|row| {
        let names = [text(&row.label), text(row.unit)];
        names.into_iter().chain(row.cells.iter().map(cell)).collect::<Vec<_>>()
    });
    let lines: Vec<Vec<String>> = [header.collect()].into_iter().chain(lines).collect();
    let widths = (0..lines[0].len()).map(|column| lines.iter().map(|line| width(&line[column])).max().unwrap_or(0));
    let widths: Vec<usize> = widths.map(|width| width.max(3)).collect();
    let rule: Vec<String> = widths.iter().enumerate().map(|(at, width)| rule(*width, at >= 2)).collect();
    let mut out = if sheet.heading.is_empty() { String::new() } else { format!("**{}**\n\n", text(&sheet.heading)) };
    out += &row(&lines[0], &widths);
    out += &row(&rule, &widths);
    lines[1..].iter().for_each(|line| out += &row(line, &widths));
    out
}

/// The line below the header, which says where cells align.
fn rule(width: usize, right: bool) -> String {
    if right { format!("{:->1$}", ":", width) } else { "-".repeat(width) }
}

fn row(cells: &[String], widths: &[usize]) -> String {
    let cells =
        cells.iter().zip(widths).enumerate().map(|(at, (cell, &width))| {
            if at < 2 { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") }
        });
    format!("|{}\n", cells.collect::<String>())
}

fn cell(cell: &SheetCell) -> String {
    let SheetCell { value, change, significant } = cell;
    match (change.as_str(), significant) {
        ("", _) => value.clone(),
        (change, true) => format!("{value} (**{change}**)"),
        (change, false) => format!("{value} ({change})"),
    }
}

/// A sentence, whose mark is Markdown already.
fn unmarked(sentence: &str) -> String {
    match sentence.strip_prefix("**x.xx%**") {
        Some(rest) => format!("**x.xx%**{}", text(rest)),
        None => text(sentence),
    }
}

/// Plain text: characters that Markdown would obey get a backslash. An underscore inside a word is plain.
fn text(plain: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut rest = plain.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        let in_word = before.is_alphanumeric() && after.is_alphanumeric();
        if matches!(c, '\\' | '|' | '*' | '`' | '<' | '[') || c == '_' && !in_word {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_markdown_obeys_are_escaped() {
        assert_eq!(text("nr_free a|b *c* <d> _e"), "nr_free a\\|b \\*c\\* \\<d> \\_e");
    }
}
