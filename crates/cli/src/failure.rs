//! Why a command stopped: one sentence for standard error, and the exit status.

use std::io;
use std::path::{Path, PathBuf};

/// A usage or input error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A file that is no good as input, or cannot be written.
    #[error("{}: {problem}", order9_escape::path(path))]
    File {
        /// The file, as the user named it.
        path: PathBuf,
        /// The error, in words.
        problem: String,
    },
    /// Arguments that do not make sense.
    #[error("{0}")]
    Usage(String),
    /// A result that falls short of what was asked for.
    #[error("{0}")]
    Short(String),
    /// Standard output or the terminal failed.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// `problem` with the file at `path`.
    pub(crate) fn file(path: &Path, problem: impl std::fmt::Display) -> Self {
        Self::File { path: path.to_owned(), problem: problem.to_string() }
    }

    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        if matches!(self, Self::Short(_)) { 1 } else { 2 }
    }

    /// Whether the reader of standard output went away, as in `order9 inspect | head`: no error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The sentence for an error of the file system: the operating system's, without its number.
pub(crate) fn io_sentence(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => error.to_string(),
    }
}

/// One sentence of the several lines clap prints: what is wrong, what is possible, and a tip, but no usage.
pub(crate) fn usage_sentence(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let sentence: Vec<_> = told.map(|line| line.trim_start_matches("error: ").replace("tip: ", "; ")).collect();
    sentence.join(" ").replace(" ; ", "; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_is_one_sentence() {
        let message = "error: invalid value 'agd' for '--pattern <NAME>'\n  [possible values: packed, aged]\n\n  \
                       tip: a similar value exists: 'aged'\n\nFor more information, try '--help'.\n";
        let sentence = "invalid value 'agd' for '--pattern <NAME>' [possible values: packed, aged]; a similar value \
                        exists: 'aged'";
        assert_eq!(usage_sentence(message), sentence);
    }
}
