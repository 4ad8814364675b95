//! Meanings of counters by name, for whoever reads them from a real kernel.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use order9_units::CounterMeaning;

use crate::scenario::small_machine;

/// Fields of /proc/vmstat under all built-in policies: counters are named otherwise in other releases.
static OF_VMSTAT: LazyLock<BTreeMap<&'static str, CounterMeaning>> = LazyLock::new(|| {
    let listed = order9_policy::List::new().map_or_else(|_| Vec::new(), |list| list.policies);
    let policies = listed.iter().filter_map(|listed| order9_policy::load(listed.name).ok());
    policies
        .map(|loaded| small_machine(loaded.policy))
        .flat_map(|mm| order9_procfs::vmstat_fields(&mm).collect::<Vec<_>>())
        .map(|field| (field.name, field.meaning))
        .collect()
});

/// Unit of the counter called `name`, and whether it is a level; `None` where the lab has no such counter.
#[must_use]
pub fn counter_meaning(name: &str) -> Option<CounterMeaning> {
    OF_VMSTAT.get(name).copied().or_else(|| order9_machine::counter_meaning(name))
}

/// Names of all counters: those of /proc/vmstat in order, then those that Linux does not have.
pub fn counter_names() -> impl Iterator<Item = &'static str> {
    OF_VMSTAT.keys().copied().chain(order9_machine::counter_names())
}
