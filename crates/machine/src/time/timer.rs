//! The agenda of a run: future events with their times.
//!
//! Ordered by `(time, sequence number)`, so that two things due at one time happen in the order in which they were
//! entered. Segments (what a CPU does until it must be looked at again) change with nearly every event, are at most one
//! per CPU and almost never withdrawn: a heap. Timers are withdrawn by most wake-ups: a tree.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use order9_units::Nanos;

use crate::time::alarm::AlarmId;
use crate::time::task::TaskId;

/// The time `span` after `time`; the end of time is never passed.
pub(crate) fn after(time: Nanos, span: Nanos) -> Nanos {
    Nanos::new(time.get().saturating_add(span.get()))
}

/// The end of time: 584 years.
pub(crate) const NEVER: Nanos = Nanos::new(u64::MAX);

/// Place of an entry in the total order.
pub(crate) type Key = (Nanos, u64);

/// Subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The segment of this CPU ends.
    Segment(usize),
    /// The timer of this task expires.
    Timer(TaskId),
    /// The alarm goes off.
    Alarm(AlarmId),
}

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    sequence: u64,
    segments: BinaryHeap<Reverse<(Key, usize)>>,
    timers: BTreeMap<Key, Due>,
}

impl Agenda {
    fn key(&mut self, time: Nanos) -> Key {
        self.sequence += 1;
        (time, self.sequence)
    }

    /// Enters the end of the segment of `cpu`, which has none on the agenda.
    pub(crate) fn add_segment(&mut self, time: Nanos, cpu: usize) {
        let key = self.key(time);
        self.segments.push(Reverse((key, cpu)));
    }

    /// Takes the segment of `cpu` off, where there is one: its task is gone.
    pub(crate) fn remove_segment(&mut self, cpu: usize) {
        self.segments.retain(|Reverse((_, of))| *of != cpu);
    }

    /// Enters a timer or an alarm; the key takes it off again.
    pub(crate) fn add_timer(&mut self, time: Nanos, due: Due) -> Key {
        let key = self.key(time);
        self.timers.insert(key, due);
        key
    }

    pub(crate) fn remove_timer(&mut self, key: Key) {
        self.timers.remove(&key);
    }

    /// The next entry with its time.
    pub(crate) fn peek(&self) -> Option<(Nanos, Due)> {
        let timer = self.timers.first_key_value();
        match (self.segments.peek(), timer) {
            (Some(Reverse((segment, _))), Some((timer, due))) if timer < segment => Some((timer.0, *due)),
            (Some(Reverse((segment, cpu))), _) => Some((segment.0, Due::Segment(*cpu))),
            (None, Some((timer, due))) => Some((timer.0, *due)),
            (None, None) => None,
        }
    }

    /// Takes off what [`peek`](Self::peek) showed.
    pub(crate) fn remove_first(&mut self, due: Due) {
        match due {
            Due::Segment(_) => drop(self.segments.pop()),
            Due::Timer(_) | Due::Alarm(_) => drop(self.timers.pop_first()),
        }
    }

    /// Time of the next entry; [`NEVER`] without one.
    pub(crate) fn next_time(&self) -> Nanos {
        let segment = self.segments.peek().map_or(NEVER, |Reverse((key, _))| key.0);
        let timer = self.timers.first_key_value().map_or(NEVER, |(key, _)| key.0);
        segment.min(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_time_come_in_the_order_they_were_made() {
        let mut agenda = Agenda::default();
        let task = TaskId::from_index(7);
        agenda.add_segment(Nanos::new(5), 1);
        agenda.add_timer(Nanos::new(5), Due::Timer(task));
        agenda.add_segment(Nanos::new(5), 0);
        agenda.add_segment(Nanos::new(4), 2);
        let mut order = Vec::new();
        while let Some((_, due)) = agenda.peek() {
            agenda.remove_first(due);
            order.push(due);
        }
        assert_eq!(order, [Due::Segment(2), Due::Segment(1), Due::Timer(task), Due::Segment(0)]);
    }

    #[test]
    fn what_is_withdrawn_never_comes() {
        let mut agenda = Agenda::default();
        let key = agenda.add_timer(Nanos::new(1), Due::Timer(TaskId::from_index(0)));
        agenda.add_segment(Nanos::new(2), 3);
        agenda.remove_timer(key);
        agenda.remove_segment(3);
        assert_eq!(agenda.peek(), None);
        assert_eq!(agenda.next_time(), NEVER);
    }
}
