//! Tables in LaTeX, for papers: `longtable` and `booktabs`, which every distribution has, and nothing else.

use super::Report;
use super::sheet::{Sheet, SheetCell, sentences, sheets};

/// All tables of a report, and below them as a list the sentences that explain them, and `notes`. The first lines name the packages.
#[must_use]
pub fn draw(report: &Report, notes: &[String]) -> String {
    let head = "% Needs \\usepackage{longtable} and \\usepackage{booktabs}.\n";
    let tables = sheets(report).iter().map(table).collect::<Vec<_>>().join("\n");
    let list = sentences(report, BOLD_MARK);
    let list: String = list.iter().chain(notes).map(|sentence| format!("  \\item {}\n", unmarked(sentence))).collect();
    format!("{head}{tables}\n\\begin{{itemize}}\n{list}\\end{{itemize}}\n")
}

/// The mark of a difference in the sentence that explains it.
const BOLD_MARK: &str = "\\textbf{x.xx\\%}";

fn table(sheet: &Sheet) -> String {
    // A column of its own for changes, so that numbers stand below each other.
    let compared = sheet.rows.iter().flat_map(|row| &row.cells).any(|cell| !cell.change.is_empty());
    let span = if compared { 2 } else { 1 };
    let columns = "r".repeat(span * sheet.titles.len());
    let title = |title: &String| match compared {
        true => format!(" & \\multicolumn{{2}}{{r}}{{{}}}", text(title)),
        false => format!(" & {}", text(title)),
    };
    let titles: String = sheet.titles.iter().map(title).collect();
    let rows = sheet.rows.iter().map(|row| {
        let cells: String = row.cells.iter().map(|of| cell(of, compared)).collect();
        format!("{} & {}{cells} \\\\\n", text(&row.label), text(row.unit))
    });
    let rows: String = rows.collect();
    let heading = match sheet.heading.as_str() {
        "" => String::new(),
        heading => {
            let all = 2 + span * sheet.titles.len();
            format!("\\multicolumn{{{all}}}{{@{{}}l}}{{\\bfseries {}}} \\\\\n", text(heading))
        }
    };
    format!(
        "\\begin{{longtable}}{{@{{}}ll{columns}@{{}}}}\n{heading}\\toprule\n & unit{titles} \\\\\n\\midrule\n\\endhead\n\
         {rows}\\bottomrule\n\\end{{longtable}}\n"
    )
}

fn cell(cell: &SheetCell, compared: bool) -> String {
    let value = text(&cell.value);
    let change = text(&cell.change);
    match (compared, cell.significant) {
        (false, _) => format!(" & {value}"),
        (true, false) => format!(" & {value} & {change}"),
        (true, true) => format!(" & {value} & \\textbf{{{change}}}"),
    }
}

/// A sentence, whose mark is LaTeX already.
fn unmarked(sentence: &str) -> String {
    match sentence.strip_prefix(BOLD_MARK) {
        Some(rest) => format!("{BOLD_MARK}{}", text(rest)),
        None => text(sentence),
    }
}

/// Plain text: characters that LaTeX would obey are written as commands.
fn text(plain: &str) -> String {
    let mut out = String::new();
    for c in plain.chars() {
        match c {
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '<' => out += "$<$",
            '>' => out += "$>$",
            '\u{b1}' => out += "$\\pm$",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_latex_obeys_are_escaped() {
        assert_eq!(text("5 % of nr_free \u{b1} 1 <2 {\\}"), "5 \\% of nr\\_free $\\pm$ 1 $<$2 \\{\\textbackslash{}\\}");
    }
}
