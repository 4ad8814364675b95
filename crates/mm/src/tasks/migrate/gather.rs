//! Pages that make a pageblock free are gathered in another one.

use alloc::vec::Vec;

use order9_frames::{Idx, IsolateError};
use order9_units::Pfn;

use crate::env::Stall;
use crate::pages::migrate::{MigrateMode, MigrateReason, Migrated};
use crate::tasks::migrate::run::migrate_pages;
use crate::tasks::migrate::targets::Room;

/// Moves the pages at `sources` into the free block that starts at `block`, as far as they can be moved and have room there.
/// What is left of the block is free again afterwards.
///
/// # Errors
/// Errors of `PhysMem::isolate_free_block`; nothing has happened then.
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
