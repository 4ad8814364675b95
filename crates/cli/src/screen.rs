//! The terminal while `--watch` owns it.

use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, poll, read};
use crossterm::{cursor, execute, queue, terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::low_level::emulate_default_handler;

/// Longest time in which a signal remains unanswered.
const SLICE: Duration = Duration::from_millis(100);

/// The alternate screen; leaving scope gives the terminal back as it was.
pub(crate) struct Screen {
    /// The last signal that came, or 0.
    signal: Arc<AtomicUsize>,
}

/// Reason why a wait for the next look ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The time for another look has come.
    Look,
    /// The last view has to be drawn again: the screen has another size, or was away.
    Draw,
    /// Stop looking, or go on.
    Pause,
    /// The user wants fewer looks.
    Slower,
    /// The user wants more looks.
    Faster,
    /// The user leaves.
    Leave,
    /// A signal ends the program.
    End(i32),
}

impl Screen {
    /// Takes the terminal over.
    pub(crate) fn open() -> io::Result<Self> {
        let screen = Self { signal: Arc::default() };
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGTSTP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&screen.signal), signal as usize)?;
        }
        // A message of a panic would go away with the alternate screen.
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            leave();
            before(panic);
        }));
        enter()?;
        Ok(screen)
    }

    /// Size in columns and lines.
    pub(crate) fn size() -> io::Result<(usize, usize)> {
        terminal::size().map(|(columns, lines)| (columns.into(), lines.into()))
    }

    /// Replaces what is shown by the lines of `text`, line by line so that nothing flickers.
    pub(crate) fn show(&mut self, text: &str) -> io::Result<()> {
        let (_, height) = terminal::size()?;
        let mut out = io::stdout().lock();
        queue!(out, terminal::BeginSynchronizedUpdate, cursor::MoveTo(0, 0))?;
        for (row, line) in (0..height).zip(order9_escape::styled(text).lines()) {
            queue!(out, cursor::MoveTo(0, row), terminal::Clear(terminal::ClearType::CurrentLine))?;
            out.write_all(line.as_bytes())?;
        }
        if text.lines().count() < usize::from(height) {
            queue!(out, cursor::MoveToNextLine(1), terminal::Clear(terminal::ClearType::FromCursorDown))?;
        }
        queue!(out, terminal::EndSynchronizedUpdate)?;
        out.flush()
    }

    /// Waits until something comes, at most until `deadline`.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<Next> {
        loop {
            match i32::try_from(self.signal.swap(0, Ordering::Relaxed)).unwrap_or(0) {
                0 => {}
                SIGTSTP => return stop(),
                signal => return Ok(Next::End(signal)),
            }
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(Next::Look);
            }
            match poll(left.min(SLICE)) {
                Ok(false) => {}
                Ok(true) => match read()? {
                    Event::Key(key) if is_control(key, 'z') => return stop(),
                    Event::Key(key) => {
                        if let Some(next) = meaning(key) {
                            return Ok(next);
                        }
                    }
                    Event::Resize(..) => return Ok(Next::Draw),
                    _ => {}
                },
                // The signal is seen above.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Ends the program as `signal` does where nobody waits for it. Restore the terminal before.
pub(crate) fn end(signal: i32) -> io::Result<()> {
    emulate_default_handler(signal)
}

fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide).inspect_err(|_| leave())
}

fn leave() {
    // A terminal that is gone cannot be restored: nothing is left to do with an error.
    let _ = execute!(io::stdout(), cursor::Show, terminal::LeaveAlternateScreen);
    let _ = terminal::disable_raw_mode();
}

/// Gives the terminal to the shell until the program is continued.
fn stop() -> io::Result<Next> {
    leave();
    emulate_default_handler(SIGTSTP)?;
    enter()?;
    Ok(Next::Draw)
}

fn is_control(key: KeyEvent, letter: char) -> bool {
    key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Raw mode delivers Ctrl-C as a key.
fn meaning(key: KeyEvent) -> Option<Next> {
    if is_control(key, 'c') {
        return Some(Next::Leave);
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => Some(Next::Leave),
        KeyCode::Char('p' | ' ') => Some(Next::Pause),
        KeyCode::Char('r') => Some(Next::Look),
        KeyCode::Char('+') => Some(Next::Faster),
        KeyCode::Char('-') => Some(Next::Slower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use pty_process::Size;
    use pty_process::blocking::{Command, open};

    use super::*;

    /// Variable that makes a test panic here.
    const PANICS: &str = "ORDER9_TEST_PANICS";

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_speaks() {
        if std::env::var_os(PANICS).is_some() {
            let _screen = Screen::open().expect("this is a terminal");
            panic!("said behind the screen");
        }
        let (mut terminal, end) = open().expect("this system has terminals");
        terminal.resize(Size::new(24, 80)).expect("it has a size");
        let name = "screen::tests::a_panic_gives_the_terminal_back_before_it_speaks";
        let command =
            Command::new(std::env::current_exe().expect("it has a path")).args(["--exact", name, "--nocapture"]);
        let mut child = command.env(PANICS, "1").env("TERM", "xterm").spawn(end).expect("it starts");
        let (mut written, mut buffer) = (Vec::new(), [0; 4096]);
        // Reading ends with an error when nobody holds the other end any more.
        while let Ok(read @ 1..) = terminal.read(&mut buffer) {
            written.extend(&buffer[..read]);
        }
        assert!(!child.wait().expect("it ends").success());
        let text = String::from_utf8_lossy(&written);
        let (before, after) = text.split_once("\u{1b}[?1049l").expect("the alternate screen is left");
        assert!(before.contains("\u{1b}[?1049h") && before.contains("\u{1b}[?25h"), "{text:?}");
        // A terminal in raw mode does not return to the first column.
        assert!(after.contains("said behind the screen\r\n"), "{text:?}");
    }
}
