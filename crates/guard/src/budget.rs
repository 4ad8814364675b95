//! A budget of time as a token bucket: fills with a share of the time that passes, up to what may be saved.
//!
//! An action that took more than was there leaves a debt, which is paid before the next one, so that over any time the spending
//! never exceeds the share of that time, the savings, and what an action takes between two looks at it.

use order9_units::Nanos;

use crate::config::Share;

/// Contents of budgets, for a guard that starts later on the same host: in ns, less than nothing where there is a debt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Time in the CPU budget.
    pub cpu: i64,
    /// Time in the budget of stalls.
    pub stall: i64,
}

impl Balance {
    /// Nothing saved up, and no debt.
    pub const EMPTY: Self = Self { cpu: 0, stall: 0 };

    /// The balance once everything that is saved up has been spent.
    #[must_use]
    pub fn spent(self) -> Self {
        Self { cpu: self.cpu.min(0), stall: self.stall.min(0) }
    }
}

/// Saved-up time, in ns; negative is a debt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    share: Share,
    most: f64,
    has: f64,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(share: Share, save: Nanos) -> Self {
        let most = share.fraction() * save.get() as f64;
        Self { share, most, has: most }
    }

    /// The bucket with what another one held.
    pub(crate) fn holding(self, has: i64) -> Self {
        Self { has: (has as f64).min(self.most), ..self }
    }

    /// Time in it; negative is a debt.
    pub(crate) fn holds(&self) -> i64 {
        // A float that is too large becomes the largest number.
        self.has as i64
    }

    /// Other limits, which cut savings.
    pub(crate) fn limit(&mut self, share: Share, save: Nanos) {
        let most = share.fraction() * save.get() as f64;
        *self = Self { share, most, has: self.has.min(most) };
    }

    /// Time passes.
    pub(crate) fn fill(&mut self, passed: Nanos) {
        self.has = (self.has + self.share.fraction() * passed.get() as f64).min(self.most);
    }

    /// Time was spent.
    pub(crate) fn spend(&mut self, time: Nanos) {
        self.has -= time.get() as f64;
    }

    /// Time that can be spent.
    pub(crate) fn has(&self) -> Nanos {
        Nanos::new(self.has.max(0.0) as u64)
    }

    /// Time until `want` is there, or as much as the bucket can hold.
    pub(crate) fn wait_for(&self, want: Nanos) -> Nanos {
        let lacks = (want.get() as f64).min(self.most) - self.has;
        match lacks {
            lacks if lacks <= 0.0 => Nanos::ZERO,
            // A float that is too large becomes the largest number.
            lacks => Nanos::new((lacks / self.share.fraction()).ceil() as u64),
        }
    }

    /// The most that it can hold.
    pub(crate) fn most(&self) -> Nanos {
        Nanos::new(self.most as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_saves_up_to_its_size_and_pays_debts() {
        let ns = Nanos::new;
        let mut bucket = Bucket::new(Share::percent(10.0), ns(1000)).holding(0);
        assert_eq!((bucket.has(), bucket.wait_for(ns(50))), (Nanos::ZERO, ns(500)));
        bucket.fill(ns(5000));
        assert_eq!((bucket.has(), bucket.wait_for(ns(500))), (ns(100), Nanos::ZERO), "more is never there");
        bucket.spend(ns(150));
        assert_eq!((bucket.has(), bucket.wait_for(ns(10))), (Nanos::ZERO, ns(600)));
        assert_eq!((bucket.holds(), Bucket::new(Share::percent(10.0), ns(1000)).holding(-50).holds()), (-50, -50));
        bucket.limit(Share::percent(50.0), ns(100));
        bucket.fill(ns(1000));
        assert_eq!(bucket.has(), ns(50));
        assert_eq!(
            Bucket::new(Share::percent(0.0), ns(9)).wait_for(ns(1)),
            Nanos::ZERO,
            "an empty bucket that stays so"
        );
    }
}
