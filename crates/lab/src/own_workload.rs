//! Workloads that are in no table: programs from outside, whose operations their own runs name.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use order9_record::{Loaded, Run, Unit};
use order9_workloads::{Better, Family, Figure, Measure, Spec, Workload};

/// The workload of stored runs, which are of one workload.
///
/// # Errors
/// A workload that this version does not have, or a direction that is none.
pub fn stored_workload(stored: &[&Loaded]) -> Result<Workload, String> {
    let recorded = |loaded: &&Loaded| loaded.manifest.inputs.workload.clone();
    let first = stored.first().map(recorded).ok_or("there are no runs")?;
    if let Some(known) = Workload::by_name(&first.name) {
        return Ok(known);
    }
    if first.better.is_none() {
        return Err(format!("this version has no workload {}", first.name));
    }
    let named = stored.iter().flat_map(|loaded| recorded(loaded).better.unwrap_or_default());
    let direction = |(operation, word): (String, String)| match Better::by_word(&word) {
        Some(better) => Ok((operation, better)),
        None => Err(format!("better: {operation} is {word}, expected lower or higher")),
    };
    let better = named.map(direction).collect::<Result<BTreeMap<_, _>, _>>()?;
    Ok(own_workload(&first.name, stored.iter().flat_map(|loaded| &loaded.runs), &better))
}

/// A workload from outside with a table for each operation that `runs` have: `better` says in which direction, where that is not lower
/// for times and higher for all else.
#[must_use]
pub fn own_workload<'a>(
    name: &str,
    runs: impl IntoIterator<Item = &'a Run>,
    better: &BTreeMap<String, Better>,
) -> Workload {
    type Key = (String, Vec<(String, &'static str, bool)>);
    static KNOWN: Mutex<BTreeMap<Key, &'static Spec>> = Mutex::new(BTreeMap::new());
    let mut operations: Vec<(String, Unit, bool)> = Vec::new();
    for operation in runs.into_iter().flat_map(|run| &run.operations) {
        let word = match operation.name.rsplit_once('-') {
            Some((word, number)) if number.parse::<u64>().is_ok() => word,
            _ => &operation.name,
        };
        let is_time = matches!(operation.unit, Unit::Nanos | Unit::Seconds);
        let is_lower = better.get(word).map_or(is_time, |better| *better == Better::Lower);
        if !operations.iter().any(|(known, ..)| known == word) {
            operations.push((word.to_owned(), operation.unit, is_lower));
        }
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // A workload is known by a reference for good, so that each of these is kept, once.
    let of_operations = operations.iter().map(|(word, unit, is_lower)| (word.clone(), unit.name(), *is_lower));
    let spec = known.entry((name.to_owned(), of_operations.collect())).or_insert_with(|| {
        let measures: Vec<Measure> =
            operations.iter().map(|(word, unit, is_lower)| measure(word, *unit, *is_lower)).collect();
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        Box::leak(Box::new(Spec::own(name, "a program from outside", Box::leak(measures.into_boxed_slice()))))
    });
    Workload::Own(spec)
}

fn measure(word: &str, unit: Unit, is_lower: bool) -> Measure {
    use order9_workloads::Unit as Shown;
    let word: &'static str = Box::leak(word.to_owned().into_boxed_str());
    let (family, unit, figures): (_, _, &[Figure]) = match unit {
        Unit::Nanos | Unit::Seconds => (Family::Quantiles, Shown::Microseconds, &[Figure::Median, Figure::P95]),
        Unit::Percent => (Family::Samples, Shown::Percent, &[Figure::Mean]),
        Unit::Count => (Family::Samples, Shown::Events, &[Figure::Mean]),
        Unit::PerSecond => (Family::Samples, Shown::PerSecond, &[Figure::Mean]),
    };
    let main: Vec<(&'static str, Figure)> = figures.iter().map(|&figure| (word, figure)).collect();
    Measure {
        heading: word,
        operations: Box::leak(Box::new([word])),
        family,
        better: if is_lower { Better::Lower } else { Better::Higher },
        unit,
        decimals: 2,
        main: Box::leak(main.into_boxed_slice()),
    }
}
