//! Address spaces and files against a naive model, with every law of the engine checked after each step.

mod model;
mod op;
mod pair;

use op::op;
use pair::Pair;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_operations_agree(ops in prop::collection::vec(op(), 1..120)) {
        let mut pair = Pair::boot();
        for &op in &ops {
            pair.apply(op);
            pair.compare();
        }
        pair.end();
    }
}
