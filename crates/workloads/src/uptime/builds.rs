//! Builds: a quarter of an hour of short-lived processes at the begin of every hour, with many page tables.

use order9_units::{Bytes, Nanos, Order, PAGE_SIZE};

use super::agenda::Arrivals;
use super::{HOUR, Server, base_pages, start, unless_killed};
use crate::dice::Dice;
use crate::sys::{Access, Advice, KernelAlloc, KernelSize, Mapping, Stop, Sys, sleep_until};

const PER_SECOND: f64 = 0.25;
/// Time at the beginning of every hour in which builds may start.
const WINDOW: Nanos = Nanos::new(HOUR.get() / 4);
const PAGES: (u64, u64) = (2000, 20_000);
/// No process has more than this share of memory: on a small machine, builds are small.
const SHARE: u64 = 64;
/// Page tables of a process beside those of its heap; each has a page of the process in it.
const PAGE_TABLES: u64 = 300;
/// Bytes that a page table maps.
const SLOT: Bytes = Bytes::new(2 << 20);
const STACK: Order = Order::new(2).expect("2 is an order");
const LIFETIME_MEAN: Nanos = Nanos::new(20_000_000_000);

pub(super) async fn run<S: Sys>(sys: S, server: Server) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed("uptime builds"));
    let mut arrivals = Arrivals::steady(&server, PER_SECOND);
    let mut children = Vec::new();
    loop {
        let next = arrivals.draw(&server, &mut dice);
        let since = Nanos::new(server.time_of_day(next).get() % HOUR.get());
        if next >= server.end {
            break;
        }
        if since >= WINDOW {
            arrivals.restart(next + HOUR - since);
            continue;
        }
        sleep_until(&sys, next).await?;
        let most = server.memory.get() / SHARE / PAGE_SIZE.get();
        let (pages, time) = (dice.between(PAGES.0, PAGES.1).min(most), dice.exponential(LIFETIME_MEAN));
        children.push(start(&sys, "build", move |sys| build(sys, pages, time)).await?);
    }
    for child in children {
        unless_killed(sys.wait(child).await?.result)?;
    }
    Ok(())
}

/// One process, with the stack that the kernel has for it.
async fn build<S: Sys>(sys: S, pages: u64, time: Nanos) -> Result<(), Stop> {
    let stack = sys.kernel_alloc(KernelAlloc::new(KernelSize::Block(STACK))).await?;
    let result = work(&sys, pages, time).await;
    if let Some(stack) = stack {
        sys.kernel_free(stack).await?;
    }
    result
}

async fn work<S: Sys>(sys: &S, pages: u64, time: Nanos) -> Result<(), Stop> {
    let sparse = sys.mmap(Mapping::anon(Bytes::new(SLOT.get() * PAGE_TABLES))).await?;
    sys.madvise(sparse, Advice::NoHugePage).await?;
    let page_tables = PAGE_TABLES.min(pages / 2);
    for slot in 0..page_tables {
        sys.touch(sparse.part(Bytes::new(SLOT.get() * slot), PAGE_SIZE), Access::Write).await?;
    }
    base_pages(sys, (pages - page_tables).max(1)).await?;
    sys.sleep(time).await
}
