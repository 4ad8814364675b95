//! Reads from swap, with readahead (`swapin_readahead`).

use alloc::vec::Vec;

use order9_frames::Request;
use order9_units::Pfn;

use super::UserTask;
use crate::env::Disks as _;
use crate::swap::SlotId;

/// Reads a slot of swap, and beside it those that are worth it, as far as pages for them can be had at once, where
/// `request` asks for the first.
pub(super) async fn read_from_swap<E: UserTask>(env: &E, slot: SlotId, request: &Request) {
    let ahead: Vec<(SlotId, Pfn)> = env.with(|mm| {
        let slots = mm.pages.swap.swap_readahead(slot, &mm.phys);
        slots.into_iter().map_while(|slot| Some((slot, mm.alloc_fast(request).ok()?))).collect()
    });
    let mut slots: Vec<SlotId> = ahead.iter().map(|&(slot, _)| slot).collect();
    slots.insert(slots.partition_point(|&other| other < slot), slot);
    env.disks().read_slots(&slots).await;
    for (slot, page) in ahead {
        env.with(|mm| mm.pages.finish_readahead(slot, page, env.cpu(), &mut mm.phys));
    }
}
