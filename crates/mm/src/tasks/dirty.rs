//! Pages become dirty, and writers are slowed down to the speed of the disk (`balance_dirty_pages`).

use super::{Stopped, UserTask, alive};
use crate::Mm;
use crate::env::{Disks as _, FileWork};

/// Pages that a program makes dirty between two looks at how many there are.
const POLL: u64 = 32;

/// Takes a step that may make a page of a file on disk dirty, which costs time and counts for the program if it was clean.
pub(super) async fn dirtying<E: UserTask, R>(env: &E, step: impl FnOnce(&mut Mm) -> R) -> R {
    let (result, became_dirty) = env.with(|mm| {
        let before = mm.counters().nr_dirtied;
        let result = step(mm);
        (result, mm.counters().nr_dirtied > before)
    });
    if became_dirty {
        env.nr_dirtied().set(env.nr_dirtied().get() + 1);
        env.disks().work_on_files(FileWork::Dirtied).await;
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
