//! Services: processes whose heaps grow and shrink in steps about a size, until they are restarted. A few of their pages are
//! pinned for as long as they live.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use super::agenda::Arrivals;
use super::{HOUR, Server, base_pages, start, unless_killed};
use crate::dice::Dice;
use crate::sys::{Area, Stop, Sys, sleep_until};

/// Number of services.
pub(super) const SERVICES: u64 = 40;

/// A heap has 0.5 % of memory.
const SHARE: u64 = 200;
const STEPS_PER_SECOND: f64 = 0.1;
/// Steps, in pages: 64 KiB to 8 MiB.
const STEP: (f64, f64) = (16.0, 2048.0);
const LIFETIME_MEAN: Nanos = Nanos::new(8 * HOUR.get());
/// Share of the pages of a new heap that are pinned.
const PINNED: f64 = 0.005;

/// Starts one service again and again.
pub(super) async fn run<S: Sys>(sys: S, server: Server, number: u64) -> Result<(), Stop> {
    for life in 0.. {
        if sys.now() >= server.end {
            break;
        }
        let name = format!("uptime service {number}, life {life}");
        let child = start(&sys, "service", move |sys| live(sys, server, name)).await?;
        unless_killed(sys.wait(child).await?.result)?;
    }
    Ok(())
}

/// One life of a service.
async fn live<S: Sys>(sys: S, server: Server, name: String) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed(&name));
    let mut heap = Heap { areas: Vec::new(), pages: 0, usual: usual_pages(server.memory) };
    while heap.pages < heap.usual {
        let step = step(&mut dice).min(heap.usual - heap.pages);
        heap.grow(&sys, step).await?;
    }
    heap.pin_some(&sys, &mut dice).await?;
    let end = (sys.now() + dice.exponential(LIFETIME_MEAN)).min(server.end);
    let mut arrivals = Arrivals::daily(&server, STEPS_PER_SECOND);
    arrivals.restart(sys.now());
    loop {
        let next = arrivals.draw(&server, &mut dice).min(end);
        sleep_until(&sys, next).await?;
        if next == end {
            return Ok(());
        }
        heap.step(&sys, &mut dice).await?;
    }
}

fn usual_pages(memory: Bytes) -> u64 {
    (memory.get() / SHARE / PAGE_SIZE.get()).max(1)
}

fn step(dice: &mut Dice) -> u64 {
    dice.log_uniform(STEP.0, STEP.1) as u64
}

/// Memory of a service.
struct Heap {
    areas: Vec<Area>,
    pages: u64,
    /// The size it is drawn back to.
    usual: u64,
}

impl Heap {
    /// Grows or shrinks: the larger it is, the likelier it shrinks, and at twice its usual size for certain.
    async fn step<S: Sys>(&mut self, sys: &S, dice: &mut Dice) -> Result<(), Stop> {
        let size = step(dice);
        if dice.below(2 * self.usual) >= self.pages {
            self.grow(sys, size.min(2 * self.usual - self.pages)).await
        } else {
            self.shrink(sys, dice, size).await
        }
    }

    async fn grow<S: Sys>(&mut self, sys: &S, pages: u64) -> Result<(), Stop> {
        self.areas.push(base_pages(sys, pages).await?);
        self.pages += pages;
        Ok(())
    }

    /// Frees the ends of areas, any as likely as another.
    async fn shrink<S: Sys>(&mut self, sys: &S, dice: &mut Dice, pages: u64) -> Result<(), Stop> {
        let mut left = pages.min(self.pages);
        self.pages -= left;
        while left > 0 {
            let at = dice.below(self.areas.len() as u64) as usize;
            let area = self.areas[at];
            let freed = area.pages().min(left);
            let (kept, tail) = split(area, area.pages() - freed);
            sys.munmap(tail).await?;
            if kept.length > Bytes::ZERO {
                self.areas[at] = kept;
            } else {
                self.areas.swap_remove(at);
            }
            left -= freed;
        }
        Ok(())
    }

    /// Pins single pages, which stay when they are unmapped.
    async fn pin_some<S: Sys>(&self, sys: &S, dice: &mut Dice) -> Result<(), Stop> {
        for &area in &self.areas {
            for page in 0..area.pages() {
                if dice.chance(PINNED) {
                    sys.pin(area.part(Bytes::new(page * PAGE_SIZE.get()), PAGE_SIZE)).await?;
                }
            }
        }
        Ok(())
    }
}

/// The first pages of an area, and the rest.
fn split(area: Area, pages: u64) -> (Area, Area) {
    let at = Bytes::new(pages * PAGE_SIZE.get());
    (area.part(Bytes::ZERO, at), area.part(at, area.length - at))
}
