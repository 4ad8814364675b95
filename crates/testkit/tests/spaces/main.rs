//! Address spaces and files against a naive model, with every law of the engine checked after each step.

mod model;
mod op;
mod pair;

use op::op;
use order9_mm::policy::{LruScope, NewAnon, Policy};
use pair::Pair;
use proptest::prelude::*;

/// LRU lists as Linux releases have them.
fn lists() -> impl Strategy<Value = (LruScope, NewAnon)> {
    prop_oneof![
        Just((LruScope::Zone, NewAnon::Active)),
        Just((LruScope::Node, NewAnon::Active)),
        Just((LruScope::Node, NewAnon::Inactive)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_operations_agree(ops in prop::collection::vec(op(), 1..120), (lru, new_anon) in lists()) {
        let mut policy = Policy::default();
        (policy.reclaim.lru, policy.reclaim.new_anon) = (lru, new_anon);
        let mut pair = Pair::boot(policy);
        for &op in &ops {
            pair.apply(op);
            pair.compare();
        }
        pair.end();
    }
}
