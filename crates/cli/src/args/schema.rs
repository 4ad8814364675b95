//! Arguments of `order9 schema`.

use clap::Args;

/// Print the JSON Schema of what a command prints with --json, or of a file that a command writes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// A command, such as `policies show`, or the name of a file, such as manifest.toml; without one, all are named.
    #[arg(value_name = "NAME")]
    pub(crate) name: Vec<String>,
    /// Name all schemas.
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
    /// Name them as JSON.
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  order9 schema
  order9 schema inspect
  order9 schema policies show
  order9 schema manifest.toml > manifest.schema.json";
