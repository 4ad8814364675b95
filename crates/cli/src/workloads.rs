//! `order9 workloads`.

use order9_workloads::Workload;
use serde::Serialize;

use crate::args::WorkloadsArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// A workload, laid out.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    summary: &'static str,
    parameters: Vec<ListedParameter>,
}

#[derive(Serialize)]
struct ListedParameter {
    key: &'static str,
    meaning: &'static str,
    takes: String,
    default: &'static str,
}

/// Lists all workloads.
pub(crate) fn run(args: &WorkloadsArgs) -> Result<(), Failure> {
    let listed: Vec<_> = Workload::ALL.into_iter().map(Listed::of).collect();
    if args.json {
        return print_json(&listed);
    }
    let texts: Vec<_> = listed.iter().map(Listed::text).collect();
    print(&texts.join("\n"))
}

impl Listed {
    fn of(workload: Workload) -> Self {
        let parameters = workload.parameters().iter().map(|parameter| ListedParameter {
            key: parameter.key,
            meaning: parameter.meaning,
            takes: parameter.kind.expected(),
            default: parameter.default_text,
        });
        Self { name: workload.name(), summary: workload.summary(), parameters: parameters.collect() }
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
