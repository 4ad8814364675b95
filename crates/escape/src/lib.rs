//! Makes strings of others fit to be printed: names of files, settings of a captured host, titles in a run directory.
//!
//! A terminal obeys control characters, an XML parser refuses them, and characters that reorder or hide text make a reader
//! see other words than there are. [`is_plain`] says which characters are none of these; every other one is written out,
//! `\u{1b}` for instance. [`line()`] and [`path`] are for a string within a sentence, [`text`], [`styled`] and [`json`] for
//! whole output on its way out. Never judges what a string means, and never shortens one.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::path::Path;

/// Characters that are neither controls nor seen, or that change the order in which others are seen: first and last of
/// each range. After the properties `Bidi_Control`, `Default_Ignorable_Code_Point` and the line and paragraph separators
/// of Unicode 16, without the joiners and variation selectors that scripts and emoji are written with.
const UNSEEN: [(char, char); 13] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200b}'),
    ('\u{200e}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character stands for nothing but itself wherever it is printed. Line ends and tabs do not.
#[must_use]
pub fn is_plain(c: char) -> bool {
    !c.is_control()
        && !UNSEEN.iter().any(|&(first, last)| (first..=last).contains(&c))
        && u32::from(c) & 0xfffe != 0xfffe
}

/// `foreign` on one line.
#[must_use]
pub fn line(foreign: &str) -> Cow<'_, str> {
    escaped(foreign, is_plain, write_out)
}

/// The name of a file on one line. What is not UTF-8 becomes U+FFFD.
#[must_use]
pub fn path(path: &Path) -> String {
    line(&path.to_string_lossy()).into_owned()
}

/// Output without any style: lines and tabs stay.
#[must_use]
pub fn text(output: &str) -> Cow<'_, str> {
    escaped(output, is_laid_out, write_out)
}

/// Output with colours and other looks (the sequences `ESC [ numbers m`), which stay, as lines and tabs do.
///
/// Whatever is foreign in it must have been escaped before: its looks could not be told from ours.
#[must_use]
pub fn styled(output: &str) -> Cow<'_, str> {
    if output.chars().all(is_laid_out) {
        return Cow::Borrowed(output);
    }
    let mut out = String::with_capacity(output.len());
    for (nth, part) in output.split('\u{1b}').enumerate() {
        let look = if nth == 0 { 0 } else { length_of_look(part) };
        if nth > 0 {
            out.push_str(if look == 0 { "\\u{1b}" } else { "\u{1b}" });
        }
        out.push_str(&part[..look]);
        out.push_str(&text(&part[look..]));
    }
    Cow::Owned(out)
}

/// JSON, in which only strings hold characters that are not plain: they get JSON's own escapes, so that a program reads the
/// same as before.
#[must_use]
pub fn json(output: &str) -> Cow<'_, str> {
    escaped(output, is_laid_out, |out, c| {
        c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
    })
}

fn is_laid_out(c: char) -> bool {
    is_plain(c) || c == '\n' || c == '\t'
}

/// Length in bytes of the rest of a sequence that changes looks: `after` follows an ESC. 0 for any other sequence.
fn length_of_look(after: &str) -> usize {
    let Some(numbers) = after.strip_prefix('[') else { return 0 };
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':').unwrap_or(numbers.len());
    if numbers[end..].starts_with('m') { end + "[m".len() } else { 0 }
}

/// Writes `c` as a string literal of Rust has it: `\n`, `\t`, `\u{1b}`.
fn write_out(out: &mut String, c: char) {
    match c {
        '\n' | '\r' | '\t' => out.extend(c.escape_default()),
        _ => out.extend(c.escape_unicode()),
    }
}

fn escaped(text: &str, stays: impl Fn(char) -> bool, write: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    text.chars().for_each(|c| if stays(c) { out.push(c) } else { write(&mut out, c) });
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(line("\u{1b}]52;c;aGk=\u{7}"), "\\u{1b}]52;c;aGk=\\u{7}");
        assert_eq!(line("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
        assert_eq!(line("a\r\n\tb"), "a\\r\\n\\tb");
        assert_eq!(line("\u{202e}gnp.exe\u{2066}\u{200f}"), "\\u{202e}gnp.exe\\u{2066}\\u{200f}");
        assert_eq!(line("\u{e0041}\u{feff}\u{1fffe}"), "\\u{e0041}\\u{feff}\\u{1fffe}");
    }

    #[test]
    fn what_people_write_stays() {
        for usual in ["6.18.0-rc3 #1", "zażółć gęślą jaźń", "内存 メモリ 메모리", "فهرس", "👩‍💻 ☂️", "half\u{2580}block"]
        {
            assert_eq!(line(usual), usual);
        }
    }

    #[test]
    fn only_looks_pass_as_style() {
        assert_eq!(styled("\u{1b}[1m\u{1b}[38;5;231mbold\u{1b}[0m\n"), "\u{1b}[1m\u{1b}[38;5;231mbold\u{1b}[0m\n");
        assert_eq!(styled("\u{1b}[2J\u{1b}]8;;x\u{7}\u{1b}[31"), "\\u{1b}[2J\\u{1b}]8;;x\\u{7}\\u{1b}[31");
        assert_eq!(styled("\u{1b}\u{1b}[m"), "\\u{1b}\u{1b}[m");
        assert_eq!(text("\u{1b}[1mbold\n"), "\\u{1b}[1mbold\n");
    }

    #[test]
    fn json_keeps_its_meaning() {
        assert_eq!(json("\"\u{9b}\u{202e}\u{e0041}\u{7f}\"\n"), "\"\\u009b\\u202e\\udb40\\udc41\\u007f\"\n");
    }

    proptest! {
        #[test]
        fn nothing_comes_through_twice_or_is_lost(text_ in any::<String>()) {
            let once = line(&text_);
            prop_assert!(once.chars().all(is_plain));
            prop_assert_eq!(line(&once), once.clone());
            prop_assert!(text(&text_).chars().all(is_laid_out));
            let kept: String = text_.chars().filter(|c| is_plain(*c)).collect();
            prop_assert!(once.len() >= kept.len());
        }
    }
}
