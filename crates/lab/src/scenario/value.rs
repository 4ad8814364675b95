//! Values as people write them, the same in files and on the command line.

use order9_machine::TraceKinds;
use order9_toml::{nearest, shown};
use order9_units::{Bytes, Nanos};
use order9_workloads::{Cpus, GENERAL, Kind, Mempolicy, Recording, Value, Workload};
use std::num::NonZeroU64;

use super::Scenario;
use super::error::Problem;

/// Most seeds of an experiment: each is a run for every policy.
const SEEDS_MAX: u64 = 10_000;
/// Shortest time between two readings: a run keeps them all.
const EVERY_MIN: Nanos = Nanos::new(1_000_000);

/// The workload called so.
///
/// # Errors
/// [`Problem::NoWorkload`].
pub fn workload(name: &str) -> Result<Workload, Problem> {
    Workload::by_name(name).ok_or_else(|| {
        let nearest = nearest(name, Workload::ALL.map(Workload::name));
        Problem::NoWorkload { name: shown(name), nearest }
    })
}

/// The value of this kind that `text` is, if it is one.
fn parse(kind: Kind, text: &str) -> Option<Value> {
    let value = match kind {
        Kind::Bytes { .. } => Value::Bytes(text.parse::<Bytes>().ok()?),
        Kind::Count { .. } => Value::Count(text.parse().ok()?),
        Kind::Counts { .. } => {
            Value::Counts(text.split(',').map(|count| count.trim().parse()).collect::<Result<_, _>>().ok()?)
        }
        Kind::Time => Value::Time(time(text)?),
        Kind::Word(words) => Value::Word(words.iter().find(|word| **word == text)?),
        Kind::Mempolicy => Value::Mempolicy(Mempolicy::parse(text)?),
        Kind::Cpus => Value::Cpus(Cpus::parse(text)?),
        Kind::Recording => Value::Recording(Recording::parse(text).ok()?),
    };
    kind.admits(&value).then_some(value)
}

/// The length of time that `text` is: `1s`, `1m 30s`, `500ms`.
#[must_use]
pub fn time(text: &str) -> Option<Nanos> {
    let time = humantime::parse_duration(text).ok()?;
    u64::try_from(time.as_nanos()).ok().map(Nanos::new)
}

impl Scenario {
    /// Chooses the parameter called `key`. Numbers of a list are separated by commas.
    pub(super) fn choose(&mut self, key: &str, text: &str) -> Result<(), Problem> {
        let parameters = self.workload.spec().parameters.iter().chain(GENERAL);
        let Some(parameter) = parameters.clone().find(|parameter| parameter.key == key) else {
            let nearest = nearest(key, parameters.map(|parameter| parameter.key));
            return Err(Problem::NoParameter { workload: self.workload.name(), key: shown(key), nearest });
        };
        if parameter.kind == Kind::Recording && !Recording::begins(text) {
            self.recording = Some((parameter.key, text.to_owned()));
            return Ok(());
        }
        let value = parse(parameter.kind, text).ok_or_else(|| Problem::value(key, text, parameter.kind.expected()))?;
        self.chosen.insert(parameter.key, value);
        Ok(())
    }

    /// Sets the number of seeds, which count from 1.
    pub(super) fn count_seeds(&mut self, text: &str) -> Result<(), Problem> {
        let count = text.parse().ok().filter(|count| (1..=SEEDS_MAX).contains(count));
        let expected = || format!("how many seeds, from 1 to {SEEDS_MAX}");
        self.seeds = Some((1..=count.ok_or_else(|| Problem::value("seeds", text, expected()))?).collect());
        Ok(())
    }

    /// Sets the seeds; `None` where the list is empty or too long, or has a seed twice.
    pub(super) fn name_seeds(&mut self, seeds: Vec<u64>) -> Option<()> {
        let mut sorted = seeds.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let sound = (1..=SEEDS_MAX).contains(&(seeds.len() as u64)) && sorted.len() == seeds.len();
        self.seeds = sound.then_some(seeds);
        self.seeds.is_some().then_some(())
    }

    /// Sets the interval between readings of the counters.
    pub(super) fn read_every(&mut self, text: &str) -> Result<(), Problem> {
        let every = time(text).filter(|every| *every >= EVERY_MIN);
        let expected = "a length of time such as \"1s\", at least \"1ms\"";
        self.every = Some(every.ok_or_else(|| Problem::value("every", text, expected))?);
        Ok(())
    }

    /// Sets the interval between maps of memory.
    pub(super) fn map_every(&mut self, text: &str) -> Result<(), Problem> {
        let every = time(text).filter(|every| *every >= EVERY_MIN);
        let expected = "a length of time such as \"10s\", at least \"1ms\"";
        self.maps_every = Some(every.ok_or_else(|| Problem::value("maps", text, expected))?);
        Ok(())
    }

    /// Sets the number of steps after which all laws are checked, 0 for never.
    pub(super) fn read_check(&mut self, text: &str) -> Result<(), Problem> {
        let steps: u64 = text.parse().map_err(|_| Problem::value("check", text, "a number of steps, 0 for never"))?;
        self.check_every = NonZeroU64::new(steps);
        Ok(())
    }

    /// Keeps the events of this tracepoint, too.
    pub(super) fn keep_events(&mut self, name: &str) -> Result<(), Problem> {
        let names = TraceKinds::names().iter().copied();
        let unknown = || Problem::NoEvent { name: shown(name), nearest: nearest(name, names) };
        self.events = self.events.with(name).ok_or_else(unknown)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn values_are_read_by_their_kind() {
        let size = Kind::Bytes { min: Bytes::new(4096) };
        let counts = Kind::Counts { min: 1, max: 8 };
        assert_eq!(parse(size, "12G"), Some(Value::Bytes(Bytes::from_gib(12))));
        assert_eq!(parse(Kind::Count { min: 0, max: 100 }, "75"), Some(Value::Count(75)));
        assert_eq!(parse(counts, "1, 3,8"), Some(Value::Counts(vec![1, 3, 8])));
        assert_eq!(parse(Kind::Time, "1m 30s"), Some(Value::Time(Nanos::new(90_000_000_000))));
        assert_eq!(parse(Kind::Time, "5ns"), Some(Value::Time(Nanos::new(5))));
        assert_eq!(parse(Kind::Word(&["first", "random"]), "random"), Some(Value::Word("random")));
        for (kind, texts) in [
            (size, &["", "4095", "-1G", "12Q", "1.5G"][..]),
            (counts, &["", "0", "9", "1,", "1;3", "-1"]),
            (Kind::Time, &["", "-1s", "10", "1 parsec", "99999999999 years"]),
            (Kind::Word(&["first", "random"]), &["", "First"]),
        ] {
            for text in texts {
                assert_eq!(parse(kind, text), None, "{kind:?} {text:?}");
            }
        }
    }

    #[test]
    fn what_a_value_prints_is_read_back() {
        let time = Value::Time(Nanos::new(1_500_000_007));
        assert_eq!(parse(Kind::Time, time.to_string().trim_matches('"')), Some(time));
        let bytes = Value::Bytes(Bytes::new(123_456_789));
        assert_eq!(parse(Kind::Bytes { min: Bytes::ZERO }, bytes.to_string().trim_matches('"')), Some(bytes));
    }
}
