//! The lines of a scenario file that describe one experiment.

use std::path::Path;

use order9_snapshot::format;
use order9_toml::{FileError, Leaf, Place, leaves};
use order9_units::Bytes;
use toml::de::{DeTable, DeValue};

use super::error::{Problem, Said};
use super::memory::{self, MemoryWish};
use super::{Asked, Scenario, keys, value};
use crate::machines;
use crate::plan::MadeUp;

/// The experiment that these lines describe.
pub(super) fn scenario(leaves: &[Leaf<'_>], file: &str, place: Place<'_>) -> Result<Scenario, FileError<Problem>> {
    // Parameters cannot be judged before the workload is known.
    let workload = leaves.iter().find(|leaf| leaf.key == "workload");
    let leaf = workload.ok_or_else(|| place.error(0, Problem::WithoutWorkload))?;
    let named = leaf.line_of_text().map_err(Problem::from).and_then(|name| value::workload(&name));
    let mut scenario = Scenario::of(named.map_err(|problem| place.error(leaf.at, problem))?);
    scenario.say(leaves, file, place)?;
    Ok(scenario)
}

/// Whether `key` of a scenario is a table of keys. Names of settings have dots, which make tables of TOML where they stand without
/// quotes.
#[must_use]
pub fn is_table(key: &str) -> bool {
    matches!(key, "parameters" | "memory" | "boot" | "settings" | "record") || key.starts_with("settings.")
}

impl Scenario {
    /// The experiment that a table of a larger file describes.
    pub(crate) fn of_table(table: &DeTable<'_>, file: &str, place: Place<'_>) -> Result<Self, FileError<Problem>> {
        scenario(&leaves(table, is_table), file, place)
    }

    /// Takes the lines of a table over what was said before. Memory is replaced whole.
    pub(crate) fn change(
        &mut self,
        table: &DeTable<'_>,
        file: &str,
        place: Place<'_>,
    ) -> Result<(), FileError<Problem>> {
        let leaves = leaves(table, is_table);
        match leaves.iter().find(|leaf| leaf.key == "workload") {
            Some(leaf) => Err(place.error(leaf.at, Problem::Contradiction("a change leaves the workload as it is"))),
            None => self.say(&leaves, file, place),
        }
    }

    /// Takes lines of `file`; later ones replace what earlier ones said.
    ///
    /// # Errors
    /// The first line that is no good.
    pub fn say(&mut self, leaves: &[Leaf<'_>], file: &str, place: Place<'_>) -> Result<(), FileError<Problem>> {
        let mut memory = MemoryTable::default();
        for leaf in leaves {
            let said = Said::Line { file: file.to_owned(), line: place.line(leaf.at) };
            let taken = if leaf.key.starts_with("memory.") {
                memory.take(leaf, said, file)
            } else {
                self.take(leaf, said, file)
            };
            taken.map_err(|problem| place.error(leaf.at, problem))?;
        }
        if let Some(wish) = memory.wish().map_err(|(at, problem)| place.error(at, problem))? {
            self.memory = Some(wish);
        }
        Ok(())
    }

    /// Takes what a line says about anything but memory.
    fn take(&mut self, leaf: &Leaf<'_>, said: Said, file: &str) -> Result<(), Problem> {
        let asked = |text: String, said: &Said| Asked { said: said.clone(), value: beside(file, text) };
        match leaf.key.as_str() {
            "workload" => {}
            "machine" => self.machine = Some(asked(leaf.line_of_text()?, &said)),
            "node_memory" => self.node_memory = Some(Asked { value: node_memory(leaf)?, said }),
            "prices" => self.prices = Some(asked(leaf.line_of_text()?, &said)),
            "policies" => {
                let names = texts(leaf).filter(|names| !names.is_empty());
                let names =
                    names.ok_or_else(|| leaf.wrong("a list of policies, such as [\"linux-5.0\", \"mine.toml\"]"))?;
                self.policies = names.into_iter().map(|name| asked(name, &said)).collect();
            }
            "ablate" => self.ablate = Some(asked(leaf.line_of_text()?, &said)),
            "against" => self.against = Some(asked(leaf.line_of_text()?, &said)),
            "seeds" => self.take_seeds(leaf)?,
            "boot.cmdline" => self.boot(said, &leaf.line_of_text()?)?,
            "record.every" => self.read_every(&leaf.line_of_text()?)?,
            "record.events" => {
                let names = texts(leaf).ok_or_else(|| leaf.wrong("a list of tracepoints"))?;
                names.iter().try_for_each(|name| self.keep_events(name))?;
            }
            "record.maps" => self.map_every(&leaf.line_of_text()?)?,
            "record.check" => self.read_check(&written(leaf)?)?,
            "parameters" | "memory" | "boot" | "settings" | "record" => {
                // Only an empty one is not taken apart.
                leaf.entries().ok_or_else(|| leaf.wrong("a table"))?;
            }
            key => match (key.strip_prefix("parameters."), key.strip_prefix("settings.")) {
                (Some(parameter), _) => {
                    self.choose(parameter, &written(leaf)?)?;
                    if let Some((_, directory)) = self.recording.as_mut().filter(|(key, _)| *key == parameter) {
                        *directory = beside_folder(file, directory);
                    }
                }
                (_, Some(setting)) => self.set(said, setting, written(leaf)?)?,
                _ => return Err(order9_toml::Problem::unknown_key(key, keys::names()).into()),
            },
        }
        Ok(())
    }

    fn take_seeds(&mut self, leaf: &Leaf<'_>) -> Result<(), Problem> {
        let DeValue::Array(_) = leaf.value else { return self.count_seeds(&written(leaf)?) };
        let seeds: Option<Vec<u64>> = numbers(leaf);
        let named = seeds.and_then(|seeds| self.name_seeds(seeds));
        named.ok_or_else(|| leaf.wrong("how many seeds, or a list of different whole numbers").into())
    }
}

/// The table `memory`, as far as it was read.
#[derive(Default)]
struct MemoryTable {
    start: Option<(Said, usize, String)>,
    path: Option<(usize, String)>,
    made_up: MadeUp,
    /// The first line about made-up memory.
    synthetic: Option<usize>,
}

impl MemoryTable {
    fn take(&mut self, leaf: &Leaf<'_>, said: Said, file: &str) -> Result<(), Problem> {
        match leaf.key.as_str() {
            "memory.start" => self.start = Some((said, leaf.at, leaf.line_of_text()?)),
            "memory.path" => self.path = Some((leaf.at, beside(file, leaf.line_of_text()?))),
            key => {
                let part = key.trim_start_matches("memory.");
                let unknown = || order9_toml::Problem::unknown_key(key, keys::names()).into();
                memory::set(&mut self.made_up, part, &written(leaf)?).unwrap_or_else(|| Err(unknown()))?;
                self.synthetic = self.synthetic.or(Some(leaf.at));
            }
        }
        Ok(())
    }

    /// The wish of all lines together; or the error, and the byte at which it is.
    fn wish(self) -> Result<Option<Asked<MemoryWish>>, (usize, Problem)> {
        let Some((said, at, start)) = self.start else {
            let first = self.path.map(|(at, _)| at).or(self.synthetic);
            let missing = Problem::Contradiction("memory needs start = \"empty\", \"synthetic\" or \"snapshot\"");
            return first.map_or(Ok(None), |at| Err((at, missing)));
        };
        let refused = |at, why| Err((at, Problem::Contradiction(why)));
        let value = match (start.as_str(), self.path, self.synthetic) {
            ("empty", None, None) => MemoryWish::Empty,
            ("synthetic", None, _) => MemoryWish::Synthetic(self.made_up),
            ("snapshot", Some((_, path)), None) => MemoryWish::Snapshot(path),
            ("snapshot", None, _) => return refused(at, "memory.start = \"snapshot\" needs memory.path"),
            ("empty" | "synthetic", Some((at, _)), _) => {
                return refused(at, "memory.path goes with start = \"snapshot\"");
            }
            ("empty" | "snapshot", _, Some(at)) => {
                return refused(at, "only start = \"synthetic\" makes memory up by shares");
            }
            _ => {
                let expected = "\"empty\" or \"synthetic\" or \"snapshot\"";
                return Err((at, Problem::value("memory.start", &start, expected)));
            }
        };
        Ok(Some(Asked { said, value }))
    }
}

/// Memory for every node.
fn node_memory(leaf: &Leaf<'_>) -> Result<Bytes, Problem> {
    let size = leaf.value.as_str().and_then(|text| text.parse::<Bytes>().ok()).filter(|size| machines::is_whole(*size));
    Ok(size.ok_or_else(|| leaf.wrong("a multiple of 128 MiB, such as \"8 GiB\""))?)
}

/// A name, or a path from the folder of the file that names it.
pub(super) fn beside(file: &str, name: String) -> String {
    let (base, _) = order9_policy::split_changes(&name);
    let ending = Path::new(base).extension();
    let is_file = base.contains('/') || ending.is_some_and(|ending| ending == "toml" || ending == format::EXTENSION);
    match Path::new(file).parent() {
        Some(folder) if is_file => folder.join(name).display().to_string(),
        _ => name,
    }
}

/// A directory from the folder of the file that names it.
fn beside_folder(file: &str, directory: &str) -> String {
    Path::new(file).parent().unwrap_or(Path::new("")).join(directory).display().to_string()
}

/// The value as it would be written on the command line.
fn written(leaf: &Leaf<'_>) -> Result<String, Problem> {
    match leaf.value {
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Ok(number.to_string()),
            Err(_) => Err(leaf.wrong("a number of up to 63 bits").into()),
        },
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Array(_) => {
            let numbers = numbers(leaf).ok_or_else(|| leaf.wrong("a list of whole numbers"))?;
            Ok(numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
        }
        _ => Ok(leaf.line_of_text()?),
    }
}

fn numbers(leaf: &Leaf<'_>) -> Option<Vec<u64>> {
    leaf.elements()?.iter().map(Leaf::whole_number).collect()
}

pub(super) fn texts(leaf: &Leaf<'_>) -> Option<Vec<String>> {
    leaf.elements()?.iter().map(|element| element.line_of_text().ok()).collect()
}
