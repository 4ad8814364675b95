//! The tables of a workload's measurements: which statistics of which samples they show, in which unit.

/// One table of what a workload measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Heading of the table, behind the name of the workload; may be empty.
    pub heading: &'static str,
    /// Beginnings of the operations of this table, in its order. A dash and a number, or nothing, follows.
    pub operations: &'static [&'static str],
    /// Rows that the table prints.
    pub family: Family,
    /// Direction in which values are better.
    pub better: Better,
    /// Unit of the values in the table. Samples are nanoseconds where it is a time.
    pub unit: Unit,
    /// Number of decimals shown.
    pub decimals: usize,
    /// Operations of this table that decide which policy is better, each with the figure that represents a run.
    pub main: &'static [(&'static str, Figure)],
}

/// One figure for all samples of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Mean of the samples, or the only one there is.
    Mean,
    /// Value that half of the samples do not exceed.
    Median,
    /// Value that 95 % of the samples do not exceed.
    P95,
}

/// Statistics of the samples that a table shows, as in mmtests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Least, mean, spread, largest.
    Samples,
    /// Quartiles and tails.
    Quantiles,
    /// Percentiles by nearest rank.
    Percentiles,
    /// One row of this name: what was measured, once in each run.
    Single(&'static str),
}

/// Direction in which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Lower values are better: latencies.
    Lower,
    /// Higher values are better: throughputs.
    Higher,
}

impl Better {
    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
        }
    }

    /// The direction of this word, if it is one.
    #[must_use]
    pub fn by_word(word: &str) -> Option<Self> {
        [Self::Lower, Self::Higher].into_iter().find(|better| better.word() == word)
    }
}

/// Unit of the values of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, for durations.
    Seconds,
    /// Milliseconds, for latencies of mappings.
    Milliseconds,
    /// Microseconds, for latencies.
    Microseconds,
    /// Latencies of single accesses.
    Nanoseconds,
    /// Throughput of file systems; samples are rates.
    FilesPerSecond,
    /// Throughput of streams; samples are rates.
    MebibytesPerSecond,
    /// Shares; samples are shares.
    Percent,
    /// Numbers of huge pages.
    HugePages,
    /// Numbers of base pages.
    Pages,
    /// Amounts of memory; samples are bytes.
    Gibibytes,
    /// Numbers of anything.
    Events,
    /// Rates; samples are rates.
    PerSecond,
    /// Numbers of loads, in millions.
    MillionAccesses,
}
