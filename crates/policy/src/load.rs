//! A policy with all its bases: from the name of a preset or the path of a file to switches the engine can run with.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use order9_mm::policy::Policy;

use crate::error::PolicyError;
use crate::nearest::{nearest, shown};
use crate::planned::{PLANNED, Planned};
use crate::presets::{self, PRESETS};
use crate::switch::{Switch, Value};
use crate::table::{self, CONFLICTS, SWITCHES};
use crate::text::PolicyText;

/// Longest policy file, in bytes: a mistaken name must not fill the memory.
const FILE_MAX: u64 = 1 << 20;

/// A policy that was loaded with all its bases.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Name of the preset, or path of the file as given.
    pub name: String,
    /// What it is, in one line; may be empty.
    pub summary: String,
    /// Names of the files it is made of, from the one without base to itself.
    pub chain: Vec<String>,
    /// The switches.
    pub policy: Policy,
    /// What it would set if the engine could.
    pub needs: Vec<Need>,
    /// For each of [`SWITCHES`], the member of `chain` that set it last.
    set_in: Vec<usize>,
}

/// A value of a switch that the engine does not have yet.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The switch.
    pub switch: &'static Planned,
    /// The value it should have.
    pub value: &'static str,
    /// Position in the chain of the file that says so.
    pub(crate) set_in: usize,
}

/// Loads the policy called `name`: a preset, or a file if there is a `/` or an ending `.toml` in it.
///
/// # Errors
/// The first thing wrong with it or one of its bases.
pub fn load(name: &str) -> Result<Loaded, PolicyError> {
    let mut texts = vec![Text::open(name, None)?];
    while let Some((base, line)) = texts.last().and_then(|text| text.said.base.as_ref()) {
        let last = texts.last().expect("a chain has a beginning");
        let named = |cause| PolicyError::Base { file: last.name.clone(), line: *line, cause: Box::new(cause) };
        let text = Text::open(base, last.folder.as_deref()).map_err(named)?;
        if let Some(first) = texts.iter().position(|earlier| earlier.id == text.id) {
            let files = texts[first..].iter().chain([&texts[first]]);
            return Err(PolicyError::Cycle { files: files.map(|text| text.name.clone()).collect() });
        }
        texts.push(text);
    }
    texts.reverse();
    Loaded::new(name, &texts)
}

/// One member of a chain.
struct Text {
    /// For messages.
    name: String,
    /// Two members are the same if these are.
    id: PathBuf,
    /// What relative paths in it start from; none in a preset.
    folder: Option<PathBuf>,
    said: PolicyText,
}

impl Text {
    /// Opens what `name` names, a relative path starting from `folder`.
    fn open(name: &str, folder: Option<&Path>) -> Result<Self, PolicyError> {
        if name.contains('/') || name.ends_with(".toml") {
            return Self::read(&folder.unwrap_or(Path::new("")).join(name));
        }
        let Some(preset) = presets::find(name) else {
            let nearest = nearest(name, PRESETS.iter().map(|preset| preset.name));
            return Err(PolicyError::UnknownPreset { name: shown(name), nearest });
        };
        let said = PolicyText::parse(preset.name, preset.text)?;
        Ok(Self { name: preset.name.to_owned(), id: preset.name.into(), folder: None, said })
    }

    fn read(path: &Path) -> Result<Self, PolicyError> {
        let name: String = path.display().to_string().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let unreadable = |error: &io::Error| PolicyError::Unreadable { file: name.clone(), problem: sentence(error) };
        let id = fs::canonicalize(path).map_err(|error| unreadable(&error))?;
        let text = read_text(&id).map_err(|error| unreadable(&error))?;
        let folder = path.parent().map(Path::to_owned);
        let said = PolicyText::parse(&name, &text)?;
        Ok(Self { name, id, folder, said })
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MAX {
        return Err(io::Error::other(format!("longer than {FILE_MAX} bytes, expected a policy")));
    }
    Ok(text)
}

fn sentence(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory, expected a policy".to_owned(),
        io::ErrorKind::InvalidData => "is not UTF-8 text, expected a policy".to_owned(),
        _ => error.to_string(),
    }
}

impl Loaded {
    /// Puts a chain together, from the text without base on.
    fn new(name: &str, texts: &[Text]) -> Result<Self, PolicyError> {
        let mut policy = Policy::default();
        let mut set_in = vec![None; SWITCHES.len()];
        let mut needs: Vec<Option<Need>> = vec![None; PLANNED.len()];
        for (at, text) in texts.iter().enumerate() {
            for (switch, value) in &text.said.settings {
                (switch.set)(&mut policy, *value);
                set_in[place(SWITCHES, switch)] = Some(at);
            }
            for (switch, value) in &text.said.needs {
                needs[place(PLANNED, switch)] = value.map(|value| Need { switch, value, set_in: at });
            }
        }
        let missing = SWITCHES.iter().zip(&set_in).filter(|(_, set)| set.is_none()).map(|(switch, _)| switch.key);
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            return Err(PolicyError::Incomplete { file: texts[0].name.clone(), missing });
        }
        let summary = texts.last().map(|text| text.said.summary.clone()).unwrap_or_default();
        let loaded = Self {
            name: name.to_owned(),
            summary,
            chain: texts.iter().map(|text| text.name.clone()).collect(),
            policy,
            needs: needs.into_iter().flatten().collect(),
            set_in: set_in.into_iter().flatten().collect(),
        };
        loaded.without_conflict()
    }

    fn without_conflict(self) -> Result<Self, PolicyError> {
        let has =
            |(key, value): (&str, Value)| table::find(key).is_some_and(|switch| switch.get(&self.policy) == value);
        let Some(conflict) = CONFLICTS.iter().find(|conflict| has(conflict.one) && has(conflict.other)) else {
            return Ok(self);
        };
        let told = |(key, value): (&str, Value)| {
            let set_in = table::find(key).map_or(&self.name, |switch| self.set_in(switch));
            format!("{key} = {value} (set in {set_in})")
        };
        let (one, other) = (told(conflict.one), told(conflict.other));
        Err(PolicyError::Conflict { file: self.name, one, other, why: conflict.why })
    }

    /// Name of the member of the chain that set `switch` last.
    #[must_use]
    pub fn set_in(&self, switch: &'static Switch) -> &String {
        &self.chain[self.set_in[place(SWITCHES, switch)]]
    }

    /// Name of what it is based on, where it has a base.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.chain.iter().rev().nth(1).map(String::as_str)
    }
}

/// Position of `entry` in the table it is from.
fn place<T>(table: &'static [T], entry: &'static T) -> usize {
    table.iter().position(|other| std::ptr::eq(other, entry)).expect("an entry of the table")
}
