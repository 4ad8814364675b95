//! The list of workloads: [`Workload`]. Adding one takes a file with a `WORKLOAD` and a `run`, and a row here.
//! Programs from outside this crate have a [`Spec::own`] and start by [`run_as_chosen`].

use std::future::Future;

use crate::beforehand::Beforehand;
use crate::cpus::bind_as_chosen;
use crate::demand::{Chosen, Demand};
use crate::mempolicy::under_policy;
use crate::parameters::Parameters;
use crate::spec::Spec;
use crate::sys::{Facts, Stop, Sys};
use crate::trace::like_host::Beside;

/// Makes the enum of rows `Variant => module`. Only a macro can name the programs in a table: each is generic over its world.
macro_rules! workloads {
    ($($(#[$doc:meta])+ $variant:ident => $($module:ident)::+,)+) => {
        /// A program of this crate, or one from outside.
        #[derive(Clone, Copy, Debug)]
        pub enum Workload {
            $($(#[$doc])+ $variant,)+
            /// A program from outside, which its owner runs by [`run_as_chosen`].
            Own(&'static Spec),
        }

        impl Workload {
            /// All programs of this crate, by name.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            /// All there is to say of it.
            #[must_use]
            pub const fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$variant => &crate::$($module::)+WORKLOAD,)+
                    Self::Own(spec) => spec,
                }
            }

            async fn program<S: Sys>(self, sys: S, parameters: &Parameters) -> Result<(), Stop> {
                match self {
                    $(Self::$variant => crate::$($module::)+run(&sys, parameters).await,)+
                    Self::Own(spec) => unreachable!("{} runs where its program is", spec.name),
                }
            }
        }
    };
}

workloads! {
    /// Fills memory and frees it by a pattern.
    FillAndFree => fill_and_free,
    /// Makes fragmentation of a chosen kind and keeps making it while huge pages are asked for.
    FragMix => frag_mix,
    /// Touches memory where a part of every 2 MiB of the own node, or of all, cannot move.
    FragmentedNodeFault => numa::fragmented_fault,
    /// Makes small files far beyond memory.
    FsMark => fsmark,
    /// Allocates huge pages for the kernel where all memory is fragmented by a program.
    HugeAlloc => hugealloc,
    /// Allocates huge pages where the kernel holds a part of each, to see compaction give up.
    HugeAllocUnmovable => hugealloc::unmovable,
    /// Asks for a pool of huge pages again and again.
    HugetlbGrow => hugetlb_grow,
    /// Sleeps, and leaves the machine to its daemons.
    Idle => idle,
    /// Starts a process that touches a large heap in fragmented memory.
    JavaHeap => java_heap,
    /// Goes on as a host did while it was recorded.
    LikeHost => trace::like_host,
    /// Maps memory and writes it, in memory as it is.
    MapAndWrite => map_and_write,
    /// Loads from base and huge pages of every node.
    NumaAccessLatency => numa::access_latency,
    /// Starts guests whose memory is pinned as it is touched.
    PinnedGuest => numa::pinned_guest,
    /// Reads files larger than memory over and over.
    StreamReader => stream_reader,
    /// Maps and touches memory beside a hog and a copy.
    Stutter => stutter,
    /// Touches memory beside readers of many small files.
    ThpChallenge => thp::challenge,
    /// Touches memory beside readers of many small files, as published in 2018.
    ThpFioscale => thp::fioscale,
    /// Touches memory where huge pages need compaction.
    ThpScale => thp::scale,
    /// Does again what a kernel counted while something else ran.
    Trace => trace,
    /// A mixed server for days.
    Uptime => uptime,
    /// Streams through file and anonymous memory that together fit.
    Usemem => usemem,
    /// Starts a guest larger than a node beside a program on that node.
    VmLargerThanNode => numa::larger_than_node,
}

impl Workload {
    /// The workload called so.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// Name of the workload in scenario files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Least memory, disk space and time that a run with these parameters takes.
    #[must_use]
    pub fn demand(self, parameters: &Parameters, facts: &Facts) -> Demand {
        (self.spec().demand)(&Chosen { parameters, facts })
    }

    /// Runs the program.
    ///
    /// # Errors
    /// What ended it before its time.
    ///
    /// # Panics
    /// For a program from outside: [`run_as_chosen`] runs it.
    pub async fn run<S: Sys>(self, sys: S, parameters: &Parameters) -> Result<(), Stop> {
        let program = self.program(sys.clone(), parameters);
        run_as_chosen(sys, parameters, program).await
    }
}

/// Runs `program` bound to the chosen CPUs, in memory that was prepared, beside the others and under the memory policy that were
/// chosen.
///
/// # Errors
/// What ended it before its time.
pub async fn run_as_chosen<S: Sys>(
    sys: S,
    parameters: &Parameters,
    program: impl Future<Output = Result<(), Stop>>,
) -> Result<(), Stop> {
    let stay = Beforehand::start(&sys, parameters).await?;
    let others = Beside::start(&sys, parameters).await?;
    // The others are the host, which runs where it likes.
    bind_as_chosen(&sys, parameters).await?;
    let ran = under_policy(&sys, parameters, program).await;
    if let Some(others) = others.filter(|_| ran.is_ok()) {
        others.end(&sys).await?;
    }
    if let Some(stay) = stay {
        // Their ends are no part of the program's.
        stay.end(&sys).await?;
    }
    ran
}

/// Two workloads are equal if they have the same name.
impl PartialEq for Workload {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Workload {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_listed_by_name_and_found_by_it() {
        assert!(Workload::ALL.is_sorted_by(|one, next| one.name() < next.name()), "by name, each once");
        for workload in Workload::ALL {
            assert_eq!(Workload::by_name(workload.name()), Some(workload));
        }
    }

    #[test]
    fn every_workload_is_described_and_its_parameters_have_names_of_their_own() {
        for workload in Workload::ALL {
            let Spec { name, summary, description, parameters, .. } = workload.spec();
            assert!(!summary.is_empty() && !summary.contains('\n') && description.ends_with('.'), "{name}");
            let mut keys: Vec<_> = parameters.iter().chain(crate::GENERAL).map(|parameter| parameter.key).collect();
            keys.sort_unstable();
            assert!(keys.is_sorted_by(|one, next| one < next), "{name}: {keys:?}");
        }
    }
}
