//! The kernel's command line: parameters that decide, before anything runs, what files of /proc and /sys decide later.
//!
//! Key types: [`BootParameter`] (a name, and what it takes), [`PARAMETERS`] (all of them), [`CommandLine`] (what was given).
//! A value that a parameter does not take is ignored and the kernel says so in its log, as Linux does; a parameter that
//! the engine does not have is refused, since ignoring it would make results look as if it had been obeyed. Linux'
//! Documentation/admin-guide/kernel-parameters.txt and admin-guide/mm/transhuge.rst.

mod by_size;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use order9_mm::hugetlb::PoolSize;
use order9_mm::policy::{HugeInterface, ThpPolicy};
use order9_mm::thp::{HugeEnabled, HugeSize, SizeEnabled, SizeShmemEnabled};
use order9_mm::{Mm, ShmemEnabled, ShmemHuge};

use by_size::{HUGE, Malformed, words_by_size};

use crate::Words;

/// A parameter of the kernel that has an effect.
#[derive(Debug, PartialEq, Eq)]
pub struct BootParameter {
    /// The text before the `=`.
    pub name: &'static str,
    /// The values that the parameter takes, in words.
    pub takes: &'static str,
    /// The effect of the parameter, in words.
    pub meaning: &'static str,
    effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Hugepages,
    ThpAnon,
    ThpShmem,
    TransparentHugepage,
    TransparentHugepageShmem,
}

/// Every parameter that has an effect, by name.
pub static PARAMETERS: &[BootParameter] = &[
    BootParameter {
        name: "hugepages",
        takes: "a number of huge pages",
        meaning: "`vm.nr_hugepages` at the start; the pool is made as large as free memory allows",
        effect: Effect::Hugepages,
    },
    BootParameter {
        name: "thp_anon",
        takes: "sizes and words, such as 16K-64K:never;2M:madvise",
        meaning: "`thp/hugepages-*kB/enabled` at the start, never for sizes that are not named (6.12+)",
        effect: Effect::ThpAnon,
    },
    BootParameter {
        name: "thp_shmem",
        takes: "sizes and words, such as 2M:advise",
        meaning: "`thp/hugepages-2048kB/shmem_enabled` at the start, likewise (6.13+); other sizes are read and have no effect",
        effect: Effect::ThpShmem,
    },
    BootParameter {
        name: "transparent_hugepage",
        takes: "always, madvise, never",
        meaning: "`thp/enabled` at the start, and nothing else; machines with less than 512 MiB start with never",
        effect: Effect::TransparentHugepage,
    },
    BootParameter {
        name: "transparent_hugepage_shmem",
        takes: "always, within_size, advise, never, deny, force",
        meaning: "`thp/shmem_enabled` at the start (6.13+)",
        effect: Effect::TransparentHugepageShmem,
    },
];

impl BootParameter {
    /// The parameter called `name`, in which `-` and `_` are the same.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let canonical = |byte: u8| if byte == b'-' { b'_' } else { byte };
        PARAMETERS.iter().find(|parameter| parameter.name.bytes().eq(name.bytes().map(canonical)))
    }
}

/// The command line of a kernel. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    text: String,
    given: Vec<(&'static BootParameter, String)>,
}

/// A command line that the engine cannot boot with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLineError {
    /// There is no [`BootParameter`] of this name.
    Unknown(String),
    /// Linux takes this value, the engine does not.
    NotModelled {
        /// The parameter and its value.
        given: String,
        /// The part of Linux that the engine does not have.
        missing: &'static str,
    },
}

impl CommandLine {
    /// Parameters separated by blanks, each `name=value`. Values are not judged here, but at boot.
    ///
    /// # Errors
    /// The first parameter, or form of a value, that the engine does not have.
    pub fn parse(text: &str) -> Result<Self, CommandLineError> {
        let given = text.split_ascii_whitespace().map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let parameter = BootParameter::find(name).ok_or_else(|| CommandLineError::Unknown(name.to_string()))?;
            if parameter.effect == Effect::Hugepages && value.contains(':') {
                return Err(CommandLineError::NotModelled { given: word.to_string(), missing: "pool by node at boot" });
            }
            Ok((parameter, value.to_string()))
        });
        Ok(Self { given: given.collect::<Result<_, _>>()?, text: text.to_string() })
    }

    /// The first parameter that kernels of this policy do not have.
    #[must_use]
    pub fn first_absent(&self, policy: &ThpPolicy) -> Option<&'static BootParameter> {
        let has = |effect| match effect {
            Effect::Hugepages | Effect::TransparentHugepage => true,
            Effect::ThpAnon | Effect::ThpShmem | Effect::TransparentHugepageShmem => {
                policy.interface >= HugeInterface::Sizes
            }
        };
        self.given.iter().map(|&(parameter, _)| parameter).find(|parameter| !has(parameter.effect))
    }

    /// The command line as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for CommandLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "no kernel parameter is called '{name}'"),
            Self::NotModelled { given, missing } => write!(f, "{given} is not modelled yet (there is no {missing})"),
        }
    }
}

impl core::error::Error for CommandLineError {}

/// Bytes of the smallest huge pages of shared memory on Linux.
const SMALLEST_SHMEM: u64 = 8 << 10;
/// Linux' warning about settings by size that it does not understand.
const IGNORED: &str = "error parsing string, ignoring setting";

