//! Pages that somebody names are gathered in a free block.

use alloc::vec::Vec;

use order9_frames::{Flag, Idx, IsolateError, Word};
use order9_units::{Order, Pfn};

use super::{DriverAnswer, MigrateMode, MigrateReason, Migrated, Room, migrate_pages};
use crate::env::Stall;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// Moves the pages at `sources` into the free block that starts at `block`, as far as they can be moved and have room there.
/// What is left of the block is free again afterwards.
///
/// # Errors
/// Those of `PhysMem::isolate_free_block`; nothing has happened then.
pub async fn gather_pages<E: Stall>(
    env: &E,
    sources: &[Pfn],
    block: Pfn,
    mode: MigrateMode,
    reason: MigrateReason,
) -> Result<Migrated, IsolateError> {
    let (mut sources, mut room) = env.with(|mm| {
        let room = mm.phys.hold_frames(block)?;
        let sources: Vec<Idx> =
            sources.iter().rev().filter_map(|&pfn| mm.pages.isolate_movable(pfn, &mut mm.phys)).collect();
        Ok((sources, Room(room)))
    })?;
    env.spend().await;
    let done = migrate_pages(env, &mut sources, &mut room, mode, reason).await;
    env.with(|mm| {
        sources.into_iter().for_each(|idx| mm.pages.putback_movable(idx, env.cpu(), &mut mm.phys));
        room.0.into_iter().for_each(|idx| mm.phys.release_held(idx));
    });
    env.spend().await;
    Ok(done)
}

impl<T: Tracer> PhysMem<T> {
    /// Takes the free block at `pfn` off the free lists, as single frames, the lowest last.
    pub(super) fn hold_frames(&mut self, pfn: Pfn) -> Result<Vec<Idx>, IsolateError> {
        let order = self.frames.isolate_free_block(pfn, false)?;
        let first = self.frames.at(pfn);
        let frames = (0..order.pages().get() as u32).rev().map(|frame| first.plus(frame));
        Ok(frames.inspect(|&idx| self.frames.set(idx, Word::held(Order::ZERO))).collect())
    }

    pub(super) fn release_held(&mut self, idx: Idx) {
        self.frames.release_free_block(self.frames.pfn(idx)).expect("it is held");
    }
}

impl UsedPages {
    /// Isolates the single page at `pfn`, if it is one that can be moved and is not isolated yet.
    pub(super) fn isolate_movable(&mut self, pfn: Pfn, phys: &mut PhysMem<impl Tracer>) -> Option<Idx> {
        let (idx, word) = phys.frames.live(pfn).ok()?;
        let fits = word.order() == Order::ZERO && word.has(Flag::MovableContent) && !word.has(Flag::Isolated);
        let allowed = self.drivers.answer(idx) != Some(DriverAnswer::Keeps);
        (fits && allowed).then(|| {
            self.isolate_lru(idx, phys);
            phys.work.pages_isolated += 1;
            idx
        })
    }
}
