//! The terminal while `--watch` owns it.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, poll, read};
use crossterm::{cursor, execute, queue, terminal};

/// The alternate screen; leaving scope gives the terminal back as it was.
pub(crate) struct Screen(());

impl Screen {
    /// Takes the terminal over.
    pub(crate) fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let screen = Self(());
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Replaces what is shown by as many lines of `text` as fit, line by line so that nothing flickers.
    pub(crate) fn show(&mut self, text: &str) -> io::Result<()> {
        let (_, height) = terminal::size()?;
        let mut out = io::stdout().lock();
        queue!(out, terminal::BeginSynchronizedUpdate, cursor::MoveTo(0, 0))?;
        for (row, line) in text.lines().take(height.into()).enumerate() {
            queue!(out, cursor::MoveTo(0, row as u16))?;
            out.write_all(line.as_bytes())?;
            queue!(out, terminal::Clear(terminal::ClearType::UntilNewLine))?;
        }
        if text.lines().count() < usize::from(height) {
            queue!(out, cursor::MoveToNextLine(1), terminal::Clear(terminal::ClearType::FromCursorDown))?;
        }
        queue!(out, terminal::EndSynchronizedUpdate)?;
        out.flush()
    }

    /// Waits until `deadline` or a change of size; false where the user wants to leave.
    pub(crate) fn wait(&mut self, deadline: Instant) -> io::Result<bool> {
        while poll(deadline.saturating_duration_since(Instant::now()))? {
            match read()? {
                Event::Key(key) if ends(key) => return Ok(false),
                Event::Resize(..) => break,
                _ => {}
            }
            if deadline.saturating_duration_since(Instant::now()) == Duration::ZERO {
                break;
            }
        }
        Ok(true)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone cannot be restored: nothing is left to do with an error.
        let _ = execute!(io::stdout(), cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

/// q, Esc or Ctrl-C, which raw mode delivers as a key.
fn ends(key: KeyEvent) -> bool {
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    control_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}
