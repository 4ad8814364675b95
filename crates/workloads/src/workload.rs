//! Every workload there is: its name, what can be chosen, what it measures, and where its program is.

use std::collections::BTreeMap;

use order9_units::Nanos;

use crate::cpus::bind_as_chosen;
use crate::mempolicy::under_policy;
use crate::parameters::{Parameter, Parameters, Value};
use crate::sys::{Stop, Sys};
use crate::{
    fill_and_free, frag_mix, fsmark, hugealloc, hugetlb_grow, idle, java_heap, numa, stream_reader, stutter, thp,
    uptime, usemem,
};

/// A program of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    /// Streams through file and anonymous memory that together fit.
    Usemem,
    /// Fills memory and frees it by a pattern.
    FillAndFree,
    /// Makes fragmentation of a chosen kind and keeps making it while huge pages are asked for.
    FragMix,
    /// Allocates huge pages for the kernel where all memory is fragmented by a program.
    HugeAlloc,
    /// The same fragmented by what cannot move, to see compaction give up.
    HugeAllocUnmovable,
    /// Asks for a pool of huge pages again and again.
    HugetlbGrow,
    /// Sleeps.
    Idle,
    /// Starts a process that touches a large heap in fragmented memory.
    JavaHeap,
    /// Maps and touches memory beside a hog and a copy.
    Stutter,
    /// Touches memory beside readers of many small files.
    ThpChallenge,
    /// The same, as published in 2018.
    ThpFioscale,
    /// Touches memory where huge pages need compaction.
    ThpScale,
    /// Makes small files far beyond memory.
    FsMark,
    /// Reads files larger than memory over and over.
    StreamReader,
    /// Touches memory where a part of every 2 MiB of the own node, or of all, cannot move.
    FragmentedNodeFault,
    /// Loads from base and huge pages of every node.
    NumaAccessLatency,
    /// Starts guests whose memory is pinned as it is touched.
    PinnedGuest,
    /// Starts a guest larger than a node beside a program on that node.
    VmLargerThanNode,
    /// A mixed server for days.
    Uptime,
}

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

impl Workload {
    /// All of them, by name.
    pub const ALL: [Self; 19] = [
        Self::FillAndFree,
        Self::FragMix,
        Self::FragmentedNodeFault,
        Self::FsMark,
        Self::HugeAlloc,
        Self::HugeAllocUnmovable,
        Self::HugetlbGrow,
        Self::Idle,
        Self::JavaHeap,
        Self::NumaAccessLatency,
        Self::PinnedGuest,
        Self::StreamReader,
        Self::Stutter,
        Self::ThpChallenge,
        Self::ThpFioscale,
        Self::ThpScale,
        Self::Uptime,
        Self::Usemem,
        Self::VmLargerThanNode,
    ];

