//! A database: one process with much memory in huge pages, as far as there are any, that is restarted every night. How well
//! it starts is what an aged memory is judged by.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use super::agenda::Arrivals;
use super::{HOUR, Server, start, unless_killed};
use crate::access::Accesses;
use crate::dice::Dice;
use crate::sys::{Access, Advice, Area, Mapping, Stop, Sys, sleep_until};
use crate::unit::{UNIT, fill_unit};

const PERCENT: u64 = 30;
const RESTART: Nanos = Nanos::new(3 * HOUR.get());
/// Between the end of the old process and the start of the new one.
const PAUSE: Nanos = Nanos::new(10_000_000_000);
const TOUCHES_PER_SECOND: f64 = 50.0;
/// Bytes that one touch reads.
const TOUCHED: Bytes = Bytes::new(64 * PAGE_SIZE.get());

/// The database of all days: the process that begins on day 0 was not restarted.
pub(super) async fn run<S: Sys>(sys: S, server: Server) -> Result<(), Stop> {
    for restarts in 0.. {
        let until = server.at(restarts, RESTART).min(server.end);
        // One that was killed is started again at once.
        while sys.now() < until {
            let child = start(&sys, "database", move |sys| serve(sys, server, restarts, until)).await?;
            unless_killed(sys.wait(child).await?.result)?;
        }
        if until == server.end {
            break;
        }
        sleep_until(&sys, until + PAUSE).await?;
    }
    Ok(())
}

/// One process: fills its memory and uses it.
async fn serve<S: Sys>(sys: S, server: Server, restarts: u64, until: Nanos) -> Result<(), Stop> {
    let begun = sys.now();
    let size = (server.memory.get() / 100 * PERCENT).max(UNIT.get());
    let area = units(sys.mmap(Mapping::anon(Bytes::new(size) + UNIT)).await?);
    sys.madvise(area, Advice::HugePage).await?;
    let (mut all, mut huge, mut local) = (0u64, 0u64, 0u64);
    for offset in (0..area.length.get()).step_by(UNIT.get() as usize) {
        let unit = fill_unit(&sys, area.part(Bytes::new(offset), UNIT)).await?;
        all += 1;
        huge += u64::from(unit.huge);
        local += u64::from(unit.local);
        if restarts > 0 {
            sys.sample(&format!("unit-{restarts}"), unit.latency);
        }
    }
    if restarts > 0 {
        sys.percent(&format!("huge-{restarts}"), huge as f64 * 100.0 / all as f64);
        sys.percent(&format!("local-{restarts}"), local as f64 * 100.0 / all as f64);
        sys.sample(&format!("restart-{restarts}"), sys.now() - begun);
        let accesses = Accesses::new(&sys)?;
        accesses.measure(&sys, area).await?;
        accesses.report(&sys, &format!("-{restarts}"));
    }
    serve_requests(&sys, server, restarts, area, until).await
}

/// Reads memory at random.
async fn serve_requests<S: Sys>(sys: &S, server: Server, life: u64, area: Area, until: Nanos) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed(&format!("uptime database, life {life}")));
    let mut arrivals = Arrivals::steady(&server, TOUCHES_PER_SECOND);
    arrivals.restart(sys.now());
    loop {
        let next = arrivals.draw(&server, &mut dice).min(until);
        sleep_until(sys, next).await?;
        if next == until {
            return Ok(());
        }
        let offset = dice.below(area.length.get() / TOUCHED.get()) * TOUCHED.get();
        sys.touch(area.part(Bytes::new(offset), TOUCHED), Access::Read).await?;
    }
}

/// The whole units of an area.
fn units(area: Area) -> Area {
    let start = area.start.next_multiple_of(UNIT.get());
    let length = (area.start + area.length.get()).saturating_sub(start) / UNIT.get() * UNIT.get();
    Area { start, length: Bytes::new(length) }
}
