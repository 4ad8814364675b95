//! Arguments of `order9 doc`.

use clap::Args;

/// Explain a subject: a page of the documents, a word of the glossary, a counter, a switch of policies, a setting.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DocArgs {
    /// The subject; without one, all are named.
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Vec<String>,
    /// Print the names of all subjects, or the texts about one, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  order9 doc
  order9 doc running
  order9 doc pageblock
  order9 doc compact_stall
  order9 doc fallback.defrag_mode
  order9 doc vm.min_free_kbytes";
