//! The verdict.

use std::process::ExitCode;

use crate::hunt::{Fate, Outcome, Sight};
use crate::list::Lists;
use crate::reach::Map;

/// Least share of seen defects, in percent.
const SEEN_MIN: usize = 95;

/// Says what was not seen, and how many were. Fails where an unseen defect has no reason in the list, a listed one is seen
/// after all, or, of a `whole` run, too few are.
pub(crate) fn print(lists: &Lists, map: &Map, outcomes: &[Outcome], whole: bool) -> ExitCode {
    for Sight { binary, test } in &map.failing {
        println!("fails without a defect, left out: {binary} {test}");
    }
    let mut ok = true;
    for Outcome { mutant, fate } in outcomes {
        let mutant = &lists.mutants[*mutant];
        match (fate, lists.survivors.get(&mutant.id)) {
            (Fate::Unseen { .. }, Some(reason)) => println!("not seen, as listed: {}: {reason}", mutant.id),
            (Fate::Unseen { tests }, None) => {
                ok = false;
                println!("NOT SEEN by {tests} tests: {} ({}): {}", mutant.id, mutant.file, mutant.why);
            }
            (Fate::Seen(Sight { binary, test }), Some(_)) => {
                ok = false;
                println!("seen after all, to be taken out of survivors.toml: {}: by {binary} {test}", mutant.id);
            }
            (Fate::Seen(_), None) => {}
        }
    }
    let seen = outcomes.iter().filter(|outcome| matches!(outcome.fate, Fate::Seen(_))).count();
    let all = outcomes.len();
    println!("{seen} of {all} defects seen, {:.1} %", 100.0 * seen as f64 / all.max(1) as f64);
    if !whole {
        println!("Not all defects or not all tests were tried: no verdict.");
        return ExitCode::SUCCESS;
    }
    if seen * 100 < SEEN_MIN * all {
        ok = false;
        println!("At least {SEEN_MIN} % have to be seen.");
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
