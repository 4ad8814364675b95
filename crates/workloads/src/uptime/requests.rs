//! Requests to a server: a few base pages and an object of slab each, most for milliseconds, some for hours.

use order9_units::{Bytes, Nanos};

use super::agenda::{Agenda, Arrivals, Event};
use super::{HOUR, Server, base_pages};
use crate::dice::Dice;
use crate::sys::{Area, KernelAlloc, KernelSize, Stop, Sys};

const PER_SECOND: f64 = 20.0;
const PAGES_MAX: u64 = 64;
const OBJECT: Bytes = Bytes::new(512);
/// The others are long.
const SHORT: f64 = 0.9;
const SHORT_MEAN: Nanos = Nanos::new(50_000_000);
const LONG_ALPHA: f64 = 1.2;
const LONG_LEAST: Nanos = Nanos::new(60_000_000_000);
const LONG_MOST: Nanos = Nanos::new(12 * HOUR.get());

pub(super) async fn run<S: Sys>(sys: S, server: Server) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed("uptime requests"));
    let mut agenda: Agenda<(Area, S::KernelMemory)> = Agenda::new(server, Arrivals::daily(&server, PER_SECOND));
    while let Some(event) = agenda.wait(&sys, &mut dice).await? {
        match event {
            Event::Arrival => {
                let (pages, time) = (dice.between(1, PAGES_MAX), lifetime(&mut dice));
                let area = base_pages(&sys, pages).await?;
                match sys.kernel_alloc(KernelAlloc::new(KernelSize::Object(OBJECT))).await? {
                    Some(object) => agenda.due.add(sys.now() + time, (area, object)),
                    None => sys.munmap(area).await?,
                }
            }
            Event::End((area, object)) => {
                sys.kernel_free(object).await?;
                sys.munmap(area).await?;
            }
        }
    }
    Ok(())
}

fn lifetime(dice: &mut Dice) -> Nanos {
    if dice.chance(SHORT) { dice.exponential(SHORT_MEAN) } else { dice.pareto(LONG_ALPHA, LONG_LEAST, LONG_MOST) }
}
