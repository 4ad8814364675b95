//! Last user of each page, and pages that each node has been given lately.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Nanos;

use super::NumaTask;

/// State of the machine for balancing; empty before balancing is first switched on.
#[derive(Clone, Debug, Default)]
pub struct NumaBalancing {
    /// By frame; a huge page has that of its first one.
    users: Vec<PageUser>,
    /// By node.
    rates: Vec<Rate>,
}

/// The task that used a page last, as far as a few bits tell it: its CPU, and eight bits of its number. The struct page of Linux
/// has no room for more, either (`last_cpupid`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageUser(u32);

impl PageUser {
    /// Nobody yet.
    pub(super) const NOBODY: Self = Self(0);

    pub(super) fn of(task: NumaTask) -> Self {
        Self(1 << 31 | (task.cpu as u32) << 8 | task.pid & 0xff)
    }

    /// CPU of the user; `None` for nobody.
    pub(super) fn cpu(self) -> Option<usize> {
        (self != Self::NOBODY).then_some((self.0 << 1 >> 9) as usize)
    }

    /// Whether it may be this task.
    pub(super) fn may_be(self, task: NumaTask) -> bool {
        self != Self::NOBODY && self.0 & 0xff == task.pid & 0xff
    }
}

/// Pages that a node has been given since its window began.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    window_end: Nanos,
    pages: u64,
}

impl Rate {
    /// Length of a window (`migrate_interval_millisecs`).
    const WINDOW: Nanos = Nanos::new(100_000_000);
    /// Pages in a window: 128 MiB (`ratelimit_pages`).
    const PAGES: u64 = 128 << 8;
}

impl NumaBalancing {
    /// Whether balancing is on, or was.
    pub(crate) const fn was_on(&self) -> bool {
        !self.users.is_empty()
    }

    pub(super) fn make_room(&mut self, frames: usize, nodes: usize) {
        if self.users.is_empty() {
            self.users = vec![PageUser::NOBODY; frames];
            self.rates = vec![Rate::default(); nodes];
        }
    }

    /// A page is new, and nobody has used it.
    #[inline]
    pub(crate) fn forget_user(&mut self, idx: Idx) {
        if let Some(user) = self.users.get_mut(idx.0 as usize) {
            *user = PageUser::NOBODY;
        }
    }

    /// A page takes the place of another, or is a part of it.
    #[inline]
    pub(crate) fn copy_user(&mut self, from: Idx, to: Idx) {
        if self.was_on() {
            self.users[to.0 as usize] = self.users[from.0 as usize];
        }
    }

    pub(super) fn user(&self, idx: Idx) -> PageUser {
        self.users.get(idx.0 as usize).copied().unwrap_or_default()
    }

    pub(super) fn set_user(&mut self, idx: Idx, user: PageUser) {
        self.users[idx.0 as usize] = user;
    }

    /// Counts `pages` more for `node`, unless it has had its share of this window already: whether it may have them.
    pub(crate) fn admit(&mut self, node: order9_units::NodeId, pages: u64, now: Nanos) -> bool {
        let rate = &mut self.rates[node.index()];
        if now >= rate.window_end {
            *rate = Rate { window_end: now + Rate::WINDOW, pages: 0 };
        }
        let admitted = rate.pages <= Rate::PAGES;
        rate.pages += if admitted { pages } else { 0 };
        admitted
    }

    pub(crate) fn bytes(&self) -> usize {
        self.users.capacity() * size_of::<PageUser>()
    }
}
