//! The tables of a workload's measurements: which statistics of which samples they show, in which unit.

/// One table of what a workload measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What stands above the table, behind the name of the workload; may be empty.
    pub heading: &'static str,
    /// How the operations of this table begin, in the order of the table. What follows is a dash and a number, or nothing.
    pub operations: &'static [&'static str],
    /// Which rows are printed.
    pub family: Family,
    /// Which way is better.
    pub better: Better,
    /// What the table shows its values in; samples are nanoseconds where it is a time.
    pub unit: Unit,
    /// Decimals shown.
    pub decimals: usize,
    /// What of this table decides which policy is better: operations as above, and the figure that a run has of each.
    pub main: &'static [(&'static str, Figure)],
}

/// One figure for all samples of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Their mean, or the only one there is.
    Mean,
    /// What half of them do not exceed.
    Median,
    /// What 95 % of them do not exceed.
    P95,
}

/// Which statistics of its samples a table shows, as in mmtests.
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

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Latencies.
    Lower,
    /// Throughputs.
    Higher,
}

/// What a table shows its values in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Durations.
    Seconds,
    /// Latencies of mappings.
    Milliseconds,
    /// Latencies.
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
    /// Numbers of loads, in millions.
    MillionAccesses,
}
