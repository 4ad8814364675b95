//! Any bytes as a format file of a tracepoint and a piece of a ring buffer: they are read, or refused.

use order9_trace::{Format, SubBuffer};

use crate::sections::sections;

/// Files of an input: the format of a tracepoint, and what one `read` of `trace_pipe_raw` gave.
const FILES: [&str; 2] = ["format", "piece"];

/// Reads the files of `input`, and every event by the format, whichever tracepoint it is of.
pub(crate) fn run(input: &[u8]) {
    let files = sections(input, &FILES);
    let file = |name: &str| files.iter().find(|(of, _)| *of == name).map(|(_, contents)| *contents);
    let format = file(FILES[0]).and_then(|text| Format::parse("fuzz", &String::from_utf8_lossy(text)).ok());
    // An input without a mark is a piece.
    let piece = file(FILES[1]).unwrap_or(input);
    let events = match SubBuffer::parse(piece) {
        Ok(SubBuffer { events, .. }) => events,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(events.iter().map(|event| event.data.len()).sum::<usize>() <= piece.len(), "events lie beside each other");
    for event in &events {
        let _ = Format::id_of(event.data);
        let Some(format) = &format else { continue };
        let text = format.fields(event.data);
        let _ = (format.id(), format.pid(event.data), format.number("order", event.data), format.name(), text);
    }
}
