//! The file that people write: TOML, every key with its meaning, its default and a refusal in words.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use order9_toml::{FileError, Leaf, Place, Problem, comment, leaves, quoted};
use order9_units::NodeId;
use toml::de::DeValue;

use crate::config::Config;
use crate::values::{goal, listen, number, positive, share, textfile, time};
use crate::words::written;

/// Goals and budgets, and places of metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuardFile {
    /// Goals and budgets.
    pub config: Config,
    /// File that metrics are written to.
    pub textfile: Option<PathBuf>,
    /// Place where metrics are asked for.
    pub listen: Option<Listen>,
}

/// Address at which metrics are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// A key of the file.
pub struct Key {
    /// Name with its table, by a dot.
    pub name: &'static str,
    /// Meaning of the key, in words.
    pub meaning: &'static str,
    /// Takes the value.
    set: fn(&mut GuardFile, &Leaf<'_>) -> Result<(), Problem>,
    /// Writes the value; nothing where there is none.
    get: fn(&GuardFile) -> Option<String>,
    /// Value that shows the form of a key without a default.
    example: &'static str,
}

/// Makes the row of a key whose field is of this kind.
macro_rules! key {
    ($name:literal, $meaning:literal, $kind:ident, $($field:ident).+) => {
        Key {
            name: $name,
            meaning: $meaning,
            set: |file, leaf| { file.$($field).+ = $kind::take(leaf)?; Ok(()) },
            get: |file| $kind::show(&file.$($field).+),
            example: "",
        }
    };
    ($name:literal, $meaning:literal, $kind:ident, $($field:ident).+, $example:literal) => {
        Key { example: $example, ..key!($name, $meaning, $kind, $($field).+) }
    };
}

/// All keys but those of single nodes, in the order in which they are printed: those without a table first.
pub const KEYS: &[Key] = &[
    key!("goal", "Huge pages that each node is to keep free: a number, or a share of its memory.", goal, config.goal),
    key!("period", "Time between two looks.", positive, config.period),
    key!("ahead", "Time by which a need is met before it comes, if it grows as it did.", time, config.ahead),
    Key {
        name: "actions",
        meaning: "What may be done: compact (write to nodeN/compact) and collapse (MADV_COLLAPSE of advised ranges of \
                  programs, with huge pages beyond the goal).",
        set: take_actions,
        get: |file| Some(show_actions(&file.config)),
        example: "",
    },
    key!("budget.cpu", "CPU time of all actions, as a share of one core.", share, config.cpu),
    key!(
        "budget.stall",
        "Time in which tasks wait for memory during actions, as a share of the time.",
        share,
        config.stall
    ),
    key!("budget.save", "Time whose share of the budgets can be saved up.", positive, config.save),
    key!("budget.step_max", "Longest duration of a step, with all that it waits for.", positive, config.step_max),
    key!(
        "pressure.some",
        "Share of ten seconds in which some task waited for memory, from which on nothing is done.",
        share,
        config.pressure_some
    ),
    key!(
        "pressure.full",
        "Share of ten seconds in which all tasks waited for memory, from which on nothing is done.",
        share,
        config.pressure_full
    ),
    key!("vain.gain", "A step is in vain if it gains fewer huge pages,", number, config.gain),
    key!("vain.cost", "or takes more CPU time for each.", time, config.cost),
    key!("vain.back_off", "Pause after a step in vain. It doubles with every further one.", positive, config.back_off),
    key!("vain.back_off_max", "Longest pause.", positive, config.back_off_max),
    key!(
        "metrics.textfile",
        "File for the textfile collector of node_exporter; its name ends in .prom.",
        textfile,
        textfile,
        "\"/var/lib/prometheus/node-exporter/order9_guard.prom\""
    ),
    key!(
        "metrics.listen",
        "Place where GET /metrics is answered: an address with a port, or unix: and a path.",
        listen,
        listen,
        "\"127.0.0.1:9409\""
    ),
];

/// Table with the goals of single nodes.
const NODES: &str = "nodes";
const TABLES: [&str; 5] = [NODES, "budget", "pressure", "vain", "metrics"];

impl GuardFile {
    /// Reads the text of a file, called `name` in messages.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError<Problem>> {
        let place = Place::new(name, text);
        let table = place.parse::<Problem>()?;
        let mut file = Self::default();
        for leaf in leaves(&table, |key| TABLES.contains(&key)) {
            file.take(&leaf).map_err(|problem| place.error(leaf.at, problem))?;
        }
        file.check().map_err(|problem| place.error(0, problem))?;
        Ok(file)
    }

