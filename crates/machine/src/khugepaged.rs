//! khugepaged: one task for the machine, which visits address spaces and makes huge pages of their base pages.
//!
//! What it visits and for how long is the engine's to say ([`Mm::khugepaged_next`]); here it takes the locks, allocates, and
//! sleeps. On the address space of a process it acts as a thread of it that belongs to no program.

use std::rc::Rc;

#[cfg(doc)]
use order9_mm::Mm;
use order9_mm::SpaceId;
use order9_mm::env::{Env as _, Until};
use order9_mm::thp::{Collapse, CollapseFailure, KhugepagedPause, KhugepagedStep};

use crate::kernel::Kernel;
use crate::thread::Thread;
use crate::time::{Mode, TaskSpec};

impl Kernel {
    /// Starts khugepaged, which rests while huge pages are disabled.
    pub(crate) fn start_khugepaged(self: &Rc<Self>) {
        let kernel = Rc::clone(self);
        let phase = self.variation.phase("khugepaged", self.look(|mm| mm.khugepaged_scan_sleep()));
        let body = async move {
            if let Some(phase) = phase {
                kernel.handle.sleep(phase).await;
            }
            loop {
                kernel.khugepaged_pass().await;
                let pause = kernel.look(|mm| mm.khugepaged_pause());
                kernel.khugepaged_sleep(pause).await;
            }
        };
        let task = self.handle.spawn(TaskSpec::new("khugepaged").daemon(), body);
        self.khugepaged.set(Some(task.expect("a task that may run on every CPU")));
    }

    /// Visits spaces until the pass is over (`khugepaged_do_scan`).
    async fn khugepaged_pass(self: &Rc<Self>) {
        self.with(|mm| mm.khugepaged_begin_pass());
        while let Some(space) = self.with(|mm| mm.khugepaged_next()) {
            match self.visitor(space) {
                Some(visitor) => visitor.visit().await,
                None => self.with(|mm| mm.khugepaged_pass_by()),
            }
            self.settle(0).await;
        }
    }

    /// Sleeps, unless it is woken.
    async fn khugepaged_sleep(&self, pause: KhugepagedPause) {
        match pause {
            KhugepagedPause::None => {}
            KhugepagedPause::For(time) => {
                self.wait(Until::KhugepagedNeeded, Some(time)).await;
            }
            KhugepagedPause::UntilWoken => {
                self.wait(Until::KhugepagedNeeded, None).await;
            }
        }
    }

    /// khugepaged in the process of a space; `None` where it has ended or not begun.
    fn visitor(self: &Rc<Self>, space: SpaceId) -> Option<Thread> {
        let processes = self.processes.borrow();
        let process = processes.iter().find(|process| process.space == space && !process.has_ended())?;
        let (kernel, process) = (Rc::clone(self), Rc::clone(process));
        Some(Thread { kernel, process, task: space.into(), visits: true, next_look: Rc::default() })
    }
}

impl Thread {
    /// Looks at slots until there is one to collapse, and collapses it (`khugepaged_scan_mm_slot`).
    async fn visit(&self) {
        let Some(found) = self.look_for_slot().await else { return };
        let done = self.collapse_found(&found).await.unwrap_or(Err(CollapseFailure::VmaCheck));
        let pause = self.kernel.with(|mm| mm.khugepaged_done(done));
        self.kernel.khugepaged_sleep(pause).await;
    }

    /// A slot to collapse, before the space is through or the pass over. Where somebody has the lock of the space, it is left.
    async fn look_for_slot(&self) -> Option<Collapse> {
        let Some(_lock) = self.kernel.handle.try_lock(self.process.mmap_lock, Mode::Shared) else {
            self.kernel.with(|mm| mm.khugepaged_pass_by());
            return None;
        };
        loop {
            let step = self.kernel.with(|mm| mm.khugepaged_scan());
            self.spend().await;
            match step {
                KhugepagedStep::Scanned => {}
                KhugepagedStep::Found(found) => return Some(found),
                KhugepagedStep::Leave => return None,
            }
        }
    }
}
