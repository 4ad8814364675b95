//! The lock of an address space, `mmap_lock`, and the locks of its mappings (per-VMA locks, 6.4+), as far as a release has
//! them: [`MmapLock`].
//!
//! Whoever changes mappings holds `mmap_lock` for writing and marks those mappings; the marks last until `mmap_lock` is let
//! go. A mark waits for faults in the mapping to end. A fault that finds no mark on its mapping goes on without `mmap_lock`;
//! else it takes that for reading. So it is told in Linux' Documentation/mm/process_addrs.rst.

use std::cell::RefCell;
use std::rc::Rc;

use order9_mm::policy::MmapLock;
use order9_mm::space::{TASK_END, VirtAddr, Vma, VmaKind, Vpn, VpnRange};

use crate::process::Process;
use crate::thread::Thread;
use crate::time::{Guard, Handle, Mode, QueueId};

/// Locks of the mappings of a process.
pub(crate) struct VmaLocks {
    /// Mappings in which a fault goes on without `mmap_lock`, once for each fault.
    faults: RefCell<Vec<VpnRange>>,
    /// Mappings that are being changed, by whoever has `mmap_lock`.
    marked: RefCell<Vec<VpnRange>>,
    /// Wait queue of tasks that change mappings and wait for faults to end.
    writers: QueueId,
}

impl VmaLocks {
    pub(crate) fn new(handle: &Handle, process: &str) -> Self {
        let writers = handle.new_queue(&format!("vma locks of {process}"));
        Self { faults: RefCell::default(), marked: RefCell::default(), writers }
    }

    fn is_marked(&self, range: VpnRange) -> bool {
        self.marked.borrow().iter().any(|marked| overlap(*marked, range))
    }

    fn has_faults_where_marked(&self) -> bool {
        self.faults.borrow().iter().any(|fault| self.is_marked(*fault))
    }
}

/// The range of all mappings of a space.
pub(crate) fn all_mappings() -> VpnRange {
    VpnRange::new(Vpn::new(0), TASK_END)
}

fn overlap(one: VpnRange, other: VpnRange) -> bool {
    !one.intersect(other).is_empty()
}

/// A change of mappings that goes on: `mmap_lock`, and marks on the mappings.
#[must_use = "mappings are locked as long as this lives"]
pub(crate) struct Changing {
    process: Rc<Process>,
    mmap_lock: Guard,
}

impl Changing {
    /// Lets in who only reads mappings, as far as the release does so, since none but those in `range` change from now on.
    pub(crate) fn downgrade(&self, range: VpnRange, rule: MmapLock) {
        if rule > MmapLock::Whole {
            self.mmap_lock.downgrade();
            self.process.vma_locks.marked.replace(vec![range]);
        }
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.process.vma_locks.marked.borrow_mut().clear();
    }
}

/// The lock that a fault holds.
#[must_use = "a lock is held as long as its guard lives"]
pub(crate) enum FaultLock {
    /// The lock of the address space, for reading.
    Space { _lock: Guard },
    /// The lock of the mapping.
    Vma { _lock: VmaGuard },
}

/// The lock of a mapping, held by a fault.
pub(crate) struct VmaGuard {
    handle: Handle,
    process: Rc<Process>,
    range: VpnRange,
}

impl Drop for VmaGuard {
    fn drop(&mut self) {
        let locks = &self.process.vma_locks;
        let mut faults = locks.faults.borrow_mut();
        let own = faults.iter().position(|range| *range == self.range).expect("it was entered");
        faults.swap_remove(own);
        drop(faults);
        if locks.is_marked(self.range) {
            self.handle.wake_all(locks.writers);
        }
    }
}

impl Thread {
    /// Extent of the lock under this release: the address space or a mapping.
    pub(crate) fn mmap_lock_rule(&self) -> MmapLock {
        self.kernel.look(|mm| mm.policy().mmap_lock)
    }

    /// Takes the lock of the address space.
    pub(crate) async fn mmap_lock(&self, mode: Mode) -> Guard {
        let (handle, lock) = (&self.kernel.handle, self.process.mmap_lock);
        match handle.try_lock(lock, mode) {
            None => handle.lock(lock, mode).await,
            Some(taken) => taken,
        }
    }

    /// Takes the lock of the address space to change the mappings in `range`.
    pub(crate) async fn change_mappings(&self, range: VpnRange) -> Changing {
        let changing = Changing { mmap_lock: self.mmap_lock(Mode::Exclusive).await, process: Rc::clone(&self.process) };
        if self.mmap_lock_rule() >= MmapLock::PerAnonVma {
            let locks = &self.process.vma_locks;
            let space = self.process.space;
            self.kernel.look(|mm| {
                let vmas = mm.space(space).into_iter().flat_map(|space| space.vmas());
                locks.marked.borrow_mut().extend(vmas.map(|vma| vma.range).filter(|vma| overlap(*vma, range)));
            });
            while locks.has_faults_where_marked() {
                self.kernel.handle.wait(locks.writers, None).await;
            }
        }
        changing
    }

    /// Takes what keeps the mapping of `addr` as it is during a fault. khugepaged, which faults in what it collapses, takes
    /// the lock of the address space.
    pub(crate) async fn lock_for_fault(&self, addr: VirtAddr) -> FaultLock {
        let vma = if self.visits { None } else { self.vma_for_fault(addr) };
        match vma.filter(|range| !self.process.vma_locks.is_marked(*range)) {
            Some(range) => {
                self.process.vma_locks.faults.borrow_mut().push(range);
                let (handle, process) = (self.kernel.handle.clone(), Rc::clone(&self.process));
                FaultLock::Vma { _lock: VmaGuard { handle, process, range } }
            }
            None => FaultLock::Space { _lock: self.mmap_lock(Mode::Shared).await },
        }
    }

    /// The mapping of `addr`, where its own lock is enough for a fault.
    fn vma_for_fault(&self, addr: VirtAddr) -> Option<VpnRange> {
        let suffices = |vma: &Vma, rule| match rule {
            MmapLock::Whole | MmapLock::Downgraded => false,
            MmapLock::PerAnonVma => vma.kind == VmaKind::Anon && vma.touched,
            MmapLock::PerVma => true,
        };
        self.kernel.look(|mm| {
            let rule = mm.policy().mmap_lock;
            let vma = mm.space(self.process.space)?.vma_at(addr)?;
            suffices(vma, rule).then_some(vma.range)
        })
    }
}