    fn take(&mut self, leaf: &Leaf<'_>) -> Result<(), Problem> {
        if let Some(node) = leaf.key.strip_prefix("nodes.") {
            let node = node.parse().map_err(|_| leaf.wrong("the number of a node as key, such as 0 = 512"))?;
            self.config.nodes.insert(NodeId(node), goal::take(leaf)?);
            return Ok(());
        }
        if TABLES.contains(&leaf.key.as_str()) {
            let is_empty = matches!(leaf.value, DeValue::Table(table) if table.is_empty());
            return if is_empty { Ok(()) } else { Err(leaf.wrong("a table")) };
        }
        match KEYS.iter().find(|key| key.name == leaf.key) {
            Some(key) => (key.set)(self, leaf),
            None => Err(Problem::unknown_key(&leaf.key, KEYS.iter().map(|key| key.name).chain(["nodes.0"]))),
        }
    }

    /// Refuses values that contradict each other.
    fn check(&self) -> Result<(), Problem> {
        let Config { back_off, back_off_max, .. } = self.config;
        match back_off_max >= back_off {
            true => Ok(()),
            false => Err(Problem::WrongValue {
                key: "vain.back_off_max".to_owned(),
                found: quoted(&written(back_off_max)),
                expected: format!("at least vain.back_off, which is {}", written(back_off)),
            }),
        }
    }

    /// The values of all keys as a file.
    #[must_use]
    pub fn show(&self) -> String {
        self.text(false)
    }

    /// A file with the defaults, which says what every key means.
    #[must_use]
    pub fn template() -> String {
        let head = "Configuration of `order9 guard`. Every value is the default; a key may be left out.";
        remark(head) + "\n" + &Self::default().text(true)
    }

    fn text(&self, explains: bool) -> String {
        let (mut text, mut table) = (String::new(), "");
        for key in KEYS {
            let (of, name) = key.name.split_once('.').unwrap_or(("", key.name));
            if of != table {
                text += &self.nodes_text(table, explains);
                text += &format!("\n[{of}]\n");
                table = of;
            }
            let value = (key.get)(self);
            if explains {
                text += &remark(key.meaning);
            }
            match value {
                Some(value) => text += &format!("{name} = {value}\n"),
                None if explains => text += &format!("# {name} = {}\n", key.example),
                None => {}
            }
        }
        text
    }

    /// Goals of single nodes, which stand behind the keys without a table.
    fn nodes_text(&self, table: &str, explains: bool) -> String {
        let goals: String = self.config.nodes.iter().map(|(node, goal)| format!("{node} = {goal}\n")).collect();
        match (table, goals.is_empty(), explains) {
            ("", _, true) => {
                format!("\n{}[{NODES}]\n# 0 = 2048\n{goals}", remark("Goals of single nodes, by number."))
            }
            ("", false, false) => format!("\n[{NODES}]\n{goals}"),
            _ => String::new(),
        }
    }
}

/// `text` as lines of a comment.
fn remark(text: &str) -> String {
    let mut out = String::new();
    comment(&mut out, text).expect("text can be written");
    out
}

fn take_actions(file: &mut GuardFile, leaf: &Leaf<'_>) -> Result<(), Problem> {
    let wrong = || leaf.wrong("a list of the words \"compact\" and \"collapse\"");
    let DeValue::Array(words) = leaf.value else { return Err(wrong()) };
    let mut may = BTreeMap::from([("compact", false), ("collapse", false)]);
    for word in words {
        let DeValue::String(word) = word.get_ref() else { return Err(wrong()) };
        *may.get_mut(&**word).ok_or_else(wrong)? = true;
    }
    (file.config.may_compact, file.config.may_collapse) = (may["compact"], may["collapse"]);
    Ok(())
}

fn show_actions(config: &Config) -> String {
    let words = [("compact", config.may_compact), ("collapse", config.may_collapse)];
    let words: Vec<_> = words.iter().filter(|(_, may)| *may).map(|(word, _)| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}