    /// The workload called so.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// What users call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usemem => "usemem",
            Self::FillAndFree => "fill-and-free",
            Self::FragMix => "frag-mix",
            Self::HugeAlloc => "hugealloc",
            Self::HugeAllocUnmovable => "hugealloc-unmovable",
            Self::HugetlbGrow => "hugetlb-grow",
            Self::Idle => "idle",
            Self::JavaHeap => "java-heap",
            Self::Stutter => "stutter",
            Self::ThpChallenge => "thpchallenge",
            Self::ThpFioscale => "thpfioscale",
            Self::ThpScale => "thpscale",
            Self::FsMark => "fsmark",
            Self::StreamReader => "stream-reader",
            Self::FragmentedNodeFault => "fragmented-node-fault",
            Self::NumaAccessLatency => "numa-access-latency",
            Self::PinnedGuest => "pinned-guest",
            Self::VmLargerThanNode => "vm-larger-than-node",
            Self::Uptime => "uptime",
        }
    }

    /// Whether a run is long by default, whatever the machine: it lasts for days, or fills memory many times over.
    #[must_use]
    pub const fn is_long(self) -> bool {
        matches!(self, Self::FsMark | Self::Uptime)
    }

    /// What it does, in one line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Usemem => "streams through file and anonymous memory that together fit: any stall is a mistake",
            Self::FillAndFree => "fills memory and frees it by a pattern: ages memory",
            Self::FragMix => "huge pages under fragmentation of a chosen degree and mix that somebody keeps making",
            Self::HugeAlloc => "the kernel takes huge pages where none is free but nearly all memory is movable",
            Self::HugeAllocUnmovable => "memory full of what cannot move: does compaction notice that it cannot win",
            Self::HugetlbGrow => "an administrator wants a hugetlb pool in fragmented memory: what does each try give",
            Self::Idle => "sleeps: what a machine does by itself",
            Self::JavaHeap => "one process wants all its memory at once and huge, in fragmented memory",
            Self::Stutter => "maps and touches memory beside a hog and a large copy: what a desktop user feels",
            Self::ThpChallenge => "faults of huge pages beside page cache and slab that stay in use",
            Self::ThpFioscale => {
                "faults of huge pages where page cache and slab of all nodes stay in use: which node to take them from"
            }
            Self::ThpScale => "faults of huge pages by more and more threads where compaction has to make them",
            Self::FsMark => "makes small files far beyond memory: are page cache and slab reclaimed in step",
            Self::StreamReader => "reads files larger than memory over and over: what a stream does to memory",
            Self::FragmentedNodeFault => {
                "faults of huge pages on a node, or on all, that cannot have any: what does asking cost"
            }
            Self::NumaAccessLatency => "loads from base and huge pages of every node: what memory of others costs",
            Self::PinnedGuest => {
                "guests with a device assigned, up to more than a node: what pinned memory makes of reclaim"
            }
            Self::VmLargerThanNode => {
                "a guest larger than its node while others are free: does it swap, go on elsewhere, or take base pages"
            }
            Self::Uptime => "a mixed server for days: how memory ages",
        }
    }

    /// What it does and measures, in a few sentences.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Usemem => usemem::DESCRIPTION,
            Self::FillAndFree => fill_and_free::DESCRIPTION,
            Self::FragMix => frag_mix::DESCRIPTION,
            Self::HugeAlloc => hugealloc::DESCRIPTION,
            Self::HugeAllocUnmovable => hugealloc::unmovable::DESCRIPTION,
            Self::HugetlbGrow => hugetlb_grow::DESCRIPTION,
            Self::Idle => idle::DESCRIPTION,
            Self::JavaHeap => java_heap::DESCRIPTION,
            Self::Stutter => stutter::DESCRIPTION,
            Self::ThpChallenge => thp::challenge::DESCRIPTION,
            Self::ThpFioscale => thp::fioscale::DESCRIPTION,
            Self::ThpScale => thp::scale::DESCRIPTION,
            Self::FsMark => fsmark::DESCRIPTION,
            Self::StreamReader => stream_reader::DESCRIPTION,
            Self::FragmentedNodeFault => numa::fragmented_fault::DESCRIPTION,
            Self::NumaAccessLatency => numa::access_latency::DESCRIPTION,
            Self::PinnedGuest => numa::pinned_guest::DESCRIPTION,
            Self::VmLargerThanNode => numa::larger_than_node::DESCRIPTION,
            Self::Uptime => uptime::DESCRIPTION,
        }
    }

    /// What can be chosen, beside [`GENERAL`](crate::GENERAL).
    #[must_use]
    pub const fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Usemem => usemem::PARAMETERS,
            Self::FillAndFree => fill_and_free::PARAMETERS,
            Self::FragMix => frag_mix::PARAMETERS,
            Self::HugeAlloc => hugealloc::PARAMETERS,
            Self::HugeAllocUnmovable => hugealloc::unmovable::PARAMETERS,
            Self::HugetlbGrow => hugetlb_grow::PARAMETERS,
            Self::Idle => idle::PARAMETERS,
            Self::JavaHeap => java_heap::PARAMETERS,
            Self::Stutter => stutter::PARAMETERS,
            Self::ThpChallenge => thp::challenge::PARAMETERS,
            Self::ThpFioscale => thp::fioscale::PARAMETERS,
            Self::ThpScale => thp::scale::PARAMETERS,
            Self::FsMark => fsmark::PARAMETERS,
            Self::StreamReader => stream_reader::PARAMETERS,
            Self::FragmentedNodeFault => numa::fragmented_fault::PARAMETERS,
            Self::NumaAccessLatency => numa::access_latency::PARAMETERS,
            Self::PinnedGuest => numa::pinned_guest::PARAMETERS,
            Self::VmLargerThanNode => numa::larger_than_node::PARAMETERS,
            Self::Uptime => uptime::PARAMETERS,
        }
    }

    /// What it measures, the main table first, beside [`GENERAL_MEASURES`](crate::GENERAL_MEASURES).
    #[must_use]
    pub const fn measures(self) -> &'static [Measure] {
        match self {
            Self::Usemem => usemem::MEASURES,
            Self::FillAndFree => fill_and_free::MEASURES,
            Self::FragMix => frag_mix::MEASURES,
            Self::HugeAlloc => hugealloc::MEASURES,
            Self::HugeAllocUnmovable => hugealloc::unmovable::MEASURES,
            Self::HugetlbGrow => hugetlb_grow::MEASURES,
            Self::Idle => idle::MEASURES,
            Self::JavaHeap => java_heap::MEASURES,
            Self::Stutter => stutter::MEASURES,
            Self::ThpChallenge => thp::challenge::MEASURES,
            Self::ThpFioscale => thp::fioscale::MEASURES,
            Self::ThpScale => thp::scale::MEASURES,
            Self::FsMark => fsmark::MEASURES,
            Self::StreamReader => stream_reader::MEASURES,
            Self::FragmentedNodeFault => numa::fragmented_fault::MEASURES,
            Self::NumaAccessLatency => numa::access_latency::MEASURES,
            Self::PinnedGuest => numa::pinned_guest::MEASURES,
            Self::VmLargerThanNode => numa::larger_than_node::MEASURES,
            Self::Uptime => uptime::MEASURES,
        }
    }

    /// Settings of Linux that belong to the benchmark with these parameters, by sysctl's names, and what is written to them
    /// before the start. What was not chosen has its default.
    ///
    /// The benchmarks of huge pages were published with `enabled=always` and the kernel's own `defrag`, or with a `defrag` that
    /// is a part of the variant; those that fragment memory with base pages, with `enabled=madvise`.
    #[must_use]
    pub fn settings(self, chosen: &BTreeMap<&str, Value>) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::ThpFioscale if chosen.get(thp::fioscale::VARIANT) == Some(&Value::Word("defrag")) => {
                &[("thp/enabled", "always"), ("thp/defrag", "always")]
            }
            Self::FragMix | Self::Stutter | Self::ThpChallenge | Self::ThpFioscale | Self::ThpScale | Self::Usemem => {
                &[("thp/enabled", "always")]
            }
            Self::FragmentedNodeFault
            | Self::NumaAccessLatency
            | Self::PinnedGuest
            | Self::Uptime
            | Self::VmLargerThanNode => &[("thp/enabled", "always"), ("thp/defrag", "madvise")],
            Self::HugeAlloc | Self::HugeAllocUnmovable | Self::HugetlbGrow | Self::JavaHeap => {
                &[("thp/enabled", "madvise"), ("thp/defrag", "madvise")]
            }
            Self::FillAndFree => &[("thp/enabled", "madvise")],
            Self::FsMark | Self::Idle | Self::StreamReader => &[],
        }
    }

    /// How often its counters are worth reading, unless somebody wants more or less.
    #[must_use]
    pub const fn counters_every(self) -> Nanos {
        match self {
            Self::Uptime => Nanos::new(600_000_000_000),
            Self::FsMark => Nanos::new(10_000_000_000),
            Self::Usemem
            | Self::FillAndFree
            | Self::FragMix
            | Self::FragmentedNodeFault
            | Self::HugeAlloc
            | Self::HugeAllocUnmovable
            | Self::HugetlbGrow
            | Self::Idle
            | Self::JavaHeap
            | Self::NumaAccessLatency
            | Self::PinnedGuest
            | Self::StreamReader
            | Self::Stutter
            | Self::ThpChallenge
            | Self::ThpFioscale
            | Self::ThpScale
            | Self::VmLargerThanNode => Nanos::new(1_000_000_000),
        }
    }

    /// Runs the program.
    ///
    /// # Errors
    /// What ended it before its time.
    pub async fn run<S: Sys>(self, sys: S, parameters: &Parameters) -> Result<(), Stop> {
        bind_as_chosen(&sys, parameters).await?;
        under_policy(&sys, parameters, self.program(sys.clone(), parameters)).await
    }

    async fn program<S: Sys>(self, sys: S, parameters: &Parameters) -> Result<(), Stop> {
        match self {
            Self::Usemem => usemem::run(&sys, parameters).await,
            Self::FillAndFree => fill_and_free::run(&sys, parameters).await,
            Self::FragMix => frag_mix::run(&sys, parameters).await,
            Self::HugeAlloc => hugealloc::run(&sys, parameters).await,
            Self::HugeAllocUnmovable => hugealloc::unmovable::run(&sys, parameters).await,
            Self::HugetlbGrow => hugetlb_grow::run(&sys, parameters).await,
            Self::Idle => idle::run(&sys, parameters).await,
            Self::JavaHeap => java_heap::run(&sys, parameters).await,
            Self::Stutter => stutter::run(&sys, parameters).await,
            Self::ThpChallenge => thp::challenge::run(&sys, parameters).await,
            Self::ThpFioscale => thp::fioscale::run(&sys, parameters).await,
            Self::ThpScale => thp::scale::run(&sys, parameters).await,
            Self::FsMark => fsmark::run(&sys, parameters).await,
            Self::StreamReader => stream_reader::run(&sys, parameters).await,
            Self::FragmentedNodeFault => numa::fragmented_fault::run(&sys, parameters).await,
            Self::NumaAccessLatency => numa::access_latency::run(&sys, parameters).await,
            Self::PinnedGuest => numa::pinned_guest::run(&sys, parameters).await,
            Self::VmLargerThanNode => numa::larger_than_node::run(&sys, parameters).await,
            Self::Uptime => uptime::run(&sys, parameters).await,
        }
    }
}
