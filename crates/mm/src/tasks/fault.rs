//! The way of a fault (`handle_mm_fault`): from what the engine needs next to the page that it gets.

use order9_frames::Request;
use order9_units::Pfn;

use crate::alloc_error::AllocError;
use crate::env::Disks as _;
use crate::space::{Access, Fault, FaultStep, Need, VirtAddr};
use crate::tasks::dirty::{balance_dirty_pages, dirtying};
use crate::tasks::read::read_for_fault;
use crate::tasks::slow_path::{alloc_pages, alloc_slow};
use crate::tasks::swap_in::read_from_swap;
use crate::tasks::{Stopped, UserTask};

/// Handles the fault of an access to `addr`, or the rest of the fault after `step`, under the lock that the release has faults
/// take. The access can be made then; a program that makes pages dirty faster than they are written has been slowed down.
///
/// # Errors
/// Whatever the program cannot go on with, as [`Stopped`] says.
pub async fn handle_fault<E: UserTask>(
    env: &E,
    addr: VirtAddr,
    access: Access,
    step: Option<FaultStep>,
) -> Result<(), Stopped> {
    let _lock = env.lock_for_fault(addr).await;
    let step = step.unwrap_or_else(|| touch(env, addr, access));
    finish_fault(env, addr, access, step).await
}

/// Finishes a fault from `step` on, with the lock held by the caller.
///
/// # Errors
/// Errors of [`handle_fault`].
pub async fn finish_fault<E: UserTask>(
    env: &E,
    addr: VirtAddr,
    access: Access,
    mut step: FaultStep,
) -> Result<(), Stopped> {
    while !matches!(step, FaultStep::Hit | FaultStep::Done) {
        env.preemption_point().await;
        step = go_on(env, addr, access, step).await?;
    }
    env.spend().await;
    balance_dirty_pages(env).await
}

/// Does what a fault needs after `step`, and takes the next step.
async fn go_on<E: UserTask>(env: &E, addr: VirtAddr, access: Access, step: FaultStep) -> Result<FaultStep, Stopped> {
    Ok(match step {
        FaultStep::Hit | FaultStep::Done => step,
        FaultStep::NeedPage(fault) => give_page(env, &fault).await?,
        FaultStep::NeedPool(fault) => {
            let cpu = env.cpu();
            env.with(|mm| mm.hugetlb_fault(&fault, mm.phys.node_of_cpu(cpu), cpu))
        }
        FaultStep::Retry => touch(env, addr, access),
        FaultStep::NeedRead { file, index } => {
            read_for_fault(env, file, index).await?;
            touch(env, addr, access)
        }
        FaultStep::NeedMkwrite => {
            let (space, now, cpu) = (env.identity().space(), env.now(), env.cpu());
            dirtying(env, |mm| mm.pages.page_mkwrite(space, addr, now, cpu, &mut mm.phys)).await
        }
        FaultStep::NumaHint => {
            tell_user(env, addr).await;
            touch(env, addr, access)
        }
        FaultStep::Segv => return Err(Stopped::Segv(addr)),
        FaultStep::Bus => return Err(Stopped::Bus(addr)),
    })
}

fn touch<E: UserTask>(env: &E, addr: VirtAddr, access: Access) -> FaultStep {
    let cpu = env.cpu();
    env.with(|mm| mm.touch(env.identity(), addr, access, cpu))
}

/// Gives a fault the page that it needs, or tells it that there is none.
async fn give_page<E: UserTask>(env: &E, fault: &Fault) -> Result<FaultStep, Stopped> {
    let request = env.with(|mm| mm.fault_request(fault, env.cpu()));
    let page = match page_for(env, fault, &request).await {
        Ok(page) => page,
        Err(_) if fault.need().may_be_refused() => return Ok(env.with(|mm| mm.fault_refused(fault, env.cpu()))),
        Err(error) => return Err(Stopped::NoMemory(error)),
    };
    match fault.need() {
        Need::SwapIn(slot) if env.with(|mm| mm.pages.is_read_alone(fault, slot, &mm.phys)) => {
            env.disks().read_slots(&[slot]).await;
        }
        Need::SwapIn(slot) => read_from_swap(env, slot, &request).await,
        _ => {}
    }
    Ok(env.with(|mm| mm.fault_go_on(fault, page, env.cpu())))
}

/// The page that a fault needs. What the engine could have taken from the free lists, it has: only pages to read into
/// were not looked for yet.
async fn page_for(env: &impl UserTask, fault: &Fault, request: &Request) -> Result<Pfn, AllocError> {
    match fault.need() {
        Need::SwapIn(_) => alloc_pages(env, request).await,
        _ => alloc_slow(env, request).await,
    }
}

/// Tells who accesses a page that NUMA balancing asks about (`task_numa_fault`); the task moves to the node that most of its
/// pages are on, if a CPU there is idle.
async fn tell_user<E: UserTask>(env: &E, addr: VirtAddr) {
    let Some(task) = env.numa_task() else { return };
    let now = env.now();
    let wanted = env.with(|mm| mm.numa_hint_fault(env.identity(), addr, task, now));
    env.spend().await;
    if let Some(node) = wanted {
        env.move_to_idle_cpu(node).await;
    }
}
