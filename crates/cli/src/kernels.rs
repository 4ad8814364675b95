//! `order9 kernels`.

use order9_referee::kernels::{Kernel, Kernels};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::KernelsCommand;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::waiting::Waiting;

/// A kernel for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    series: &'a str,
    suite: &'a str,
    package: Option<&'a str>,
    /// Whether modules for disks and swap lie beside it.
    modules: bool,
}

/// Lists or fetches kernels.
pub(crate) fn run(command: &KernelsCommand) -> Result<(), Failure> {
    let kernels = Kernels::cache();
    match command {
        KernelsCommand::List { json: true } => print_json(&kernels.list().iter().map(json).collect::<Vec<_>>()),
        KernelsCommand::List { json: false } => {
            let row = |kernel: &Kernel| {
                let package = kernel.package.as_deref().unwrap_or("not fetched");
                let lacks = kernel.package.is_some() && !kernel.has_modules;
                let lacks = if lacks { ", without modules: fetch it again for disks and swap" } else { "" };
                format!("linux-{:8}{:12}{package}{lacks}\n", kernel.series, kernel.suite)
            };
            let rows: String = kernels.list().iter().map(row).collect();
            print(&format!("{:14}{:12}in the cache\n{rows}", "kernel", "suite"))
        }
        KernelsCommand::Fetch { series, json: true } => {
            series.iter().try_for_each(|series| fetch(&kernels, series).map(drop))?;
            let asked =
                |kernel: &&Kernel| series.iter().any(|series| series.trim_start_matches("linux-") == kernel.series);
            print_json(&kernels.list().iter().filter(asked).map(json).collect::<Vec<_>>())
        }
        KernelsCommand::Fetch { series, json: false } => {
            series.iter().try_for_each(|series| print(&format!("{series}: {}\n", fetch(&kernels, series)?)))
        }
    }
}

/// Brings a kernel into the cache, and names its package.
fn fetch(kernels: &Kernels, series: &str) -> Result<String, Failure> {
    let _waiting = Waiting::new("fetching a kernel");
    kernels.fetch(series).map_err(|error| Failure::Usage(error.to_string()))
}

fn json(kernel: &Kernel) -> Json<'_> {
    Json { series: kernel.series, suite: kernel.suite, package: kernel.package.as_deref(), modules: kernel.has_modules }
}
