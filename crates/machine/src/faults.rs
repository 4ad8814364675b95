//! Accesses of programs, and everything else that needs pages for a page table: allocation between engine steps.

use order9_mm::env::Env as _;
use order9_mm::space::{Access, FaultStep, TableStep, VirtAddr, VpnRange};
use order9_mm::{AllocError, Errno, GaveUp, Gfp, Request, SpaceId, alloc_pages, alloc_slow};
use order9_units::{Order, Pages, Pfn};
use order9_workloads::Stop;

use crate::cost::Picos;
use crate::kernel::Engine;
use crate::thread::Thread;
use crate::time::{Class, Mode};

/// The call was refused.
pub(crate) fn refused(call: &'static str, errno: Errno) -> Stop {
    Stop::Refused { call, errno: errno.name() }
}

impl Thread {
    /// Accesses every page of `range`, upward, each access taking `price` in user space.
    pub(crate) async fn access(&self, range: VpnRange, access: Access, price: Picos) -> Result<(), Stop> {
        let mut rest = range;
        while !rest.is_empty() {
            let mapped = self.kernel.with(|mm| mm.touch_mapped(self.process.space, &mut rest, access));
            if mapped > Pages::ZERO {
                self.kernel.pay(Class::User, price.times(mapped.get())).await;
            } else {
                self.alive()?;
                self.fault(rest.start.addr(), access).await?;
                self.kernel.pay(Class::User, price).await;
                rest.start = rest.start + Pages::new(1);
            }
        }
        self.alive()
    }

    /// One access that needs a fault.
    pub(crate) async fn fault(&self, addr: VirtAddr, access: Access) -> Result<(), Stop> {
        let _lock = self.mmap_lock(Mode::Shared).await;
        let space = self.process.space;
        let mut step = self.kernel.with(|mm| mm.touch(space, addr, access, self.cpu()));
        loop {
            match step {
                FaultStep::Hit | FaultStep::Done => break,
                FaultStep::NeedPage(fault) => {
                    let request = fault.request(self.node(), self.cpu());
                    let page = alloc_slow(self, &request).await.map_err(|error| self.no_memory(error))?;
                    step = self.kernel.with(|mm| mm.fault_go_on(&fault, page, self.cpu()));
                }
                FaultStep::Retry => step = self.kernel.with(|mm| mm.touch(space, addr, access, self.cpu())),
                FaultStep::Segv => return Err(Stop::Signal { signal: "SIGSEGV", addr: addr.get() }),
                FaultStep::Bus => return Err(Stop::Signal { signal: "SIGBUS", addr: addr.get() }),
            }
        }
        self.spend().await;
        Ok(())
    }

    /// Takes the steps of an operation that fills the page table of `space`, giving it the page tables it needs.
    pub(crate) async fn fill_tables(
        &self,
        call: &'static str,
        space: SpaceId,
        mut step: impl FnMut(&mut Engine) -> Result<TableStep, Errno>,
    ) -> Result<(), Stop> {
        loop {
            match self.kernel.with(&mut step).map_err(|errno| refused(call, errno))? {
                TableStep::Done => break,
                TableStep::Progress => self.spend().await,
                TableStep::NeedTable(vpn) => {
                    let page = self.page(Gfp::GFP_PGTABLE_USER).await?;
                    self.kernel.with(|mm| mm.give_table(space, vpn, page, self.cpu()));
                }
            }
        }
        self.spend().await;
        Ok(())
    }

    /// One page, from wherever it can be had.
    pub(crate) async fn page(&self, gfp: Gfp) -> Result<Pfn, Stop> {
        let request = Request { node: self.node(), cpu: self.cpu(), ..Request::new(Order::ZERO, gfp) };
        alloc_pages(self, &request).await.map_err(|error| self.no_memory(error))
    }

    /// What becomes of a program whose page cannot be had.
    fn no_memory(&self, error: AllocError) -> Stop {
        if self.process.killed.get() || matches!(error, AllocError::GaveUp { reason: GaveUp::Victim, .. }) {
            return self.process.killed_stop();
        }
        let kills = self.kernel.kills.borrow();
        Stop::OutOfMemory(kills.last().map_or_else(|| format!("{error:?}"), ToString::to_string))
    }
}
