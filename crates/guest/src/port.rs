//! The serial port to the host.

use std::fs::File;
use std::io;

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// The second serial port: the first is the console.
const PORT: &str = "/dev/ttyS1";

/// Opens the port so that bytes pass as they are.
pub(crate) fn open() -> io::Result<File> {
    let port = File::options().read(true).write(true).open(PORT)?;
    let mut settings = tcgetattr(&port)?;
    settings.make_raw();
    tcsetattr(&port, OptionalActions::Now, &settings)?;
    Ok(port)
}
