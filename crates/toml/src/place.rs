//! Places in a text to which messages point.

use std::fmt::{Debug, Display};

use toml::de::DeTable;

use crate::error::{FileError, Problem};
use crate::words::shown;

/// A text and what its file is called in messages.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Place<'a> {
    /// The `text` of `file`.
    #[must_use]
    pub const fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text }
    }

    /// Reads the text as TOML.
    ///
    /// # Errors
    /// [`Problem::Syntax`] at the line where it is none.
    pub fn parse<P: From<Problem> + Debug + Display>(self) -> Result<DeTable<'a>, FileError<P>> {
        let document = DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, Problem::Syntax(shown(error.message())))
        })?;
        Ok(document.into_inner())
    }

    /// `problem`, at byte `at`.
    pub fn error<P: Debug + Display>(self, at: usize, problem: impl Into<P>) -> FileError<P> {
        FileError::At { file: self.file.to_owned(), line: self.line(at), problem: problem.into() }
    }

    /// The line of byte `at`, from 1 on.
    #[must_use]
    pub fn line(self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }
}
