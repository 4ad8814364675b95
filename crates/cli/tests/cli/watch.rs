//! `inspect --watch` on a terminal: it gives the terminal back however it ends, and fits any size.

use std::io::{Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty};

/// A watch on a terminal of its own, and everything that it wrote there.
struct Watch {
    child: Child,
    terminal: Arc<Pty>,
    written: Arc<Mutex<Vec<u8>>>,
}

const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";
const SHOWN: &str = "\u{1b}[?25h";

impl Watch {
    fn start(lines: u16, columns: u16) -> Self {
        let (terminal, end) = pty_process::blocking::open().expect("this system has terminals");
        terminal.resize(Size::new(lines, columns)).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_order9")).args(["inspect", "--watch=0.2"]).env("TERM", "xterm");
        let child = command.env_remove("NO_COLOR").spawn(end).expect("the command starts");
        let (terminal, written) = (Arc::new(terminal), Arc::new(Mutex::new(Vec::new())));
        let (from, into) = (Arc::clone(&terminal), Arc::clone(&written));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading ends with an error when nobody holds the other end any more.
            while let Ok(read @ 1..) = (&*from).read(&mut buffer) {
                into.lock().unwrap().extend(&buffer[..read]);
            }
        });
        let watch = Self { child, terminal, written };
        watch.until("q quit");
        watch
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Waits until it has written `part`.
    #[track_caller]
    fn until(&self, part: &str) {
        self.until_text(part, |text| text.contains(part));
    }

    /// Waits until the terminal has got what is `wanted`: the last of it may be read after the program has ended.
    fn until_text(&self, wanted: &str, holds: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !holds(&self.text()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "no {wanted:?} in {:?}", self.text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn forget(&self) {
        self.written.lock().unwrap().clear();
    }

    fn press(&self, keys: &[u8]) {
        (&*self.terminal).write_all(keys).unwrap();
    }

    fn signal(&self, name: &str) {
        let sent = std::process::Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end, after which the terminal must be as it was.
    #[track_caller]
    fn ended(mut self) -> ExitStatus {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it goes on: {:?}", self.text());
            thread::sleep(Duration::from_millis(20));
        };
        self.until_text("end of the alternate screen", |text| text.rfind(LEFT) > text.rfind(ENTERED));
        self.until_text("cursor", |text| text.rfind(SHOWN) > text.rfind("\u{1b}[?25l"));
        status
    }
}

#[test]
fn the_terminal_is_given_back_whatever_ends_the_watch() {
    use std::os::unix::process::ExitStatusExt as _;
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let watch = Watch::start(40, 100);
        watch.signal(name);
        let status = watch.ended();
        assert_eq!(status.signal(), Some(number), "it ends as by SIG{name}");
    }
    for keys in [&b"q"[..], b"\x03", b"\x1b"] {
        let watch = Watch::start(40, 100);
        watch.press(keys);
        assert_eq!(watch.ended().code(), Some(0), "{keys:?}");
    }
}

#[test]
fn a_stopped_watch_gives_the_terminal_to_the_shell_and_takes_it_again() {
    for stop in ["a key", "TSTP"] {
        let watch = Watch::start(40, 100);
        watch.forget();
        if stop == "TSTP" {
            watch.signal(stop);
        } else {
            watch.press(b"\x1a");
        }
        watch.until(LEFT);
        watch.signal("CONT");
        watch.until(ENTERED);
        watch.press(b"q");
        assert_eq!(watch.ended().code(), Some(0));
    }
}

#[test]
fn keys_pause_and_change_the_pace() {
    let watch = Watch::start(40, 120);
    watch.until("every 0.2 s");
    watch.press(b"p");
    watch.until("p go on");
    watch.until("paused");
    watch.press(b"p-");
    watch.until("every 0.4 s");
    watch.press(b"q");
    watch.ended();
}

#[test]
fn every_size_keeps_title_map_and_keys() {
    for (lines, columns, cut) in [(60, 160, false), (24, 80, true), (12, 40, true), (5, 20, true)] {
        let watch = Watch::start(lines, columns);
        let text = watch.text();
        if columns > 20 {
            assert!(text.contains("free in 2 Mi"), "{lines} x {columns}: {text:?}");
            assert!(text.contains("order9 inspect") && text.contains("one cell ="), "{lines} x {columns}: {text:?}");
            assert_eq!(text.contains("no room for all of"), cut, "{lines} x {columns}: {text:?}");
        }
        let screen = text.split(ENTERED).nth(1).unwrap();
        let drawn = screen.split("\u{1b}[?2026l").next().unwrap();
        assert!(drawn.matches("\u{1b}[2K").count() <= usize::from(lines), "no more lines than there are");
        watch.press(b"q");
        watch.ended();
    }
}