/// A line of the kernel's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The line without its line end.
    pub text: String,
    /// Whether it says that something was not done.
    pub is_warning: bool,
}

impl LogLine {
    const fn info(text: String) -> Self {
        Self { text, is_warning: false }
    }

    const fn warning(text: String) -> Self {
        Self { text, is_warning: true }
    }

    fn unparsed(parameter: &str) -> Self {
        Self::warning(format!("{parameter} cannot parse, ignored"))
    }
}

impl CommandLine {
    /// Does what the parameters say, and returns what the kernel writes to its log about it; nothing where there are none. Call
    /// it before anything runs, with parameters that the policy in force has. Memory taken from a running host counts as just
    /// booted.
    pub fn boot(&self, mm: &mut Mm) -> Vec<LogLine> {
        if self.given.is_empty() {
            return Vec::new();
        }
        let mut log = alloc::vec![LogLine::info(format!("Kernel command line: {}", self.text))];
        let (mut pool, mut anon, mut shmem) = (None, None, None);
        for (parameter, value) in &self.given {
            match parameter.effect {
                Effect::TransparentHugepage => match HugeEnabled::find(value) {
                    Some(enabled) => mm.phys_mut().start_with_thp(enabled),
                    None => log.push(LogLine::unparsed("huge_memory: transparent_hugepage=")),
                },
                Effect::TransparentHugepageShmem => match ShmemEnabled::find(value) {
                    Some(enabled) => mm.pages_mut().cache_mut().set_shmem_enabled(enabled),
                    None => log.push(LogLine::unparsed("transparent_hugepage_shmem=")),
                },
                Effect::ThpAnon => match words_by_size::<SizeEnabled>(value, HugeSize::SMALLEST.kib() << 10) {
                    Ok(words) => anon.get_or_insert_with(Vec::new).extend(words),
                    Err(Malformed) => log.push(LogLine::warning(format!("huge_memory: thp_anon={value}: {IGNORED}"))),
                },
                Effect::ThpShmem => match words_by_size::<SizeShmemEnabled>(value, SMALLEST_SHMEM) {
                    Ok(words) => {
                        let word = words.into_iter().rfind(|&(size, _)| size == HUGE).map(|(_, word)| word);
                        shmem = word.or(shmem).or(Some(SizeShmemEnabled::Own(ShmemHuge::Never)));
                    }
                    Err(Malformed) => log.push(LogLine::warning(format!("thp_shmem={value}: {IGNORED}"))),
                },
                Effect::Hugepages if pool.is_some() => log.push(LogLine::warning(format!(
                    "HugeTLB: hugepages= specified twice without interleaving hugepagesz=, ignoring hugepages={value}"
                ))),
                Effect::Hugepages => match value.parse::<u64>() {
                    Ok(pages) => pool = Some(pages),
                    Err(_) => log.push(LogLine::warning(format!("HugeTLB: Invalid hugepages parameter {value}"))),
                },
            }
        }
        if let Some(enabled) = anon {
            let size = |bytes: u64| HugeSize::of_kib(bytes >> 10).expect("sizes of huge pages were named");
            mm.phys_mut().start_with_thp_sizes(enabled.into_iter().map(|(bytes, word)| (size(bytes), word)));
        }
        if let Some(enabled) = shmem {
            mm.pages_mut().cache_mut().set_shmem_size_enabled(enabled);
        }
        // Pools are made when the allocator is up, after all parameters have been read.
        log.extend(pool.into_iter().flat_map(|pages| boot_pool(mm, pages)));
        log
    }
}

fn boot_pool(mm: &mut Mm, pages: u64) -> Vec<LogLine> {
    mm.set_nr_hugepages(PoolSize::all(pages));
    let got = mm.pages().hugetlb().hugetlb_pool().total;
    let short = format!("HugeTLB: allocating {pages} of page size 2.00 MiB failed.  Only allocated {got} hugepages.");
    let short = (got < pages).then_some(LogLine::warning(short));
    let registered = format!("HugeTLB: registered 2.00 MiB page size, pre-allocated {got} pages");
    short.into_iter().chain([LogLine::info(registered)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_as_linux_names_them() {
        for spelling in ["transparent_hugepage", "transparent-hugepage"] {
            assert_eq!(BootParameter::find(spelling).map(|parameter| parameter.name), Some("transparent_hugepage"));
        }
        assert_eq!(BootParameter::find("Transparent_hugepage"), None);
        let names: Vec<_> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn what_the_engine_does_not_have_is_refused() {
        assert_eq!(CommandLine::parse("quiet"), Err(CommandLineError::Unknown("quiet".into())));
        let by_node = CommandLine::parse("transparent_hugepage=never hugepages=0:2,1:2").expect_err("by node");
        let says = "hugepages=0:2,1:2 is not modelled yet (there is no pool by node at boot)";
        assert_eq!(by_node.to_string(), says);
        let line =
            CommandLine::parse(" transparent_hugepage=sometimes\thugepages ").expect("values are judged at boot");
        assert_eq!(line.given.len(), 2);
        assert_eq!(CommandLine::parse(""), Ok(CommandLine::default()));
    }
}
