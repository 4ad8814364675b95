//! `order9 what-if`.

use order9_advise::what_if::WhatIf;

use crate::args::WhatIfArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::trial::{demand, jobs, refused, trial};

/// Tries the changes on a copy of the host, and prints the comparison.
pub(crate) fn run(args: &WhatIfArgs) -> Result<(), Failure> {
    let of_one = Some(args.settings.clone()).filter(|settings| !settings.is_empty());
    let named = args.cases.iter().map(|case| case.split(',').map(str::to_owned).collect());
    let what_if = WhatIf { cases: of_one.into_iter().chain(named).collect(), demand: demand(&args.demand)? };
    let trial = trial(&args.trial, args.snapshot.as_deref())?;
    let plan = what_if.plan(&trial).map_err(refused)?;
    let comparison = what_if.compare(&trial, &plan, jobs(&plan)?).map_err(refused)?;
    if args.json { print_json(&comparison) } else { print(&comparison.to_text()) }
}
