//! Alarms: code that runs at a time and needs no CPU, as the interrupt of a device does.
//!
//! Such code runs between tasks. It may wake, spawn, cancel and set alarms, but awaits nothing: there is no task that
//! could. A device that were a task would have to wait for a CPU behind those whose requests it serves.

use std::rc::Rc;

use order9_units::Nanos;

use crate::time::timer::{Due, Key};
use crate::time::world::{Event, World};

/// An alarm of one executor; it lives as long as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AlarmId(u32);

impl AlarmId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
pub(crate) struct Alarm {
    pub(crate) name: Rc<str>,
    /// Key of its entry on the agenda; `None` while the alarm is not set.
    key: Option<Key>,
}

impl World {
    pub(crate) fn new_alarm(&mut self, name: &str) -> AlarmId {
        self.alarms.push(Alarm { name: name.into(), key: None });
        AlarmId(u32::try_from(self.alarms.len() - 1).expect("a run has fewer than 4 billion alarms"))
    }

    /// Sets the alarm to `time`, or to none, whatever it was set to.
    pub(crate) fn set_alarm(&mut self, alarm: AlarmId, time: Option<Nanos>) {
        if let Some(key) = self.alarms[alarm.index()].key.take() {
            self.agenda.remove_timer(key);
        }
        let key = time.map(|time| self.agenda.add_timer(time.max(self.now), Due::Alarm(alarm)));
        self.alarms[alarm.index()].key = key;
    }

    /// Takes note that the alarm goes off: it is set no more.
    pub(crate) fn go_off(&mut self, alarm: AlarmId) {
        self.alarms[alarm.index()].key = None;
        self.note_index(Event::Alarm, alarm.index());
    }
}
