//! The driver: asks for a huge page at a steady pace and gives each back after a while.

use std::collections::VecDeque;

use order9_units::Nanos;

use crate::driver::{Block, Driver};
use crate::parameters::Parameters;
use crate::sys::{Stop, Sys};

pub(super) const GOT: &str = "alloc";
pub(super) const REFUSED: &str = "refused";
pub(super) const SUCCESS: &str = "Huge pages got";

pub(super) async fn run<S: Sys>(sys: &S, parameters: &Parameters, end: Nanos) -> Result<(), Stop> {
    let driver = Driver::of(parameters);
    let (interval, held) = (parameters.time("interval"), parameters.time("held"));
    let mut due: VecDeque<(Nanos, Block<S::KernelMemory>)> = VecDeque::new();
    let (mut asked, mut got) = (0_u64, 0_u64);
    while sys.now() < end {
        let start = sys.now();
        while let Some((_, memory)) = due.pop_front_if(|(due, _)| *due <= start) {
            Driver::give_back(sys, memory).await?;
        }
        let (block, time) = driver.take(sys).await?;
        asked += 1;
        sys.sample(if block.is_some() { GOT } else { REFUSED }, time);
        if let Some(memory) = block {
            got += 1;
            due.push_back((sys.now() + held, memory));
        }
        sys.sleep(interval).await?;
    }
    if asked > 0 {
        sys.percent(SUCCESS, 100.0 * got as f64 / asked as f64);
    }
    Ok(())
}
