//! Collapse: slot by slot, the base pages that are there become a huge page, on the thread that calls `MADV_COLLAPSE` or in
//! khugepaged.

use alloc::vec::Vec;

use order9_units::Bytes;

use crate::space::{Access, Errno, VirtAddr};
use crate::tasks::fault::handle_fault;
use crate::tasks::slow_path::alloc_pages;
use crate::tasks::{Stopped, UserTask, alive};
use crate::thp::{Collapse, CollapseFailure};

/// Collapses all slots of a range (`MADV_COLLAPSE`). A slot that fails does not stop the others of its mapping, but for want
/// of memory; the call then ends with its mapping, and answers with the last failure.
///
/// # Errors
/// [`Stopped::Refused`] with what the call answers, and whatever stops a fault.
pub async fn madvise_collapse<E: UserTask>(env: &E, addr: VirtAddr, length: Bytes) -> Result<(), Stopped> {
    let range = {
        let _lock = env.mmap_read_lock().await;
        env.with(|mm| mm.pages.collapse_range(env.identity().space(), addr, length, &mut mm.phys))
            .map_err(Stopped::Refused)?
    };
    for slots in range.mappings {
        collapse_slots(env, slots).await?.map_err(Stopped::Refused)?;
    }
    range.end.map_err(Stopped::Refused)
}

async fn collapse_slots(env: &impl UserTask, slots: Vec<VirtAddr>) -> Result<Result<(), Errno>, Stopped> {
    let mut end = Ok(());
    for slot in slots {
        let Err(failure) = collapse_slot(env, slot).await? else { continue };
        end = Err(failure.errno());
        if failure == CollapseFailure::AllocHugePage {
            alive(env)?;
            break;
        }
    }
    Ok(end)
}

async fn collapse_slot<E: UserTask>(env: &E, slot: VirtAddr) -> Result<Result<(), CollapseFailure>, Stopped> {
    let scanned = {
        let _lock = env.mmap_read_lock().await;
        let scanned = env.with(|mm| mm.collapse_scan(env.identity().space(), slot));
        env.spend().await;
        scanned
    };
    match scanned {
        Ok(Some(collapse)) => collapse_found(env, &collapse).await,
        Ok(None) => Ok(Ok(())),
        Err(failure) => Ok(Err(failure)),
    }
}

/// Makes a slot huge that may be.
pub(super) async fn collapse_found<E: UserTask>(
    env: &E,
    collapse: &Collapse,
) -> Result<Result<(), CollapseFailure>, Stopped> {
    let page = alloc_pages(env, &collapse.request(env.cpu())).await;
    env.with(|mm| mm.phys.collapse_allocated(collapse, page.is_ok()));
    let Ok(page) = page else { return Ok(Err(CollapseFailure::AllocHugePage)) };
    let read_back = read_back(env, collapse).await;
    let _changing = env.lock_mappings(collapse.slot()).await;
    let done = env.with(|mm| mm.collapse_finish(collapse, page, env.cpu()));
    env.spend().await;
    read_back?;
    Ok(done)
}

/// Reads what is in swap of the slot.
async fn read_back<E: UserTask>(env: &E, collapse: &Collapse) -> Result<(), Stopped> {
    while let Some(addr) = env.with(|mm| mm.pages.collapse_swapped(collapse, &mm.phys)) {
        handle_fault(env, addr, Access::Read, None).await?;
    }
    Ok(())
}
