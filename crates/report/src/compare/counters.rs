//! Differences of /proc/vmstat between the begin and the end of a test.

use std::collections::BTreeMap;

/// Number of events during a test, by field of /proc/vmstat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, u64>);

/// Counters that cannot be those of one boot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("counter {name} fell from {begin} to {end}: expected two readings of one boot, the earlier one first")]
pub struct CountersError {
    /// Name of the field of /proc/vmstat.
    pub name: String,
    /// Value at the first reading.
    pub begin: u64,
    /// Value at the second reading.
    pub end: u64,
}

/// Law that the counters of every run must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Identity {
    /// Every stall for compaction ended in success or failure.
    #[error("compact_stall = compact_success + compact_fail")]
    CompactionStalls,
    /// kswapd frees at most what it looks at.
    #[error("pgsteal_kswapd <= pgscan_kswapd")]
    KswapdReclaim,
    /// Direct reclaim frees at most what it looks at.
    #[error("pgsteal_direct <= pgscan_direct")]
    DirectReclaim,
}

/// Zones by which kernels split some counters.
const ZONES: [&str; 6] = ["dma", "dma32", "normal", "high", "movable", "device"];

/// Fields that begin with `nr_` are levels, which fall as well as rise; these alone are counters.
const COUNTERS_NAMED_AS_LEVELS: [&str; 2] = ["nr_vmscan_write", "nr_vmscan_immediate_reclaim"];

impl Counters {
    /// Events between two readings of /proc/vmstat. Levels are left out; new fields count from 0.
    ///
    /// # Errors
    /// If a counter fell.
    pub fn between(begin: &BTreeMap<String, u64>, end: &BTreeMap<String, u64>) -> Result<Self, CountersError> {
        let counters = end.iter().filter(|(name, _)| Self::is_counter(name));
        let difference = |(name, &end): (&String, &u64)| {
            let begin = begin.get(name).copied().unwrap_or(0);
            let counted = end.checked_sub(begin).ok_or_else(|| CountersError { name: name.clone(), begin, end })?;
            Ok((name.clone(), counted))
        };
        counters.map(difference).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a field of /proc/vmstat counts, rather than being a level.
    #[must_use]
    pub fn is_counter(field: &str) -> bool {
        !field.trim_start_matches("order9_").starts_with("nr_") || COUNTERS_NAMED_AS_LEVELS.contains(&field)
    }

    /// The count of a field, summed over zones where this kernel splits it; `None` if it has no such field.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<u64> {
        if let Some(&count) = self.0.get(field) {
            return Some(count);
        }
        let zones = ZONES.iter().filter_map(|zone| self.0.get(&format!("{field}_{zone}")));
        zones.copied().reduce(u64::saturating_add)
    }

    /// The identities that do not hold. Fields that this kernel lacks prove nothing.
    #[must_use]
    pub fn violations(&self) -> Vec<Identity> {
        let hold = [
            (Identity::CompactionStalls, self.stalls_add_up()),
            (Identity::KswapdReclaim, self.at_most("pgsteal_kswapd", "pgscan_kswapd")),
            (Identity::DirectReclaim, self.at_most("pgsteal_direct", "pgscan_direct")),
        ];
        hold.into_iter().filter(|(_, holds)| !holds).map(|(identity, _)| identity).collect()
    }

    fn stalls_add_up(&self) -> bool {
        match (self.get("compact_stall"), self.get("compact_success"), self.get("compact_fail")) {
            (Some(stall), Some(success), Some(fail)) => success.checked_add(fail) == Some(stall),
            _ => true,
        }
    }

    fn at_most(&self, less: &str, more: &str) -> bool {
        self.get(less).zip(self.get(more)).is_none_or(|(less, more)| less <= more)
    }
}

impl<S: Into<String>> FromIterator<(S, u64)> for Counters {
    /// Differences that are known already.
    fn from_iter<I: IntoIterator<Item = (S, u64)>>(counters: I) -> Self {
        Self(counters.into_iter().map(|(name, count)| (name.into(), count)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(fields: &[(&str, u64)]) -> BTreeMap<String, u64> {
        fields.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn counters_are_differences_and_levels_are_left_out() {
        let begin = reading(&[("pgfault", 10), ("nr_free_pages", 900), ("nr_vmscan_write", 1)]);
        let end = reading(&[("pgfault", 17), ("nr_free_pages", 100), ("nr_vmscan_write", 4), ("pgscan_direct", 2)]);
        let counters = Counters::between(&begin, &end).unwrap();
        let values = ["pgfault", "nr_free_pages", "nr_vmscan_write", "pgscan_direct"].map(|name| counters.get(name));
        assert_eq!(values, [Some(7), None, Some(3), Some(2)]);
    }

    #[test]
    fn a_falling_counter_is_an_error() {
        let error = Counters::between(&reading(&[("pgfault", 5)]), &reading(&[("pgfault", 4)])).unwrap_err();
        assert!(error.to_string().starts_with("counter pgfault fell from 5 to 4"), "{error}");
    }

    #[test]
    fn zones_add_up_but_throttling_is_no_zone() {
        let counters = Counters::from_iter([
            ("allocstall_dma32", 1),
            ("allocstall_normal", 2),
            ("allocstall_movable", 4),
            ("pgscan_direct", 7),
            ("pgscan_direct_throttle", 100),
        ]);
        assert_eq!(counters.get("allocstall"), Some(7));
        assert_eq!(counters.get("pgscan_direct"), Some(7));
        assert_eq!(Counters::from_iter([("pgscan_direct_throttle", 100)]).get("pgscan_direct"), None);
    }

    #[test]
    fn identities_are_checked_where_the_fields_exist() {
        assert_eq!(Counters::default().violations(), []);
        let counters = Counters::from_iter([
            ("compact_stall", 3),
            ("compact_success", 1),
            ("compact_fail", 1),
            ("pgsteal_kswapd", 2),
            ("pgscan_kswapd", 1),
        ]);
        assert_eq!(counters.violations(), [Identity::CompactionStalls, Identity::KswapdReclaim]);
    }
}
