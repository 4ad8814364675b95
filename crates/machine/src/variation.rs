//! Differences between repetitions of a run, as between two boots of a real machine.
//!
//! The first seed, [`Variation::PLAIN`], is the plain case: nothing is varied. Every other seed draws anew, each from a random
//! stream of its own:
//!
//! - **free lists**: which block comes first. A boot frees memory in an order that depends on how fast its helpers are, and
//!   `page_alloc.shuffle` exists to vary more; what a machine has done since is told by no file. Neighbours of a list stay
//!   neighbours within [`SECTION`], as memory is freed section by section.
//! - **LRU lists**: which of the pages that a machine began with is the oldest, in pieces of a section.
//! - **start of threads and processes**: up to [`START_MAX`] after they were made, so that their order differs, too.
//! - **first CPU** of a task: any of those that are as good; else the lowest.
//! - **first slice** of a task: any part of it is over, as the tick that ends it comes at any time; else all of it is left.
//! - **phase of timers**: khugepaged, the flusher and the proactive look of kcompactd begin at any point of their period, successive
//!   seeds evenly spread. They were started at boot, long before the program.
//!
//! What programs draw themselves follows from the seed in any case, the plain one included; where memory is made up, its
//! contents do. Prices and the order of events at one instant do not vary.

use order9_mm::Mm;
use order9_units::Nanos;
use rand_pcg::rand_core::Rng as _;

use order9_workloads::streams::{self, Stream, named_stream};

/// Frames whose blocks come one after the other, as an exponent of two: 128 MiB, in which x86-64 sets up memory
/// (`SECTION_SIZE_BITS`).
const SECTION: u32 = 15;
/// Longest delay of a thread's start: a CPU takes 133 us to leave its deepest idle state on Skylake servers (the table
/// of `intel_idle`). A new task may land on a CPU in any idle state.
const START_MAX: Nanos = Nanos::new(133_000);

/// The seed by which one run varies from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variation {
    /// `None` is the plain case.
    seed: Option<u64>,
}

impl Variation {
    /// The seed of the plain case.
    pub const PLAIN: u64 = 1;

    /// The variation of a run with this seed.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        Self { seed: if seed == Self::PLAIN { None } else { Some(seed) } }
    }

    /// Orders the lists of a memory that nothing has used since it was set up.
    pub fn order_lists(self, mm: &mut Mm) {
        if let Some(mut stream) = self.stream("free lists") {
            mm.phys_mut().reorder_free_lists(SECTION, |end| below(&mut stream, end));
        }
        if let Some(mut stream) = self.stream("LRU lists") {
            mm.reorder_lru_lists(SECTION, |end| below(&mut stream, end));
        }
    }

    /// Longest random delay of a thread's start.
    pub(crate) fn start_jitter(self) -> Option<Nanos> {
        self.seed.map(|_| START_MAX)
    }

    /// Time from boot to the first end of the timer `timer` with period `period`; `None` where that does not vary.
    pub(crate) fn phase(self, timer: &str, period: Nanos) -> Option<Nanos> {
        let seed = self.seed?;
        Some(Nanos::new(streams::spread(seed, timer, period.get().max(1))))
    }

    fn stream(self, name: &str) -> Option<Stream> {
        self.seed.map(|seed| named_stream(seed, "variation", name))
    }
}

/// One of `0..end`, which is not empty.
fn below(stream: &mut Stream, end: u64) -> u64 {
    stream.next_u64() % end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seed_is_the_plain_case_and_others_differ() {
        let plain = Variation::of(1);
        let period = Nanos::new(10_000_000_000);
        assert_eq!((plain.phase("flusher", period), plain.start_jitter()), (None, None));
        let phase = |seed, name| Variation::of(seed).phase(name, period).expect("it varies");
        assert_eq!(phase(2, "flusher"), phase(2, "flusher"));
        assert_ne!(phase(2, "flusher"), phase(3, "flusher"));
        assert_ne!(phase(2, "flusher"), phase(2, "khugepaged"));
        assert!((2..200).all(|seed| phase(seed, "flusher") < period));
        assert!((2..200).any(|seed| phase(seed, "flusher") > Nanos::new(9_000_000_000)));
    }
}
