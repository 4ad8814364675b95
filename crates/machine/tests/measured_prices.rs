//! The benchmark that measures the prices of a host (`memory_prices` of crate host) knows every price of memory and
//! no other; those of files and kernel objects come after them and were measured by hand.
//!
//! Crate host must not know this one, so the table is read here from its source.

#[allow(dead_code, reason = "the benchmark fills it in")]
#[path = "../../host/benches/memory_prices/direct.rs"]
mod direct;
#[allow(dead_code, reason = "only the keys matter here")]
#[path = "../../host/benches/memory_prices/prices.rs"]
mod prices;

/// The first price that was measured by hand.
const BY_HAND: &str = "file_open";

#[test]
fn the_benchmark_measures_every_price_of_memory_in_the_order_of_the_list() {
    let measured: Vec<&str> = prices::PRICES.iter().map(|price| price.key).collect();
    let known: Vec<&str> =
        order9_machine::cost::PRICES.iter().map(|price| price.key).take_while(|key| *key != BY_HAND).collect();
    assert_eq!(measured, known);
}
