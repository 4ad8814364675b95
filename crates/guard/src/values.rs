//! Kinds of values in the file: how each is read, and how it is written.

use std::path::PathBuf;
use std::time::Duration;

use order9_toml::{Leaf, Problem, quoted};
use order9_units::Nanos;
use toml::de::DeValue;

use crate::config::{Goal, Share};
use crate::file::Listen;
use crate::words::written;

pub(crate) mod goal {
    use super::{DeValue, Goal, Leaf, Problem, share};

    pub(crate) fn take(leaf: &Leaf<'_>) -> Result<Goal, Problem> {
        const EXPECTED: &str = "a number of huge pages such as 512, or a share of the node's memory such as \"10%\"";
        match leaf.value {
            DeValue::Integer(_) => leaf.whole_number().map(Goal::Count).ok_or_else(|| leaf.wrong(EXPECTED)),
            _ => share::take(leaf).map(Goal::Share).map_err(|_| leaf.wrong(EXPECTED)),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "kinds are alike")]
    pub(crate) fn show(goal: &Goal) -> Option<String> {
        Some(goal.to_string())
    }
}

pub(crate) mod share {
    use super::{DeValue, Leaf, Problem, Share};

    pub(crate) fn take(leaf: &Leaf<'_>) -> Result<Share, Problem> {
        let text = if let DeValue::String(text) = leaf.value { text } else { "" };
        let percent = text.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(Share::percent).ok_or_else(|| leaf.wrong("a share such as \"5%\""))
    }

    #[expect(clippy::unnecessary_wraps, reason = "kinds are alike")]
    pub(crate) fn show(share: &Share) -> Option<String> {
        Some(format!("\"{share}\""))
    }
}

pub(crate) mod time {
    use super::{DeValue, Duration, Leaf, Nanos, Problem, quoted, written};

    /// Longest time: ten years, so that sums of a few cannot overflow.
    const MOST: Duration = Duration::from_secs(3650 * 24 * 3600);

    pub(crate) fn take(leaf: &Leaf<'_>) -> Result<Nanos, Problem> {
        let text = if let DeValue::String(text) = leaf.value { text } else { "" };
        let time = humantime::parse_duration(text).ok().filter(|time| *time <= MOST);
        let time = time.and_then(|time| u64::try_from(time.as_nanos()).ok());
        time.map(Nanos::new).ok_or_else(|| leaf.wrong("a time such as \"500ms\" or \"10s\", 10 years at most"))
    }

    #[expect(clippy::unnecessary_wraps, reason = "kinds are alike")]
    pub(crate) fn show(time: &Nanos) -> Option<String> {
        Some(quoted(&written(*time)))
    }
}

pub(crate) mod positive {
    use super::{Leaf, Nanos, Problem};

    pub(crate) use super::time::show;

    /// Shorter times would be spent looking.
    const LEAST: Nanos = Nanos::new(1_000_000);

    pub(crate) fn take(leaf: &Leaf<'_>) -> Result<Nanos, Problem> {
        let time = super::time::take(leaf)?;
        if time >= LEAST { Ok(time) } else { Err(leaf.wrong("a time of 1ms or more")) }
    }
}

pub(crate) mod number {
    use super::{Leaf, Problem};

    pub(crate) fn take(leaf: &Leaf<'_>) -> Result<u64, Problem> {
        leaf.whole_number().ok_or_else(|| leaf.wrong("a whole number"))
    }

    #[expect(clippy::unnecessary_wraps, reason = "kinds are alike")]
    pub(crate) fn show(number: &u64) -> Option<String> {
        Some(number.to_string())
    }
}

pub(crate) mod textfile {
    use super::{Leaf, PathBuf, Problem, quoted};

    pub(crate) fn take(leaf: &Leaf<'_>) -> Result<Option<PathBuf>, Problem> {
        let path = leaf.line_of_text().ok().filter(|path| path.starts_with('/') && path.ends_with(".prom"));
        path.map(|path| Some(path.into())).ok_or_else(|| leaf.wrong("a path from / on that ends in .prom"))
    }

    pub(crate) fn show(path: &Option<PathBuf>) -> Option<String> {
        path.as_ref().map(|path| quoted(&path.display().to_string()))
    }
}

pub(crate) mod listen {
    use super::{Leaf, Listen, Problem, quoted};

    pub(crate) fn take(leaf: &Leaf<'_>) -> Result<Option<Listen>, Problem> {
        let text = leaf.line_of_text().unwrap_or_default();
        let listen = match text.strip_prefix("unix:") {
            Some(path) => path.starts_with('/').then(|| Listen::Unix(path.into())),
            None => text.parse().ok().map(Listen::Tcp),
        };
        listen
            .map(Some)
            .ok_or_else(|| leaf.wrong("an address such as \"127.0.0.1:9409\" or \"unix:/run/order9/guard.sock\""))
    }

    pub(crate) fn show(listen: &Option<Listen>) -> Option<String> {
        listen.as_ref().map(|listen| match listen {
            Listen::Tcp(address) => quoted(&address.to_string()),
            Listen::Unix(path) => quoted(&format!("unix:{}", path.display())),
        })
    }
}
