//! QEMU's monitor: the few commands that saving a machine takes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::error::GuestError;

/// A connection to the monitor.
pub(super) struct Qmp {
    stream: BufReader<UnixStream>,
}

/// Time in which QEMU answers.
const ANSWER: Duration = Duration::from_secs(30);

impl Qmp {
    /// Greets a monitor.
    pub(super) fn new(stream: UnixStream) -> Result<Self, GuestError> {
        stream.set_read_timeout(Some(ANSWER)).map_err(|error| GuestError::Qmp(error.to_string()))?;
        let mut qmp = Self { stream: BufReader::new(stream) };
        qmp.line()?;
        qmp.command("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Sends a command: what QEMU returns.
    pub(super) fn command(&mut self, name: &str, arguments: &Value) -> Result<Value, GuestError> {
        let text = json!({ "execute": name, "arguments": arguments }).to_string();
        let sent = self.stream.get_mut().write_all(text.as_bytes());
        sent.map_err(|error| GuestError::Qmp(format!("{name}: {error}")))?;
        loop {
            // Events come between.
            let answer = self.line()?;
            if let Some(result) = answer.get("return") {
                return Ok(result.clone());
            }
            if let Some(error) = answer.get("error") {
                return Err(GuestError::Qmp(format!("{name}: {}", error["desc"].as_str().unwrap_or("refused"))));
            }
        }
    }

    /// Waits until a migration has come to its end.
    pub(super) fn migrated(&mut self, time: Duration) -> Result<(), GuestError> {
        let until = Instant::now() + time;
        loop {
            let status = self.command("query-migrate", &json!({}))?;
            match status["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => {
                    let why = status["error-desc"].as_str().unwrap_or("it gave no reason");
                    return Err(GuestError::Qmp(format!("the state of the guest: {why}")));
                }
                _ if Instant::now() > until => {
                    return Err(GuestError::Qmp(format!(
                        "the state of the guest: not there after {} s",
                        time.as_secs()
                    )));
                }
                _ => sleep(Duration::from_millis(20)),
            }
        }
    }

    fn line(&mut self) -> Result<Value, GuestError> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).map_err(|error| GuestError::Qmp(error.to_string()))?;
        if read == 0 {
            return Err(GuestError::Qmp("the monitor is gone".to_owned()));
        }
        serde_json::from_str(&line).map_err(|error| GuestError::Qmp(error.to_string()))
    }
}
