//! Job files for engines that run the parts of a sweep on many hosts, and merge them at the end.
//!
//! An engine gives every part a number, memory and CPUs, and tries again what is lost: a part that begins anew goes on with the cells that
//! it has kept. One file holds one engine. Forms are those of the engines' documentation, named in each file.

mod github_actions;
mod hyperqueue;
mod kubernetes;
mod slurm;

use std::num::{NonZeroU32, NonZeroUsize};

use order9_units::Bytes;

/// Engine that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A script that submits a job array, and a job that waits for it.
    Slurm,
    /// An indexed Job, a Job that waits for word, and a ConfigMap with the plan.
    Kubernetes,
    /// A job definition file.
    Hyperqueue,
    /// A workflow with a matrix.
    GithubActions,
}

/// A sweep in parts.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Path of the plan, as the engine's hosts know it.
    pub plan: &'a str,
    /// Text of the plan.
    pub text: &'a str,
    /// Folder that all hosts share, for the parts and the whole.
    pub output: &'a str,
    /// Number of parts.
    pub parts: NonZeroU32,
    /// Cells at the same time in a part.
    pub jobs: NonZeroUsize,
    /// Memory that a cell takes at most.
    pub memory_of_a_cell: Bytes,
}

/// Most jobs of a matrix of GitHub Actions: https://docs.github.com/en/actions, usage limits.
const MATRIX_MAX: u32 = 256;
/// Memory for the program itself, beside its cells.
const PROGRAM: Bytes = Bytes::new(128 << 20);

impl Job<'_> {
    /// The job file for `engine`.
    ///
    /// # Errors
    /// More parts than the engine takes.
    pub fn emit(&self, engine: Engine) -> Result<String, String> {
        match engine {
            Engine::Slurm => Ok(slurm::file(self)),
            Engine::Kubernetes => Ok(kubernetes::file(self)),
            Engine::Hyperqueue => Ok(hyperqueue::file(self)),
            Engine::GithubActions if self.parts.get() > MATRIX_MAX => {
                Err(format!("GitHub Actions takes {MATRIX_MAX} jobs of a matrix, expected so many parts at most"))
            }
            Engine::GithubActions => Ok(github_actions::file(self)),
        }
    }

    /// Memory of a part in MiB: its cells, a quarter more for programs that grow, and the program itself.
    fn memory_mib(&self) -> u64 {
        let cells = self.memory_of_a_cell.get().saturating_mul(self.jobs.get() as u64);
        (cells / 4 * 5 + PROGRAM.get()).div_ceil(1 << 20)
    }
}

/// A word of a shell: between single quotes where it has other characters than those of paths.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_stay_one_word() {
        assert_eq!(quoted("plans/a-b.toml"), "plans/a-b.toml");
        assert_eq!(quoted("my plan.toml"), "'my plan.toml'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
