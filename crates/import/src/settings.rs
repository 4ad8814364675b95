//! Settings of a snapshot that the engine's watermarks follow from.

use order9_mm::MmBuilder;
use order9_mm::policy::Policy;
use order9_mm::thp::{HugeEnabled, SizeEnabled};
use order9_snapshot::Snapshot;
use order9_units::ZoneKind;

use crate::ImportError;

const MIN_FREE_KBYTES: &str = "/proc/sys/vm/min_free_kbytes";
const SCALE_FACTOR: &str = "/proc/sys/vm/watermark_scale_factor";
const BOOST_FACTOR: &str = "/proc/sys/vm/watermark_boost_factor";
const LOWMEM_RESERVE_RATIO: &str = "/proc/sys/vm/lowmem_reserve_ratio";
const THP_ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const THP_SIZE_ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled";

/// Puts the snapshot's watermark factors into `policy`, where it has them and the policy knows the mechanism.
pub(crate) fn apply(snapshot: &Snapshot, policy: &mut Policy) -> Result<(), ImportError> {
    let watermark = &mut policy.watermark;
    for (path, factor) in [(SCALE_FACTOR, &mut watermark.scale_factor), (BOOST_FACTOR, &mut watermark.boost_factor)] {
        if let (Some(value), true) = (number(snapshot, path)?, factor.is_some()) {
            *factor = Some(value);
        }
    }
    Ok(())
}

/// Hands the settings that are no policy to the builder.
pub(crate) fn configure(snapshot: &Snapshot, mut builder: MmBuilder) -> Result<MmBuilder, ImportError> {
    if let Some(kbytes) = number(snapshot, MIN_FREE_KBYTES)? {
        builder = builder.min_free_kbytes(kbytes);
    }
    if let Some(enabled) = huge_enabled(snapshot)? {
        builder = builder.transparent_hugepage(enabled);
    }
    if let Some(ratios) = snapshot.settings.get(LOWMEM_RESERVE_RATIO) {
        builder = builder.lowmem_reserve_ratio(lowmem_ratios(ratios)?);
    }
    Ok(builder)
}

/// Who got huge pages. What the file of the size says counts for any policy, as if it had been said for all sizes.
fn huge_enabled(snapshot: &Snapshot) -> Result<Option<HugeEnabled>, ImportError> {
    let Some(all_sizes) = word(snapshot, THP_ENABLED, HugeEnabled::find)? else { return Ok(None) };
    let size = word(snapshot, THP_SIZE_ENABLED, SizeEnabled::find)?;
    Ok(Some(size.map_or(all_sizes, |size| size.rule(all_sizes))))
}

/// The word in brackets in the file at `path`, if there is one.
fn word<V>(snapshot: &Snapshot, path: &'static str, find: fn(&str) -> Option<V>) -> Result<Option<V>, ImportError> {
    let Some(words) = snapshot.settings.get(path) else { return Ok(None) };
    let word = words.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(words.trim(), |(word, _)| word);
    find(word).map(Some).ok_or_else(|| ImportError::Setting { path, value: words.to_owned() })
}

/// The file lists a ratio per zone, highest left out before 4.20.
fn lowmem_ratios(value: &str) -> Result<[u64; ZoneKind::COUNT], ImportError> {
    let mut ratios = [0; ZoneKind::COUNT];
    for (ratio, word) in ratios.iter_mut().zip(value.split_whitespace()) {
        *ratio = parse(LOWMEM_RESERVE_RATIO, word)?;
    }
    Ok(ratios)
}

fn number<N: std::str::FromStr>(snapshot: &Snapshot, path: &'static str) -> Result<Option<N>, ImportError> {
    snapshot.settings.get(path).map(|value| parse(path, value)).transpose()
}

fn parse<N: std::str::FromStr>(path: &'static str, value: &str) -> Result<N, ImportError> {
    value.trim().parse().map_err(|_| ImportError::Setting { path, value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_size_counts_where_there_is_one() {
        let with = |enabled: Option<&str>, size: Option<&str>| {
            let settings = [(THP_ENABLED, enabled), (THP_SIZE_ENABLED, size)].into_iter();
            let settings = settings.filter_map(|(path, words)| Some((path.to_owned(), words?.to_owned()))).collect();
            huge_enabled(&Snapshot { settings, ..Snapshot::default() })
        };
        let never = Some("always madvise [never]");
        assert_eq!(with(None, Some("[always] inherit madvise never")).ok(), Some(None));
        assert_eq!(with(never, None).ok(), Some(Some(HugeEnabled::Never)));
        assert_eq!(with(never, Some("always [inherit] madvise never")).ok(), Some(Some(HugeEnabled::Never)));
        assert_eq!(with(never, Some("always inherit [madvise] never")).ok(), Some(Some(HugeEnabled::Madvise)));
        assert!(with(never, Some("[sometimes]")).is_err() && with(Some("defer"), None).is_err());
    }
}
