//! When things happen: what arrives at random, and what ends then.

use std::collections::BTreeMap;

use order9_units::Nanos;

use super::Server;
use crate::dice::{Dice, nanos};
use crate::sys::{Stop, Sys};

/// Events that come one after the other at random, each as likely at any moment as the load of the day lets it be.
pub(super) struct Arrivals {
    /// Mean time between two at full load.
    mean: Nanos,
    /// Load of the day at which the next one is drawn, if it counts.
    peak: Option<f64>,
    next: Nanos,
}

impl Arrivals {
    /// `per_second` events on a machine of 16 GiB, whatever the time of day.
    pub(super) fn steady(server: &Server, per_second: f64) -> Self {
        let mean = nanos(1e9 / (per_second * server.scale));
        Self { mean, peak: None, next: server.start }
    }

    /// `per_second` events on a machine of 16 GiB, times the load of the day.
    pub(super) fn daily(server: &Server, per_second: f64) -> Self {
        let mean = nanos(1e9 / (per_second * server.scale * PEAK));
        Self { mean, peak: Some(PEAK), next: server.start }
    }

    /// Starts again: the next event comes after `from` at the earliest.
    pub(super) fn restart(&mut self, from: Nanos) {
        self.next = self.next.max(from);
    }

    /// The time of the next event.
    pub(super) fn draw(&mut self, server: &Server, dice: &mut Dice) -> Nanos {
        loop {
            let next = self.next.get().saturating_add(dice.exponential(self.mean).get());
            self.next = Nanos::new(next.min(server.end.get()));
            let counts = self.peak.is_none_or(|peak| dice.chance(load(server.time_of_day(self.next)) / peak));
            if counts || self.next == server.end {
                return self.next;
            }
        }
    }
}

/// The load at its highest, at noon.
const PEAK: f64 = 1.5;

/// 1 + sin(2 pi (t - 6 h) / 24 h) / 2: a half at midnight, one and a half at noon.
fn load(time_of_day: Nanos) -> f64 {
    let turn = core::f64::consts::TAU * (time_of_day.get() as f64 / (24.0 * 3600e9) - 0.25);
    1.0 + 0.5 * libm::sin(turn)
}

/// Entries that end, in the order of their ends.
pub(super) struct Due<T> {
    ends: BTreeMap<(Nanos, u64), T>,
    /// Number that keeps entries with the same end in the order of their arrival.
    sequence: u64,
}

impl<T> Due<T> {
    pub(super) const fn new() -> Self {
        Self { ends: BTreeMap::new(), sequence: 0 }
    }

    pub(super) fn add(&mut self, at: Nanos, what: T) {
        self.sequence += 1;
        self.ends.insert((at, self.sequence), what);
    }
}

/// The next event of a component.
pub(super) enum Event<T> {
    /// A new entry arrives.
    Arrival,
    /// An entry ends.
    End(T),
}

/// Arrivals and ends of a component.
pub(super) struct Agenda<T> {
    server: Server,
    arrivals: Arrivals,
    /// Time of the next arrival.
    next: Option<Nanos>,
    pub(super) due: Due<T>,
}

impl<T> Agenda<T> {
    pub(super) const fn new(server: Server, arrivals: Arrivals) -> Self {
        Self { server, arrivals, next: None, due: Due::new() }
    }

    /// Sleeps until the next event; `None` when the server ends.
    pub(super) async fn wait<S: Sys>(&mut self, sys: &S, dice: &mut Dice) -> Result<Option<Event<T>>, Stop> {
        let arrival = *self.next.get_or_insert_with(|| self.arrivals.draw(&self.server, dice));
        let end = self.due.ends.first_key_value().map(|((at, _), _)| *at).filter(|&at| at <= arrival);
        let at = end.unwrap_or(arrival);
        if at >= self.server.end {
            return Ok(None);
        }
        if at > sys.now() {
            sys.sleep(at - sys.now()).await?;
        }
        if end.is_none() {
            self.next = None;
            return Ok(Some(Event::Arrival));
        }
        Ok(self.due.ends.pop_first().map(|(_, what)| Event::End(what)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Nanos = Nanos::new(3_600_000_000_000);

    #[test]
    fn load_follows_the_sun() {
        let at = |hour: u64| load(Nanos::new(HOUR.get() * hour));
        assert!((at(0) - 0.5).abs() < 1e-9 && (at(12) - 1.5).abs() < 1e-9);
        assert!((at(6) - 1.0).abs() < 1e-9 && (at(18) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn as_many_events_come_as_the_rate_says_and_more_at_noon() {
        let server = Server::new(Nanos::new(17), order9_units::Bytes::new(32 << 30), 1, 1.0);
        let mut dice = Dice::new(5);
        let mut arrivals = Arrivals::daily(&server, 0.5);
        let mut by_quarter = [0u64; 4];
        loop {
            let at = arrivals.draw(&server, &mut dice);
            if at >= server.start + Nanos::new(24 * HOUR.get()) {
                break;
            }
            by_quarter[(server.time_of_day(at).get() / (6 * HOUR.get())) as usize] += 1;
        }
        let all: u64 = by_quarter.iter().sum();
        assert!((85_000..88_000).contains(&all), "86400 are expected on twice the memory: {all}");
        assert!(by_quarter[1] > by_quarter[0] + 10_000, "{by_quarter:?}");
    }
}
