//! The clock and the record of a run, as programs use them.

use order9_units::Nanos;
use order9_workloads::Measuring;

use crate::results::Unit;
use crate::thread::Thread;

impl Measuring for Thread {
    fn now(&self) -> Nanos {
        self.kernel.handle.now()
    }

    fn sample(&self, operation: &str, time: Nanos) {
        self.record(operation, Unit::Nanos, time.get() as f64);
    }

    fn mean(&self, operation: &str, total: Nanos, of: u64) {
        self.record(operation, Unit::Nanos, total.get() as f64 / of.max(1) as f64);
    }

    fn rate(&self, operation: &str, per_second: f64) {
        self.record(operation, Unit::PerSecond, per_second);
    }

    fn percent(&self, operation: &str, percent: f64) {
        self.record(operation, Unit::Percent, percent);
    }

    fn count(&self, what: &str, count: f64) {
        self.record(what, Unit::Count, count);
    }

    fn phase(&self, name: &str) {
        self.kernel.begin_phase(name);
    }

    fn snapshot(&self, name: &str) {
        if let Some(keep) = &mut *self.kernel.snapshots.borrow_mut() {
            let processes = self.kernel.processes.borrow();
            let living = processes.iter().filter(|process| !process.has_ended() && !process.kthread);
            let named: Vec<_> = living.map(|process| (process.space, process.name.to_string())).collect();
            self.kernel.look(|engine| keep(name, engine, &named));
        }
    }
}

impl Thread {
    fn record(&self, operation: &str, unit: Unit, value: f64) {
        self.kernel.record.borrow_mut().sample(operation, unit, self.now(), value);
    }
}
