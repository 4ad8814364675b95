//! The verdict.

use std::process::ExitCode;

use crate::hunt::Outcome;
use crate::list::Lists;

/// How many of a hundred defects must be seen.
const SEEN_MIN: usize = 95;

/// Says what was not seen, and how many were. Fails where an unseen defect has no reason in the list, a listed one is seen
/// after all, or, of a `whole` run, too few are.
pub(crate) fn print(lists: &Lists, outcomes: &[Outcome], whole: bool) -> ExitCode {
    let mut ok = true;
    for Outcome { mutant, seen } in outcomes {
        let mutant = &lists.mutants[*mutant];
        match (seen, lists.survivors.get(&mutant.id)) {
            (None, Some(reason)) => println!("not seen, as listed: {}: {reason}", mutant.id),
            (None, None) => {
                ok = false;
                println!("NOT SEEN: {} ({}): {}", mutant.id, mutant.file, mutant.why);
            }
            (Some(sight), Some(_)) => {
                ok = false;
                let (id, binary, test) = (&mutant.id, &sight.binary, &sight.test);
                println!("seen after all, to be taken out of survivors.toml: {id}: by {binary} {test}");
            }
            (Some(_), None) => {}
        }
    }
    let seen = outcomes.iter().filter(|outcome| outcome.seen.is_some()).count();
    let all = outcomes.len();
    println!("{seen} of {all} defects seen, {:.1} %", 100.0 * seen as f64 / all.max(1) as f64);
    if !whole {
        println!("Not all defects or not all test binaries were tried: no verdict.");
        return ExitCode::SUCCESS;
    }
    if seen * 100 < SEEN_MIN * all {
        ok = false;
        println!("At least {SEEN_MIN} % have to be seen.");
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
