//! khugepaged: one task for the machine, which visits address spaces and makes huge pages of their base pages.
//!
//! Whom it visits and for how long is a matter of [`Mm::khugepaged_next`]; here it takes the locks, allocates, and sleeps. In
//! an address space it acts as a thread that belongs to no program ([`Visits`]).

use order9_units::Nanos;

use super::UserTask;
use super::collapse::collapse_found;
#[cfg(doc)]
use crate::Mm;
use crate::env::{Stall, Until};
use crate::space::SpaceId;
use crate::thp::{Collapse, CollapseFailure, KhugepagedPause, KhugepagedStep};

/// A world in which khugepaged can visit programs.
pub trait Visits: Stall {
    /// khugepaged in the space of a program.
    type Visitor: UserTask;

    /// khugepaged in `space`; `None` where no program has the space any more, or yet.
    fn visitor(&self, space: SpaceId) -> Option<Self::Visitor>;
}

/// Visits spaces in passes, and rests in between; never ends. To be run as a task of its own, after `phase` at first.
pub async fn khugepaged<E: Visits>(env: &E, phase: Option<Nanos>) {
    if let Some(phase) = phase {
        env.sleep(phase).await;
    }
    loop {
        pass(env).await;
        let pause = env.with(|mm| mm.pages.huge.khugepaged_pause(&mm.phys));
        rest(env, pause).await;
    }
}

/// Visits spaces until the pass is over (`khugepaged_do_scan`).
async fn pass<E: Visits>(env: &E) {
    env.with(|mm| mm.pages.huge.khugepaged_begin_pass());
    while let Some(space) = env.with(|mm| mm.khugepaged_next()) {
        match env.visitor(space) {
            Some(visitor) => visit(&visitor).await,
            None => env.with(|mm| mm.pages.huge.khugepaged_pass_by()),
        }
        env.spend().await;
    }
}

/// Sleeps, unless it is woken.
async fn rest(env: &impl Stall, pause: KhugepagedPause) {
    match pause {
        KhugepagedPause::None => {}
        KhugepagedPause::For(time) => {
            env.wait(Until::KhugepagedNeeded, Some(time)).await;
        }
        KhugepagedPause::UntilWoken => {
            env.wait(Until::KhugepagedNeeded, None).await;
        }
    }
}

/// Looks at slots until there is one to collapse, and collapses it (`khugepaged_scan_mm_slot`).
async fn visit<E: UserTask>(env: &E) {
    let Some(found) = look_for_slot(env).await else { return };
    let done = collapse_found(env, &found).await.unwrap_or(Err(CollapseFailure::VmaCheck));
    let pause = env.with(|mm| mm.khugepaged_done(done));
    rest(env, pause).await;
}

/// A slot to collapse, before the space is through or the pass over. Where somebody has the lock of the space, it is left.
async fn look_for_slot<E: UserTask>(env: &E) -> Option<Collapse> {
    let Some(_lock) = env.mmap_read_trylock() else {
        env.with(|mm| mm.pages.huge.khugepaged_pass_by());
        return None;
    };
    loop {
        let step = env.with(|mm| mm.khugepaged_scan());
        env.spend().await;
        match step {
            KhugepagedStep::Scanned => {}
            KhugepagedStep::Found(found) => return Some(found),
            KhugepagedStep::Leave => return None,
        }
    }
}
