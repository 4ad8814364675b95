//! `order9 workloads`.

use std::collections::BTreeMap;

use order9_lab::scenario;
use order9_report::table::wrap;
use order9_workloads::{GENERAL, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{WorkloadsArgs, WorkloadsCommand};
use crate::failure::Failure;
use crate::output::{print, print_json};

/// A workload, laid out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    name: &'static str,
    summary: &'static str,
    description: &'static str,
    parameters: Vec<ListedParameter>,
    settings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ListedParameter {
    key: &'static str,
    meaning: &'static str,
    takes: String,
    default: &'static str,
}

/// Width of texts, in columns.
const WIDTH: usize = 100;

/// Lists all workloads, or shows one.
pub(crate) fn run(args: &WorkloadsArgs) -> Result<(), Failure> {
    if let Some(WorkloadsCommand::Show { workload, json }) = &args.command {
        let workload = scenario::workload(workload).map_err(|error| Failure::Usage(error.to_string()))?;
        let listed = Listed::of(workload);
        return if *json { print_json(&listed) } else { print(&listed.page()) };
    }
    let listed: Vec<_> = Workload::ALL.into_iter().map(Listed::of).collect();
    if args.json {
        return print_json(&listed);
    }
    let texts: Vec<_> = listed.iter().map(Listed::text).collect();
    print(&texts.join("\n"))
}

impl Listed {
    fn of(workload: Workload) -> Self {
        let parameters = workload.spec().parameters.iter().chain(GENERAL).map(|parameter| ListedParameter {
            key: parameter.key,
            meaning: parameter.meaning,
            takes: parameter.kind.expected(),
            default: parameter.default_text,
        });
        Self {
            name: workload.name(),
            summary: workload.spec().summary,
            description: workload.spec().description,
            parameters: parameters.collect(),
            settings: workload
                .spec()
                .settings(&BTreeMap::new())
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
        }
    }

    /// All there is to say about it.
    fn page(&self) -> String {
        let mut page = format!("{}: {}\n\n{}\n", self.name, self.summary, wrap(self.description, WIDTH).trim_end());
        for ListedParameter { key, meaning, takes, default } in &self.parameters {
            page.push_str(&format!("\n{key} [default: {default}]\n  {meaning}\n  takes {takes}\n"));
        }
        if !self.settings.is_empty() {
            page.push_str(&format!("\nSettings, unless others are asked for: {}\n", self.settings.join(", ")));
        }
        page
    }

    fn text(&self) -> String {
        let keys = self.parameters.iter().map(|parameter| parameter.key.len()).max().unwrap_or(0);
        let mut text = format!("{}: {}\n", self.name, self.summary);
        for ListedParameter { key, meaning, takes, default } in &self.parameters {
            text.push_str(&format!("  {key:keys$}  {meaning}: {takes} [default: {default}]\n"));
        }
        text
    }
}
