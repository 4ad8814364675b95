//! Questions of programs about single pages of their memory, and pages that programs have pinned.

use order9_mm::env::Env as _;
use order9_mm::mempolicy::{Movable, PageMove};
use order9_mm::space::{Access, PageView, Residence, VirtAddr, Vpn, VpnRange};
use order9_mm::{AccessLevels, Errno, Gfp, Request, alloc_pages};
use order9_units::{NodeId, Order, Pages, Pfn};
use order9_workloads::{Loads, Stop};

use crate::access::{MeanLoad, Pass, mean_load};
use crate::faults::refused;
use crate::kernel::Engine;
use crate::thread::Thread;
use crate::time::Class;

/// Pages that a process had pinned with one call.
pub(crate) struct Pin {
    start: VirtAddr,
    pages: Vec<Pfn>,
}

impl Thread {
    /// Number of pages of `range` that are in memory. The kernel writes its answer to a page of its own first. That page makes the next
    /// refill of the per-CPU lists small again, where these follow the load.
    pub(crate) async fn resident(&self, range: VpnRange) -> Result<u64, Stop> {
        self.enter().await?;
        let request = self.placed(Request::new(Order::ZERO, Gfp::GFP_USER));
        let answer = alloc_pages(self, &request).await.map_err(|error| self.no_memory(error))?;
        let in_memory = |vpn: Vpn| self.kernel.look(|mm| self.in_memory(mm, vpn));
        let resident = range.iter().try_fold(0, |sum, vpn| Some(sum + u64::from(in_memory(vpn)?)));
        self.kernel.with(|mm| mm.free(answer, self.cpu())).expect("a page is freed once");
        self.spend().await;
        resident.ok_or_else(|| refused("mincore", Errno::Enomem))
    }

    /// Whether a page is in memory; `None` where nothing is mapped.
    fn in_memory(&self, mm: &Engine, vpn: Vpn) -> Option<bool> {
        let space = self.process.space;
        let vma = mm.space(space)?.vma_at(vpn.addr())?;
        Some(match mm.page_at(space, vpn.addr()) {
            PageView::Present { .. } | PageView::Zero => true,
            PageView::Swapped => false,
            PageView::None => {
                let index = vma.offset + (vpn - vma.range.start).get();
                vma.kind.file().is_some_and(|file| mm.file_page(file, index).is_some())
            }
        })
    }

    /// The node of the page at `addr`, which is read if it is not there.
    pub(crate) async fn node_of_page(&self, addr: VirtAddr) -> Result<NodeId, Stop> {
        self.enter().await?;
        loop {
            let page = self.kernel.look(|mm| mm.page_at(self.process.space, addr));
            match page {
                PageView::Present { pfn, .. } => return Ok(self.kernel.look(|mm| mm.phys().node_of_frame(pfn))),
                // The page of zeros is on the first node, where the kernel was loaded.
                PageView::Zero => return Ok(NodeId(0)),
                PageView::None | PageView::Swapped => self.bring_in("get_mempolicy", addr.vpn(), Access::Read).await?,
            }
        }
    }

    /// Moves the pages of `range` to `node`; returns how many lie there then.
    pub(crate) async fn pages_to_node(&self, range: VpnRange, node: NodeId) -> Result<u64, Stop> {
        self.enter().await?;
        let pages: Vec<PageMove> = range.iter().map(|vpn| PageMove { addr: vpn.addr(), to: node }).collect();
        let space = self.process.space;
        let moved = order9_mm::tasks::move_pages(self, space, space, &pages, Movable::Own).await;
        self.alive()?;
        let moved = moved.map_err(|errno| refused("move_pages", errno))?;
        Ok(moved.into_iter().filter(|&at| at == Ok(node)).count() as u64)
    }

    /// Loads at random from what of `range` is in memory; where nothing is, nothing happens.
    pub(crate) async fn load_at_random(&self, range: VpnRange, loads: u64) -> Result<Loads, Stop> {
        self.alive()?;
        if self.kernel.balances {
            return self.load_and_tell(range, loads).await;
        }
        let Some(mean) = self.load_now(range) else { return Ok(Loads::default()) };
        self.pay_loads(mean, loads).await
    }

    /// Mean time of a load of this thread from `range` with its present mappings.
    pub(crate) fn load_now(&self, range: VpnRange) -> Option<MeanLoad> {
        let mapped = self.kernel.look(|mm| mm.residence(self.process.space, range));
        let mut places = [Residence::default(); AccessLevels::COUNT];
        for (node, of) in (0..).map(NodeId).zip(mapped) {
            let place = &mut places[self.kernel.places.of(self.cpu_node(), node)];
            place.base += of.base;
            place.huge += of.huge;
        }
        mean_load(places, &self.kernel.prices)
    }

    pub(crate) async fn pay_loads(&self, mean: MeanLoad, loads: u64) -> Result<Loads, Stop> {
        let time = mean.time.times(loads);
        self.kernel.pay(Class::User, time).await;
        self.alive()?;
        let tlb_misses = (mean.misses * loads as f64).round() as u64;
        Ok(Loads { loads, time: time.split().0, tlb_misses: Some(tlb_misses) })
    }

    /// Pins all pages of `range`, or none.
    pub(crate) async fn pin_pages(&self, range: VpnRange) -> Result<(), Stop> {
        self.enter().await?;
        let mut pin = Pin { start: range.start.addr(), pages: Vec::new() };
        for vpn in range.iter() {
            match self.pin_page(vpn).await {
                Ok(pfn) => pin.pages.push(pfn),
                Err(stop) => {
                    self.release(pin);
                    return Err(stop);
                }
            }
        }
        self.process.pins.borrow_mut().push(pin);
        self.spend().await;
        self.alive()
    }

    async fn pin_page(&self, vpn: Vpn) -> Result<Pfn, Stop> {
        loop {
            self.bring_in("pin_user_pages", vpn, Access::Write).await?;
            // Between the access and this, the page may have gone to swap.
            let pinned = self.kernel.with(|mm| match mm.page_at(self.process.space, vpn.addr()) {
                PageView::Present { pfn, .. } => mm.pin(pfn).ok().map(|()| pfn),
                _ => None,
            });
            if let Some(pfn) = pinned {
                return Ok(pfn);
            }
        }
    }

    pub(crate) async fn unpin_pages(&self, start: VirtAddr) -> Result<(), Stop> {
        self.enter().await?;
        let found = self.process.pins.borrow().iter().rposition(|pin| pin.start == start);
        let at = found.ok_or_else(|| refused("unpin_user_pages", Errno::Einval))?;
        let pin = self.process.pins.borrow_mut().swap_remove(at);
        self.release(pin);
        self.spend().await;
        self.alive()
    }

    /// Ends all pins of the process.
    pub(crate) fn unpin_all(&self) {
        let pins = self.process.pins.take();
        pins.into_iter().for_each(|pin| self.release(pin));
    }

    fn release(&self, pin: Pin) {
        for pfn in pin.pages {
            self.kernel.with(|mm| mm.unpin(pfn)).expect("a pinned page stays");
        }
    }

    /// Accesses a page on behalf of a system call, for which what would be a signal is `EFAULT`.
    async fn bring_in(&self, call: &'static str, vpn: Vpn, access: Access) -> Result<(), Stop> {
        match self.access(VpnRange::of(vpn, Pages::new(1)), access, Pass::FREE).await {
            Err(Stop::Signal { .. }) => Err(refused(call, Errno::Efault)),
            accessed => accessed,
        }
    }
}
