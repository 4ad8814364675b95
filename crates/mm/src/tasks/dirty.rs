//! Pages become dirty, and writers are slowed down to the speed of the disk (`balance_dirty_pages`).

use super::{Stopped, UserTask, alive};
use crate::Mm;
use crate::env::{Disks as _, FileWork};
use crate::page_cache::FolioPages;

/// Pages that a program makes dirty between two looks at how many there are.
const POLL: u64 = 32;

/// Takes a step that may make pages of a file on disk dirty, which costs time where they were clean; what counts as dirty after it
/// counts for the program.
pub(super) async fn dirtying<E: UserTask, R>(env: &E, step: impl FnOnce(&mut Mm) -> R) -> R {
    let (result, dirtied, written) = env.with(|mm| {
        let counts = |mm: &Mm| (mm.counters().nr_dirtied, mm.pages.cache.newly_dirty());
        let before = counts(mm);
        let result = step(mm);
        let after = counts(mm);
        (result, after.0 - before.0, after.1 - before.1)
    });
    env.nr_dirtied().set(env.nr_dirtied().get() + dirtied);
    if written > 0 {
        let firsts = u64::from(dirtied > 0);
        env.disks().work_on_files(FileWork::Dirtied(FolioPages { firsts, parts: written - firsts })).await;
    }
    result
}

/// Slows the program down if it makes pages dirty faster than they are written: it sleeps for as long as the disk takes for
/// its share, and for longer where there are as many dirty pages as there may be.
///
/// # Errors
/// [`Stopped::Killed`].
pub async fn balance_dirty_pages<E: UserTask>(env: &E) -> Result<(), Stopped> {
    let dirtied = env.nr_dirtied().get();
    if dirtied < POLL {
        return Ok(());
    }
    env.nr_dirtied().set(0);
    loop {
        let now = env.now();
        let Some(pause) = env.with(|mm| mm.pages.dirty_pause(dirtied, now, &mut mm.phys)) else { return Ok(()) };
        env.sleep(pause.time).await;
        alive(env)?;
        if pause.suffices {
            return Ok(());
        }
    }
}
