//! A run on this host, as it is heard of.

use order9_host::{Options, Root, capture};
use order9_live::{Message, Witness};
use order9_record::ExtraFile;
use order9_snapshot::format;
use order9_units::CounterMeaning;

use crate::collector::Collector;

/// Keeps what a run on this host says.
pub(crate) struct Here<'a> {
    pub(crate) collector: Collector,
    meaning: &'a dyn Fn(&str) -> Option<CounterMeaning>,
    /// Snapshots, as files of a run directory.
    pub(crate) snapshots: Vec<ExtraFile>,
    title: &'a str,
    seed: u64,
    /// Whether snapshots name owners of memory.
    pub(crate) owners: bool,
}

impl<'a> Here<'a> {
    /// Nothing was said yet, of a run of the column `title`; `meaning` is that of a counter, by its name.
    pub(crate) fn new(title: &'a str, seed: u64, meaning: &'a dyn Fn(&str) -> Option<CounterMeaning>) -> Self {
        Self { collector: Collector::new(title, seed), meaning, snapshots: Vec::new(), title, seed, owners: false }
    }
}

impl Witness for Here<'_> {
    fn message(&mut self, message: Message) {
        self.collector.take(message, self.meaning);
    }

    fn snapshot(&mut self, name: &str) {
        let mut content = Vec::new();
        let captured = capture(&Root::live(), Options { owners: self.owners, ..Options::default() })
            .map_err(|error| error.to_string());
        let written = captured.and_then(|map| format::write(&map, &mut content).map_err(|error| error.to_string()));
        match written {
            Ok(()) => {
                let name = format!("{}-seed-{}-{name}.o9snap", self.title, self.seed);
                self.snapshots.push(ExtraFile { name, content });
            }
            Err(error) => self.message(Message::Note(format!("no snapshot {name}: {error}"))),
        }
    }
}
