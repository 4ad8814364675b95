//! Runs operations on a [`Pair`], cuts failing sequences down, and prints what is left as code.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::op::{Case, Op};
use crate::pair::{Difference, Pair};

/// Runs `ops` on a fresh machine, comparing everything every `every` steps and at the end.
///
/// # Errors
/// The first difference and the step at which it was seen; a panic of the engine counts as one.
pub fn run(case: &Case, ops: &[Op], every: usize) -> Result<(), (usize, Difference)> {
    let mut pair = Pair::boot(case);
    for (at, &op) in ops.iter().enumerate() {
        let last = at + 1 == ops.len();
        step(&mut pair, op, last || (at + 1).is_multiple_of(every)).map_err(|difference| (at, difference))?;
    }
    Ok(())
}

/// Does one operation, with a full comparison if asked for.
///
/// # Errors
/// The difference; a panic of the engine counts as one.
pub fn step(pair: &mut Pair, op: Op, compare: bool) -> Result<(), Difference> {
    let step = AssertUnwindSafe(|| {
        pair.apply(op)?;
        if compare { pair.compare() } else { Ok(()) }
    });
    catch_unwind(step).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or("a panic".to_owned()))
    })
}

/// Runs `ops`, comparing everything after each.
///
/// # Panics
/// At the first difference, with the shortest sequence found that shows one, as code.
pub fn replay(case: &Case, ops: &[Op]) {
    if let Err((at, _)) = run(case, ops, 1) {
        fail(case, &ops[..=at]);
    }
}

/// Cuts `ops`, which fail at their end, down and panics with what is left.
///
/// # Panics
/// Always.
pub fn fail(case: &Case, ops: &[Op]) -> ! {
    let (ops, difference) = shrink(case, ops.to_vec());
    panic!("{difference}\n{}", as_code(case, &ops))
}

/// The test that repeats `ops`.
#[must_use]
pub fn as_code(case: &Case, ops: &[Op]) -> String {
    let lines = ops.iter().map(|op| format!("    {op:?},\n")).collect::<String>();
    format!("replay(&{case:?}, &[\n{lines}]);")
}

/// Operations that cutting down may repeat: first with one comparison at the end, then with one after each.
const BUDGETS: [(usize, usize); 2] = [(usize::MAX, 30_000_000), (1, 100_000)];

/// Leaves out ever shorter stretches as long as the rest still fails.
fn shrink(case: &Case, mut ops: Vec<Op>) -> (Vec<Op>, Difference) {
    let mut difference = "seen once, but not when repeated".to_owned();
    for (every, mut budget) in BUDGETS {
        let Err((at, found)) = run(case, &ops, every) else { continue };
        ops.truncate(at + 1);
        difference = found;
        let mut length = ops.len() / 2;
        while length > 0 {
            let mut start = 0;
            while start < ops.len() && budget > ops.len() {
                budget -= ops.len();
                let mut fewer = ops.clone();
                fewer.drain(start..(start + length).min(ops.len()));
                match run(case, &fewer, every) {
                    Err((at, found)) => {
                        fewer.truncate(at + 1);
                        (ops, difference) = (fewer, found);
                    }
                    Ok(()) => start += length,
                }
            }
            length /= 2;
        }
    }
    (ops, difference)
}
