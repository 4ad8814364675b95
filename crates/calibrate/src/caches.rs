//! Accesses of a program to memory that is there, and the latencies of the caches.

use std::hint::black_box;
use std::io;

use crate::clock::cpu_of;
use crate::direct::Direct;
use crate::sys::{PAGE, PageSize, Region};

/// 512 MiB: far more than caches hold.
const PAGES: usize = 128 * 1024;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Dependent loads per measurement.
const LOADS: usize = 100_000;

/// Memory that stays for all rounds: filling it anew would take most of their time.
pub(crate) struct Memory {
    chains: [Chain; 3],
}

impl Memory {
    /// Random walks through 512 KiB, 8 MiB and 128 MiB.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { chains: [Chain::new(512 << 10)?, Chain::new(8 << 20)?, Chain::new(128 << 20)?] })
    }

    /// Fills in what memory alone decides.
    pub(crate) fn measure(&mut self, direct: &mut Direct) -> io::Result<()> {
        let [l2, llc, dram] = &mut self.chains;
        (direct.load_l2, direct.load_llc, direct.load_dram) = (l2.walk(), llc.walk(), dram.walk());
        direct.load_sequential = dram.pass();
        Self::program(direct)
    }

    /// Resident base pages, as most programs have them.
    fn program(direct: &mut Direct) -> io::Result<()> {
        let mut region = Region::anonymous(PAGES, PageSize::Base)?;
        region.populate()?;
        direct.touch = cpu_of(PAGES, || region.store(0, PAGE));
        direct.fill = cpu_of(PAGES, || black_box(region.bytes()).fill(1));
        let (from, to) = region.bytes().split_at_mut(PAGES / 2 * PAGE);
        direct.memcpy = cpu_of(PAGES / 2, || black_box(to).copy_from_slice(black_box(from)));
        Ok(())
    }
}

/// A random cycle through all cache lines of some memory, in huge pages as the kernel maps it for itself. Each line begins
/// with the offset of the next.
struct Chain {
    memory: Region,
    at: usize,
}

impl Chain {
    fn new(bytes: usize) -> io::Result<Self> {
        let mut memory = Region::anonymous(bytes / PAGE, PageSize::Huge)?;
        let mut order: Vec<usize> = (0..bytes / LINE).collect();
        shuffle(&mut order);
        let bytes = memory.bytes();
        for (&line, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
            bytes[line * LINE..][..size_of::<usize>()].copy_from_slice(&(next * LINE).to_ne_bytes());
        }
        Ok(Self { memory, at: 0 })
    }

    /// Time per line when all are loaded in order.
    fn pass(&mut self) -> f64 {
        let bytes = self.memory.bytes();
        cpu_of(bytes.len() / LINE, || {
            black_box(bytes.iter().step_by(LINE).fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        })
    }

    /// Time per load when each needs the one before.
    fn walk(&mut self) -> f64 {
        let bytes = self.memory.bytes();
        let at = &mut self.at;
        let mut run = || {
            for _ in 0..LOADS {
                let next = bytes[*at..].first_chunk().expect("a line is longer than an offset");
                *at = usize::from_ne_bytes(*next);
            }
        };
        run(); // Others used the caches meanwhile.
        cpu_of(LOADS, run)
    }
}

/// Shuffles in the same order every time, by a generator of 64 bits by George Marsaglia, "Xorshift RNGs", 2003.
fn shuffle(items: &mut [usize]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(last, (state % (last as u64 + 1)) as usize);
    }
}
