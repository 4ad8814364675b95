//! A file with all its bases: from a built-in name or a path to the texts it is made of.

use std::fmt::{Debug, Display};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::{FileError, Problem};
use crate::words::{nearest, shown};

/// Longest file, in bytes: a mistaken name must not fill the memory.
const FILE_MAX: u64 = 1 << 20;

/// Words that messages use for a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// One of them: "policy".
    pub one: &'static str,
    /// Several, as the command has it that lists the built-in ones: "policies".
    pub many: &'static str,
}

/// A built-in file.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// File name without `.toml`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

/// Makes a list of [`Preset`]s from a folder, given from the file that asks, and the names in it.
#[macro_export]
macro_rules! presets {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$($crate::Preset { name: $name, text: include_str!(concat!($folder, $name, ".toml")) }),+]
    };
}

/// Reference to the file that another one inherits from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Built-in name, or path from the folder of the file that names it.
    pub name: String,
    /// The line that says so.
    pub line: usize,
}

/// The contents of one file of some kind. Nothing is looked up in other files.
pub trait Definition: Sized {
    /// Words that messages use for this kind.
    const KIND: Kind;
    /// Errors that belong to one line of the file.
    type Problem: From<Problem> + Debug + Display;

    /// The built-in files of this kind.
    fn presets() -> &'static [Preset];

    /// Names that built-in files had before, each with the one it has now.
    fn renamed() -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Reads `text`, called `file` in messages.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    fn parse(file: &str, text: &str) -> Result<Self, FileError<Self::Problem>>;

    /// The file that this one inherits from.
    fn base(&self) -> Option<&Base>;
}

/// One member of a chain.
#[derive(Debug)]
pub struct Member<D> {
    /// Built-in name, or path.
    pub name: String,
    /// The contents of the file itself.
    pub said: D,
    /// Two members are the same if these are.
    id: PathBuf,
    /// Folder at which relative paths begin; `None` in a built-in file.
    folder: Option<PathBuf>,
}

/// Loads what is called `name`, a built-in file, or one of the user's if there is a `/` or an ending `.toml` in it, with
/// all its bases: from the one without base to itself, at least one.
///
/// # Errors
/// The first thing wrong with it or one of its bases.
pub fn chain<D: Definition>(name: &str) -> Result<Vec<Member<D>>, FileError<D::Problem>> {
    let mut members = vec![Member::<D>::open(name, None)?];
    while let Some(base) = members.last().and_then(|member| member.said.base()) {
        let last = members.last().expect("a chain has a beginning");
        let named = |cause| FileError::Base { file: last.name.clone(), line: base.line, cause: Box::new(cause) };
        let member = Member::open(&base.name, last.folder.as_deref()).map_err(named)?;
        if let Some(first) = members.iter().position(|earlier| earlier.id == member.id) {
            let files = members[first..].iter().chain([&members[first]]);
            let files = files.map(|member| member.name.clone()).collect();
            return Err(FileError::Cycle { kind: D::KIND, files });
        }
        members.push(member);
    }
    members.reverse();
    Ok(members)
}

impl<D: Definition> Member<D> {
    /// Opens what `name` names, a relative path starting from `folder`.
    fn open(name: &str, folder: Option<&Path>) -> Result<Self, FileError<D::Problem>> {
        if name.contains('/') || name.ends_with(".toml") {
            return Self::read(&folder.unwrap_or(Path::new("")).join(name));
        }
        let Some(preset) = D::presets().iter().find(|preset| preset.name == name) else {
            let renamed = D::renamed().iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
            let nearest = renamed.or_else(|| nearest(name, D::presets().iter().map(|preset| preset.name)));
            return Err(FileError::UnknownName { kind: D::KIND, name: shown(name), nearest });
        };
        let said = D::parse(preset.name, preset.text)?;
        Ok(Self { name: preset.name.to_owned(), said, id: preset.name.into(), folder: None })
    }

    fn read(path: &Path) -> Result<Self, FileError<D::Problem>> {
        let name = order9_escape::path(path);
        let unreadable =
            |error: &io::Error| FileError::Unreadable { file: name.clone(), problem: sentence(error, D::KIND) };
        let id = fs::canonicalize(path).map_err(|error| unreadable(&error))?;
        let text = read_text(&id, D::KIND).map_err(|error| unreadable(&error))?;
        let folder = path.parent().map(Path::to_owned);
        let said = D::parse(&name, &text)?;
        Ok(Self { name, said, id, folder })
    }
}

fn read_text(path: &Path, kind: Kind) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MAX {
        return Err(io::Error::other(format!("longer than {FILE_MAX} bytes, expected a {}", kind.one)));
    }
    Ok(text)
}

fn sentence(error: &io::Error, kind: Kind) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => format!("is a directory, expected a {}", kind.one),
        io::ErrorKind::InvalidData => format!("is not UTF-8 text, expected a {}", kind.one),
        _ => error.to_string(),
    }
}
