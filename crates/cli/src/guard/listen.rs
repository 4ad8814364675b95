//! Answers GET /metrics, on an address or a Unix socket: HTTP as far as a scrape needs it, one request at a time.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use order9_guard::Listen;

/// The latest metrics, which the guard writes and the listener reads.
pub(super) type Latest = Arc<Mutex<String>>;

/// A listener at work; it ends when it is dropped.
pub(super) struct Listening {
    place: Listen,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Longest request, and the time that a client may take for it.
const REQUEST_MAX: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(2);

impl Listening {
    /// Listens at a place.
    ///
    /// # Errors
    /// A place that is taken or not allowed.
    pub(super) fn start(place: &Listen, latest: &Latest) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, latest) = (Arc::clone(&stop), Arc::clone(latest));
        let serve: Box<dyn FnOnce() + Send> = match place {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                Box::new(move || serve(|| Ok(listener.accept()?.0), &stopped, &latest))
            }
            Listen::Unix(path) => {
                let listener = bind(path)?;
                Box::new(move || serve(|| Ok(listener.accept()?.0), &stopped, &latest))
            }
        };
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
        Ok(Self { place: place.clone(), stop, thread: Some(thread) })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A visit lets the thread see it.
        let visited = match &self.place {
            Listen::Tcp(address) => TcpStream::connect_timeout(address, PATIENCE).map(drop),
            Listen::Unix(path) => UnixStream::connect(path).map(drop),
        };
        if let (Ok(()), Some(thread)) = (visited, self.thread.take()) {
            let _ = thread.join();
        }
        if let Listen::Unix(path) = &self.place {
            let _ = fs::remove_file(path);
        }
    }
}

/// A socket at this path, which everybody may ask. One that a guard left that was killed is replaced: two never run at once.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// A connection whose waits end.
trait Patient: Read + Write {
    fn limit(&self) -> io::Result<()>;
}

impl Patient for TcpStream {
    fn limit(&self) -> io::Result<()> {
        self.set_read_timeout(Some(PATIENCE))?;
        self.set_write_timeout(Some(PATIENCE))
    }
}

impl Patient for UnixStream {
    fn limit(&self) -> io::Result<()> {
        self.set_read_timeout(Some(PATIENCE))?;
        self.set_write_timeout(Some(PATIENCE))
    }
}

fn serve<S: Patient>(accept: impl Fn() -> io::Result<S>, stop: &AtomicBool, latest: &Latest) {
    loop {
        let stream = accept();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match stream {
            // A client that goes away is no business of the guard's.
            Ok(mut stream) => drop(answer(&mut stream, latest)),
            // Without file descriptors left, say.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn answer(stream: &mut impl Patient, latest: &Latest) -> io::Result<()> {
    stream.limit()?;
    let request = request(stream)?;
    let mut words = request.lines().next().unwrap_or_default().split(' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => ("200 OK", latest.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        (Some("GET"), _) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "expected GET /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// The lines up to the first empty one.
fn request(stream: &mut impl Read) -> io::Result<String> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
    while bytes.len() < REQUEST_MAX && !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => break,
            length => bytes.extend_from_slice(&piece[..length]),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(stream: &mut (impl Read + Write), request: &str) -> String {
        stream.write_all(request.as_bytes()).expect("it is heard");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    #[test]
    fn metrics_are_answered_until_the_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("guard.sock");
        let (place, latest) = (Listen::Unix(path.clone()), Latest::default());
        *latest.lock().expect("nobody has it") = "order9_guard_steps_total 7\n".to_owned();
        let ask = |request: &str| ask(&mut UnixStream::connect(&path).expect("it listens"), request);
        for _ in 0..2 {
            let listening = Listening::start(&place, &latest).expect("the place is free");
            let answer = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(
                answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\norder9_guard_steps_total 7\n")
            );
            assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
            assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
            assert!(ask(&"x".repeat(REQUEST_MAX)).starts_with("HTTP/1.1 405 "));
            drop(listening);
            assert!(!path.exists());
        }
        // As a kill leaves it.
        drop(UnixListener::bind(&path).expect("it is free"));
        drop(Listening::start(&place, &latest).expect("nobody listens there"));
        std::fs::write(&path, "text").expect("it can be written");
        assert!(Listening::start(&place, &latest).is_err(), "a file that is no socket is left alone");
    }
}
