//! `order9 advise`.

use order9_advise::advice::Advise;

use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::trial::{demand, jobs, refused, trial};
use crate::waiting::Waiting;

/// Tries remedies on a copy of the host, and prints the advice.
pub(crate) fn run(args: &AdviseArgs) -> Result<(), Failure> {
    let advise = Advise { demand: demand(&args.demand)?, want: args.want, use_time: args.use_time };
    let trial = trial(&args.trial, args.snapshot.as_deref())?;
    let plan = advise.plan(&trial).map_err(refused)?;
    let jobs = jobs(&plan)?;
    let waiting = Waiting::new("trying remedies on the copy");
    let advice = advise.advise(&trial, &plan, jobs).map_err(refused)?;
    drop(waiting);
    if args.json { print_json(&advice) } else { print(&advice.to_text()) }
}
