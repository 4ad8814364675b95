//! Parsers of the kernel's text files: pure functions from a file's text to plain values.
//!
//! Each tolerates what differs between kernels 4.x and 6.18 and names the line where a file is not what it should be.
//! None panics, whatever the text, and none computes with a number too large to be real.

pub(crate) mod buddyinfo;
pub(crate) mod cmdline;
pub(crate) mod counters;
pub(crate) mod cpulist;
pub(crate) mod iomem;
pub(crate) mod pagetypeinfo;
pub(crate) mod pressure;
pub(crate) mod release;
pub(crate) mod uptime;
pub(crate) mod zoneinfo;

#[cfg(test)]
mod never_panics;

use std::fmt::Display;
use std::str::FromStr;

use order9_snapshot::limits::{CPUS_MAX, NODES_MAX};
use order9_units::{NodeId, Order, Pages, ZoneKind};

use crate::form::is_counter;

/// Why a file's text could not be taken. Nothing of the text is quoted: under the name of a kernel's file a bundle of copies
/// may hold any other, and what is said here ends up in the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// The text is not what this file holds.
    #[error("line {line}: expected {expected}")]
    Malformed { line: usize, expected: &'static str },
    /// The file is sound and describes a machine that order9 does not model.
    #[error("line {line}: {what}")]
    Unsupported { line: usize, what: String },
}

/// One line of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Number of the line, from 1 on.
    number: usize,
    text: &'a str,
}

/// The lines of `text` that are not blank.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = text.lines().enumerate().map(|(at, text)| Line { number: at + 1, text });
    numbered.filter(|line| !line.text.trim().is_empty())
}

impl Line<'_> {
    /// The line is not what it should be.
    pub(crate) fn malformed(&self, expected: &'static str) -> ParseError {
        ParseError::Malformed { line: self.number, expected }
    }

    /// The line describes a machine that order9 does not model.
    pub(crate) fn unsupported(&self, what: impl Display) -> ParseError {
        ParseError::Unsupported { line: self.number, what: what.to_string() }
    }

    /// `word` as a number.
    pub(crate) fn number<T: FromStr>(&self, word: Option<&str>, expected: &'static str) -> Result<T, ParseError> {
        word.and_then(|word| word.trim().parse().ok()).ok_or_else(|| self.malformed(expected))
    }

    /// `word` as a number of pages or blocks that a machine can have, so that sums of some of them cannot overflow.
    pub(crate) fn pages(&self, word: Option<&str>, expected: &'static str) -> Result<Pages, ParseError> {
        match self.number(word, expected)? {
            n if n <= PAGES_MAX => Ok(Pages::new(n)),
            _ => Err(self.malformed("a number of pages below 2^40, which is 4 PiB")),
        }
    }

    /// `word` as the number of a node.
    fn node(&self, word: &str) -> Result<NodeId, ParseError> {
        match self.number(Some(word), "the number of a node")? {
            node if node < NODES_MAX => Ok(NodeId(node)),
            _ => Err(self.malformed("the number of a node, below 1024")),
        }
    }

    /// `word` as the number of a CPU.
    pub(crate) fn cpu(&self, word: &str) -> Result<u32, ParseError> {
        match self.number(Some(word), "the number of a CPU")? {
            cpu if cpu < CPUS_MAX => Ok(cpu),
            _ => Err(self.malformed("the number of a CPU, below 8192")),
        }
    }

    /// `word` as the name of a counter.
    pub(crate) fn counter<'w>(&self, word: &'w str) -> Result<&'w str, ParseError> {
        Some(word).filter(|word| is_counter(word)).ok_or_else(|| self.malformed("the name of a counter"))
    }

    /// `words` as one number per order.
    pub(crate) fn per_order<'w>(
        &self,
        words: impl Iterator<Item = &'w str>,
    ) -> Result<[u64; Order::COUNT], ParseError> {
        let counts: Vec<u64> = words
            .map(|word| self.pages(Some(word.trim_start_matches('>')), "numbers of free blocks").map(Pages::get))
            .collect::<Result<_, _>>()?;
        counts.as_slice().try_into().map_err(|_| {
            let (found, known) = (counts.len(), Order::COUNT);
            self.unsupported(format_args!("{found} orders, where order9 knows the {known} orders 0 to {}", Order::MAX))
        })
    }

    /// The line as `Node N, zone NAME REST`.
    pub(crate) fn zone(&self) -> Result<ZoneLine<'_>, ParseError> {
        const EXPECTED: &str = "`Node N, zone NAME`";
        let after_node = self.text.trim_start().strip_prefix("Node").ok_or_else(|| self.malformed(EXPECTED))?;
        let (node, after_comma) = after_node.split_once(',').ok_or_else(|| self.malformed(EXPECTED))?;
        let after_zone = after_comma.trim_start().strip_prefix("zone").ok_or_else(|| self.malformed(EXPECTED))?;
        let named = after_zone.trim_start();
        let (name, rest) = named.split_at(named.find([' ', ',']).unwrap_or(named.len()));
        let kind = match name {
            "Device" => None,
            _ => Some(name.parse().map_err(|_| {
                let shown = if name == "HighMem" { "zone `HighMem`" } else { "an unknown zone" };
                self.unsupported(format_args!(
                    "{shown}, where order9 knows DMA, DMA32, Normal, Movable and Device of 64-bit x86"
                ))
            })?),
        };
        Ok(ZoneLine { node: self.node(node)?, kind, rest })
    }
}

/// No machine has more pages: 4 PiB, what 52 bits of physical address reach.
const PAGES_MAX: u64 = 1 << 40;

/// The start of a line about a zone.
pub(crate) struct ZoneLine<'a> {
    pub(crate) node: NodeId,
    /// `None` for `Device`, whose frames belong to drivers and not to the page allocator.
    pub(crate) kind: Option<ZoneKind>,
    /// The text behind the zone's name.
    pub(crate) rest: &'a str,
}
