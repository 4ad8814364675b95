//! Operations that fill a page table, such as `fork` and `mremap`: they get page tables and copies between their steps.

use order9_frames::Gfp;

use super::{Stopped, UserTask, page};
use crate::Mm;
use crate::space::{Errno, SpaceId, TableStep};

/// Takes the steps of an operation that fills the page table of `space`, giving it the page tables and copies it needs.
///
/// # Errors
/// [`Stopped::NoMemory`], and [`Stopped::Refused`] where a step is.
pub async fn fill_tables<E: UserTask>(
    env: &E,
    space: SpaceId,
    mut step: impl FnMut(&mut Mm) -> Result<TableStep, Errno>,
) -> Result<(), Stopped> {
    loop {
        match env.with(&mut step).map_err(Stopped::Refused)? {
            TableStep::Done => break,
            TableStep::Progress => env.spend().await,
            TableStep::NeedTable(vpn) => {
                let page = page(env, Gfp::GFP_PGTABLE_USER).await?;
                env.with(|mm| mm.give_table(space, vpn, page, env.cpu()));
            }
            TableStep::NeedCopy(copy) => {
                let page = page(env, Gfp::GFP_HIGHUSER_MOVABLE).await?;
                env.with(|mm| mm.give_copy(&copy, page, env.cpu()));
            }
        }
    }
    env.spend().await;
    Ok(())
}
