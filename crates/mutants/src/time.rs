//! How long each test binary takes without a defect. It must pass then, or what it says of one means nothing.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

use crate::binaries::{Binary, End};
use crate::error::Error;
use crate::tree::Tree;

/// The longest that a binary may take without a defect.
const LONGEST: Duration = Duration::from_secs(3600);

/// A test binary that passes without a defect.
pub(crate) struct Timed {
    pub(crate) binary: Binary,
    pub(crate) takes: Duration,
    /// It takes longer than was asked for: only some of its tests are run.
    pub(crate) in_part: bool,
}

impl Timed {
    /// When a run with a defect has gone astray.
    pub(crate) fn limit(&self) -> Duration {
        5 * self.takes + Duration::from_secs(10)
    }
}

/// Runs every binary without a defect, unless that was done since it was built; the fastest first.
pub(crate) fn baseline(tree: &Tree, binaries: Vec<Binary>, within: Option<u64>) -> Result<Vec<Timed>, Error> {
    let path = tree.work.join("times.json");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let mut known: BTreeMap<String, (u64, f64)> = serde_json::from_str(&text).unwrap_or_default();
    let limit = within.map_or(LONGEST, Duration::from_secs);
    let mut timed = Vec::new();
    for binary in binaries {
        let built = built(&binary)?;
        let takes = match known.get(&binary.name) {
            Some((of, seconds)) if *of == built => Some(Duration::from_secs_f64(*seconds)),
            _ => {
                eprintln!("without a defect: {}", binary.name);
                let started = Instant::now();
                let end = binary.run(0, &[], limit)?;
                let takes = started.elapsed();
                match end {
                    End::Failed(test) => {
                        let test = format!("{} {test}", binary.name);
                        return Err(Error::Baseline { test, command: binary.command(0) });
                    }
                    End::Passed => {
                        known.insert(binary.name.clone(), (built, takes.as_secs_f64()));
                        let text = serde_json::to_string_pretty(&known).expect("numbers are written");
                        fs::write(&path, text).map_err(|error| Error::file(&path, error))?;
                        Some(takes)
                    }
                    End::TooLong => None,
                }
            }
        };
        let whole = takes.filter(|takes| *takes <= limit);
        timed.push(Timed { binary, takes: whole.unwrap_or(limit), in_part: whole.is_none() });
    }
    timed.sort_by_key(|timed| timed.takes);
    Ok(timed)
}

/// When the binary was built, in nanoseconds since 1970.
fn built(binary: &Binary) -> Result<u64, Error> {
    let time = fs::metadata(&binary.path).and_then(|file| file.modified());
    let time = time.map_err(|error| Error::file(&binary.path, error))?;
    Ok(time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_nanos() as u64))
}
