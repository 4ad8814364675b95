//! `order9 ask`.

use order9_advise::ask::Ask;
use order9_units::NodeId;

use crate::args::{AskArgs, YesNo};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::trial::{jobs, refused, trial};

/// Asks a copy of the host, and prints the answer.
pub(crate) fn run(args: &AskArgs) -> Result<(), Failure> {
    let ask = Ask {
        size: args.size,
        node: args.node.map(NodeId),
        advised: args.madvise == YesNo::Yes,
        defrag: args.defrag.clone(),
    };
    let trial = trial(&args.trial, args.snapshot.as_deref())?;
    let plan = ask.plan(&trial).map_err(refused)?;
    let answer = ask.answer(&trial, &plan, jobs(&plan)?).map_err(refused)?;
    if args.json { print_json(&answer) } else { print(&answer.to_text()) }
}
