//! Fields of a tracepoint, as its format file tells them, and their values as text.

use std::fmt::Write as _;

use tracepoint_decode::{PerfByteReader, PerfEventFormat, PerfFieldArray, PerfFieldFormat};

/// The field with the number of the task.
const PID: &str = "common_pid";
/// Fields with frame numbers and addresses, which everybody reads in hexadecimal.
const HEXADECIMAL: &str = "pfn";

/// The form of a tracepoint's records.
#[derive(Debug)]
pub struct Format {
    format: PerfEventFormat,
}

/// Text that is no format file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the format file of {0} has another form than is known")]
pub struct FormatError(pub String);

impl Format {
    /// Reads the format file of a tracepoint of the group `system`.
    ///
    /// # Errors
    /// Text of another form.
    pub fn parse(system: &str, text: &str) -> Result<Self, FormatError> {
        // Nothing stands behind the text for people, and nobody reads that here.
        let text = text.split_once(FOR_PEOPLE).map_or(text, |(fields, _)| fields);
        let format = if is_readable(text) { PerfEventFormat::parse(true, system, text) } else { None };
        format.map(|format| Self { format }).ok_or_else(|| FormatError(system.to_owned()))
    }

    /// Number of the tracepoint, with which its records begin.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.format.id()
    }

    /// Name of the tracepoint.
    #[must_use]
    pub fn name(&self) -> &str {
        self.format.name()
    }

    /// Number of the tracepoint that a record is of.
    #[must_use]
    pub fn id_of(record: &[u8]) -> Option<u32> {
        record.first_chunk().copied().map(|bytes| u16::from_ne_bytes(bytes).into())
    }

    /// Number of the task of a record; 0 where the record is too short.
    #[must_use]
    pub fn pid(&self, record: &[u8]) -> u32 {
        self.number(PID, record).map_or(0, |pid| pid as u32)
    }

    /// Number in the field `name` of a record; `None` where there is no such field, no number in it, or the record is too short.
    #[must_use]
    pub fn number(&self, name: &str, record: &[u8]) -> Option<i128> {
        let field = self.format.fields().iter().find(|field| field.name() == name)?;
        number(bytes(field, record)?, field.signed() == Some(true))
    }

    /// Fields of a record, `key=value` with blanks between. Fields that the record is too short for are left out.
    #[must_use]
    pub fn fields(&self, record: &[u8]) -> String {
        let mut text = String::new();
        for field in self.format.fields().iter().skip(self.format.common_field_count()) {
            let Some(value) = value(field, record) else { continue };
            let blank = if text.is_empty() { "" } else { " " };
            // What is written to a string arrives.
            let _ = write!(text, "{blank}{}={value}", field.name());
        }
        text
    }
}

/// Begin of the line with the text for people, which is the last one.
const FOR_PEOPLE: &str = "\nprint fmt:";
/// Digits of the longest number that is read, which may be hexadecimal.
const DIGITS_MAX: usize = 8;

/// Whether the library can read a text without counting beyond 32 bits or cutting a character in two: it does not ask.
fn is_readable(text: &str) -> bool {
    text.is_ascii() && text.split(|c: char| !c.is_ascii_hexdigit()).all(|digits| digits.len() <= DIGITS_MAX)
}

fn bytes<'a>(field: &PerfFieldFormat, record: &'a [u8]) -> Option<&'a [u8]> {
    field.get_field_bytes(record, PerfByteReader::KEEP_ENDIAN)
}

/// The value of a field as text.
fn value(field: &PerfFieldFormat, record: &[u8]) -> Option<String> {
    let bytes = bytes(field, record)?;
    if field.array() != PerfFieldArray::None {
        // Arrays of tracepoints are texts that a zero ends.
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        return Some(String::from_utf8_lossy(text).into_owned());
    }
    let number = number(bytes, field.signed() == Some(true))?;
    let is_hexadecimal = field.name().ends_with(HEXADECIMAL) && number >= 0;
    Some(if is_hexadecimal { format!("{number:#x}") } else { number.to_string() })
}

/// A number of 1, 2, 4 or 8 bytes.
fn number(bytes: &[u8], signed: bool) -> Option<i128> {
    let unsigned: u64 = match bytes.len() {
        1 => bytes[0].into(),
        2 => u16::from_ne_bytes(*bytes.first_chunk()?).into(),
        4 => u32::from_ne_bytes(*bytes.first_chunk()?).into(),
        8 => u64::from_ne_bytes(*bytes.first_chunk()?),
        _ => return None,
    };
    let unused = 64 - 8 * bytes.len() as u32;
    Some(if signed { ((unsigned << unused).cast_signed() >> unused).into() } else { unsigned.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a tracepoint of Linux 6.18, as it stands in tracefs.
    const TEXT: &str = "name: mm_compaction_isolate_migratepages
ID: 561
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long start_pfn;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long end_pfn;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned long nr_scanned;\toffset:24;\tsize:8;\tsigned:0;
\tfield:int status;\toffset:32;\tsize:4;\tsigned:1;

print fmt: \"range=(0x%lx ~ 0x%lx)\", REC->start_pfn, REC->end_pfn
";

    #[test]
    fn records_are_read_by_the_format_of_their_kernel() {
        let format = Format::parse("compaction", TEXT).expect("a format file");
        assert_eq!((format.id(), format.name()), (561, "mm_compaction_isolate_migratepages"));
        let mut record = vec![0x31, 0x02, 0, 0];
        record.extend(77_u32.to_ne_bytes());
        [0x1000_u64, 0x1200, 512].iter().for_each(|number| record.extend(number.to_ne_bytes()));
        record.extend((-1_i32).to_ne_bytes());
        assert_eq!((Format::id_of(&record), format.pid(&record)), (Some(561), 77));
        assert_eq!(format.fields(&record), "start_pfn=0x1000 end_pfn=0x1200 nr_scanned=512 status=-1");
        let number = |name| format.number(name, &record);
        assert_eq!((number("status"), number("nr_scanned"), number("nr_isolated")), (Some(-1), Some(512), None));
        assert_eq!(format.fields(&record[..20]), "start_pfn=0x1000");
        assert_eq!((Format::id_of(&[1]), format.pid(&record[..5])), (None, 0));
    }

    #[test]
    fn a_text_of_another_form_is_no_format() {
        assert_eq!(Format::parse("x", "nothing of it").err(), Some(FormatError("x".to_owned())));
        for odd in [TEXT.replace("start_pfn;", "st\u{fffd}rt;"), TEXT.replace("offset:8", "offset:99999999999")] {
            assert!(Format::parse("x", &odd).is_err(), "{odd}");
        }
    }
}
