//! Accesses of programs: as many as need no wait at once, and the fault of the next one as a task of the engine.

use order9_mm::space::{Access, FaultStep, PageView, Touched, VirtAddr, Vpn, VpnRange};
use order9_mm::tasks::handle_fault;
use order9_mm::{AccessLevels, AllocError, Errno, GaveUp, Request};
use order9_units::{Pages, Pfn};
use order9_workloads::Stop;

use crate::access::Pass;
use crate::cost::Picos;
use crate::kernel::Bill;
use crate::thread::Thread;
use crate::time::Class;

/// Progress of accesses that did not wait.
enum AtOnce {
    /// The accesses are done, and their time has passed.
    Done,
    /// The accesses are done; the rest of their time is still to pass.
    Owed {
        /// Bill of the kernel's work.
        bill: Option<Bill>,
        /// Time of the program's accesses.
        user: Picos,
    },
    /// The next one needs more than a moment: a lock, or whatever its fault has come to.
    Stopped(Option<FaultStep>),
}

/// The call was refused.
pub(crate) fn refused(call: &'static str, errno: Errno) -> Stop {
    Stop::Refused { call, errno: errno.name() }
}

impl Thread {
    /// Accesses every page of `range`, upward, which takes what `pass` says in user space.
    pub(crate) async fn access(&self, range: VpnRange, access: Access, pass: Pass) -> Result<(), Stop> {
        let (mut rest, mut faulting) = (range, false);
        while !rest.is_empty() {
            match self.access_at_once(&mut rest, access, &pass, &mut faulting) {
                AtOnce::Done => {}
                AtOnce::Owed { bill, user } => {
                    if let Some(bill) = bill {
                        self.kernel.pay_bill(bill).await;
                    }
                    self.kernel.pay(Class::User, user).await;
                    self.alive()?;
                }
                AtOnce::Stopped(step) => {
                    self.alive()?;
                    self.fault(rest.start.addr(), access, step).await?;
                    self.kernel.pay(Class::User, self.first_access(rest.start, &pass)).await;
                    rest.start += Pages::new(1);
                }
            }
            self.return_to_user().await;
        }
        self.alive()
    }

    /// Accesses pages at the front of `rest`, as long as nothing has to be waited for, and takes them off it: pages that
    /// are mapped, or one that faults. `faulting` remembers which it was: the next is likely the same.
    #[inline]
    fn access_at_once(&self, rest: &mut VpnRange, access: Access, pass: &Pass, faulting: &mut bool) -> AtOnce {
        let space = self.process.space;
        if !*faulting {
            let Touched { pages, huge, first } = self.kernel.with(|mm| mm.touch_mapped(space, rest, access));
            if pages > Pages::ZERO {
                return self.pay_user_at_once(pass.over(pages.get(), huge, self.place_of(first)));
            }
        }
        // Else nobody but khugepaged could have the lock.
        if self.process.threads.get() > 1 || self.kernel.handle.is_busy(self.process.mmap_lock) {
            *faulting = false;
            return AtOnce::Stopped(None);
        }
        let cpu = self.cpu();
        let step = self.kernel.with(|mm| mm.touch(self.task, rest.start.addr(), access, cpu));
        *faulting = matches!(step, FaultStep::Done);
        if !matches!(step, FaultStep::Hit | FaultStep::Done) {
            return AtOnce::Stopped(Some(step));
        }
        let price = self.first_access(rest.start, pass);
        rest.start += Pages::new(1);
        match self.kernel.settle_at_once() {
            Ok(()) => self.pay_user_at_once(price),
            Err(bill) => AtOnce::Owed { bill: Some(bill), user: price },
        }
    }

    /// Time of the first access to a page that has just been faulted in.
    #[inline]
    fn first_access(&self, vpn: Vpn, pass: &Pass) -> Picos {
        if self.kernel.places.are_one() {
            return pass.over(1, false, AccessLevels::LOCAL);
        }
        let first = match self.kernel.look(|mm| mm.page_at(self.process.space, vpn.addr())) {
            PageView::Present { pfn, .. } => Some(pfn),
            PageView::None | PageView::Zero | PageView::Swapped => None,
        };
        pass.over(1, false, self.place_of(first))
    }

    /// The level of a frame for the CPU that this thread runs on; pages of zeros stay in the CPU's caches.
    #[inline]
    fn place_of(&self, frame: Option<Pfn>) -> usize {
        match frame {
            Some(pfn) if !self.kernel.places.are_one() => {
                let node = self.kernel.look(|mm| mm.phys().node_of_frame(pfn));
                self.kernel.places.of(self.cpu_node(), node)
            }
            _ => AccessLevels::LOCAL,
        }
    }

    #[inline]
    fn pay_user_at_once(&self, user: Picos) -> AtOnce {
        if self.kernel.pay_at_once(Class::User, user) { AtOnce::Done } else { AtOnce::Owed { bill: None, user } }
    }

    /// One access that needs a fault, or the rest of it after `step`.
    pub(crate) async fn fault(&self, addr: VirtAddr, access: Access, step: Option<FaultStep>) -> Result<(), Stop> {
        // No fault is refused as a call would be.
        handle_fault(self, addr, access, step).await.map_err(|why| self.stopped("fault", why))
    }

    /// The allocation `plain` where the policy of this thread has it.
    pub(crate) fn placed(&self, plain: Request) -> Request {
        let plain = Request { node: self.cpu_node(), cpu: self.cpu(), ..plain };
        self.kernel.with(|mm| mm.task_request(self.task, plain))
    }

    /// The stop of a program whose page could not be allocated.
    pub(crate) fn no_memory(&self, error: AllocError) -> Stop {
        if self.process.killed.get() || matches!(error, AllocError::GaveUp { reason: GaveUp::Victim, .. }) {
            return self.process.killed_stop();
        }
        let kills = self.kernel.kills.borrow();
        Stop::OutOfMemory(kills.last().map_or_else(|| format!("{error:?}"), ToString::to_string))
    }
}
