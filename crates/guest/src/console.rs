//! Lines for a person who looks at the guest's console.

use std::fs::File;
use std::io::Write as _;

/// Writes a line to the console. Where that fails nobody is left to be told.
pub(crate) fn say(text: &str) {
    if let Ok(mut console) = File::options().write(true).open("/dev/console") {
        let _ = writeln!(console, "order9-guest: {text}");
    }
}
