//! Pages that somebody names are gathered in a free block.

use alloc::vec::Vec;

use order9_frames::{Flag, Idx, IsolateError, Word};
use order9_units::{Order, Pfn};

use super::{DriverAnswer, MigrateMode, MigrateReason, Migrated, Room, migrate_pages};
use crate::Mm;
use crate::env::Stall;
use crate::trace::Tracer;

/// Moves the pages at `sources` into the free block that starts at `block`, as far as they can be moved and have room there.
/// What is left of the block is free again afterwards.
///
/// # Errors
/// Those of [`Mm::isolate_free_block`]; nothing has happened then.
pub async fn gather_pages<E: Stall>(
    env: &E,
    sources: &[Pfn],
    block: Pfn,
    mode: MigrateMode,
    reason: MigrateReason,
) -> Result<Migrated, IsolateError> {
    let (mut sources, mut room) = env.with(|mm| {
        let room = mm.hold_frames(block)?;
        let sources: Vec<Idx> = sources.iter().rev().filter_map(|&pfn| mm.isolate_movable(pfn)).collect();
        Ok((sources, Room(room)))
    })?;
    env.spend().await;
    let done = migrate_pages(env, &mut sources, &mut room, mode, reason).await;
    env.with(|mm| {
        sources.into_iter().for_each(|idx| mm.putback_movable(idx, env.cpu()));
        room.0.into_iter().for_each(|idx| mm.release_held(idx));
    });
    env.spend().await;
    Ok(done)
}

impl<T: Tracer> Mm<T> {
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

    /// Isolates the single page at `pfn`, if it is one that can be moved and is not isolated yet.
    pub(super) fn isolate_movable(&mut self, pfn: Pfn) -> Option<Idx> {
        let (idx, word) = self.frames.live(pfn).ok()?;
        let fits = word.order() == Order::ZERO && word.has(Flag::MovableContent) && !word.has(Flag::Isolated);
        let allowed = self.user.drivers.answer(idx) != Some(DriverAnswer::Keeps);
        (fits && allowed).then(|| {
            self.isolate_lru(idx);
            self.work.pages_isolated += 1;
            idx
        })
    }
}
