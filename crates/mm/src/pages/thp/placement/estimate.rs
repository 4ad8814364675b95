//! The choice that hurts least in the worst case, by what the index knows and the prices of the machine.
//!
//! Nobody knows how often a program will access its memory, so a page is judged by both ends: its price, which is
//! all that a short-lived mapping pays, and the price of an access to it, which is all that a long-lived one pays. Each is
//! taken
//! as a multiple of the cheapest there is; the larger of both is how much worse than the best the choice can turn out for any
//! number of accesses. The choice with the least such multiple is made. No number is assumed.

use super::cost::Way;
use super::{Attempt, Rule, View};
use crate::access_level::AccessLevels;

pub(super) const RULE: Rule = Rule {
    says: "wherever it hurts least in the worst case, by what the index knows and the machine's prices, if base pages do not",
    origin: "order9",
    next,
    asks_index: true,
    ..Rule::PLAIN
};

/// Possible end of a fault.
#[derive(Clone, Copy)]
struct Choice {
    /// Cost of a slot of this choice.
    once: u64,
    /// Cost of an access to the slot.
    access: u64,
    /// The attempt at it; `None`: base pages.
    attempt: Option<Attempt>,
}

/// The cheapest huge page of every level, and base pages.
type Choices = [Option<Choice>; AccessLevels::COUNT + 1];
/// Place of base pages among the choices: ties go to the others.
const BASE: usize = AccessLevels::COUNT;

fn next(view: &View<'_>) -> Option<Attempt> {
    if view.made() == 0 && view.has_free_huge(view.home()) {
        return Some(view.at_home().light());
    }
    let prices = view.engine.prices();
    // The cheapest huge page by how far away it is, and base pages.
    let mut choices: Choices = [None; AccessLevels::COUNT + 1];
    for node in view.by_distance().filter(|&node| !view.was_tried(node)) {
        let Some(way) = view.way_to_huge(node) else { continue };
        let far = view.how_far(node);
        let once = prices.huge_fault.saturating_add(way.price(prices));
        if choices[far].is_none_or(|best| once < best.once) {
            let attempt = match way {
                Way::Free => view.on(node).light(),
                Way::Compact(_) => view.on(node).compact_only(),
                Way::Reclaim(..) => view.on(node),
            };
            choices[far] = Some(Choice { once, access: prices.huge[far], attempt: Some(attempt) });
        }
    }
    let base = prices.base[view.how_far(view.base_node())];
    let once = prices.base_fault.saturating_mul(order9_units::PAGEBLOCK_PAGES.get());
    choices[BASE] = Some(Choice { once, access: base, attempt: None });
    least_hurt(&choices)?.attempt
}

/// The choice whose larger multiple of the cheapest is least; the first of several.
fn least_hurt(choices: &Choices) -> Option<Choice> {
    let all = || choices.iter().copied().flatten();
    let once = all().map(|choice| choice.once).min()?;
    let access = all().map(|choice| choice.access).min()?;
    // Both multiples, times both minima.
    let hurt = |choice: &Choice| {
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        product(choice.once, access).max(product(choice.access, once))
    };
    all().min_by_key(hurt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(once: u64, access: u64, attempt: Option<Attempt>) -> Option<Choice> {
        Some(Choice { once, access, attempt })
    }

    fn picks(once: [u64; 4], access: [u64; 4]) -> usize {
        let choices = core::array::from_fn(|at| choice(*once.get(at)?, access[at], None));
        let best = least_hurt(&choices).expect("there is a choice");
        (0..4).find(|&at| (once[at], access[at]) == (best.once, best.access)).expect("one of them")
    }

    #[test]
    fn the_worst_end_decides() {
        // Twice the price to get beats three times the price of every access.
        assert_eq!(picks([200, 100, 900, 900], [10, 30, 90, 90]), 0);
        assert_eq!(picks([400, 100, 900, 900], [10, 30, 90, 90]), 1);
        // Nothing is dearer to get than base pages, and nothing here is cheaper to access.
        assert_eq!(picks([5000, 5000, 5000, 512], [10, 12, 20, 11]), 3);
    }

    #[test]
    fn no_choice_can_turn_out_better_in_its_worst_case() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below + 1
        };
        for _ in 0..500 {
            let once: [u64; 4] = core::array::from_fn(|_| random(1000));
            let access: [u64; 4] = core::array::from_fn(|_| random(100));
            let total = |at: usize, accesses: u64| (once[at] + access[at] * accesses) as f64;
            let worst = |at: usize| {
                let lives = (0..14).map(|n| if n == 0 { 0 } else { 10_u64.pow(n - 1) });
                let best = |life| (0..4).map(|at| total(at, life)).fold(f64::MAX, f64::min);
                lives.map(|life| total(at, life) / best(life)).fold(0.0, f64::max)
            };
            let least = (0..4).map(worst).fold(f64::MAX, f64::min);
            let picked = worst(picks(once, access));
            assert!(picked <= least * 1.000_001, "{once:?} {access:?}: {picked} where {least} can be had");
        }
    }
}
