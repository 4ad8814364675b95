//! `mbind`, with the pages that it moves.

use order9_units::Bytes;

use crate::migrate::{Destination, MigrateReason};
use crate::pages::mempolicy::bind_range::{MbindFlags, is_wrong};
use crate::pages::mempolicy::move_pages::{Found, Misplaced};
use crate::pages::mempolicy::{MempolicyArgs, Mode, SpaceTask};
use crate::space::{Errno, VirtAddr};
use crate::tasks::mempolicy::move_pages::move_misplaced;
use crate::{Mm, Pressure};

/// `mbind`, by `task` in its own space. The policy of mappings of tmpfs goes to their file. A range of no length does nothing.
///
/// # Errors
/// Errors of `Mempolicy::new`; `EPERM` for `Movable::All` without `CAP_SYS_NICE`; `EINVAL` for an unaligned address and a
/// range beyond the end of addresses, or that cuts a page of a hugetlb pool; `EFAULT` where a part of the range is not mapped;
/// `EIO` for misplaced pages, as [`MbindFlags::strict`] says: if none may be moved, the policy stays as it was; `ENOMEM` where
/// splitting would make too many mappings; `ESRCH` where there is no such space.
pub async fn mbind<E: Pressure>(
    env: &E,
    task: impl Into<SpaceTask>,
    addr: VirtAddr,
    length: Bytes,
    args: &MempolicyArgs,
    flags: MbindFlags,
) -> Result<(), Errno> {
    let task = task.into();
    let id = task.space;
    let (range, policy) = env.with(|mm| mm.pages.mbind_begin(id, addr, length, args, flags, &mut mm.phys))?;
    env.spend().await;
    let Some(movable) = flags.moves else { return Ok(()) };
    let to = |mm: &mut Mm, page: &Misplaced, found: &Found| {
        let vma = mm.pages.spaces.get(id).ok()?.vmas.find(page.vpn)?;
        let choice = mm.pages.policy_for(task, vma, page.vpn, page.order, mm.phys.node_of_cpu(env.cpu()));
        let choice = mm.pages.spaces.choice_within_cpuset(id, &choice, page.order, &mm.phys);
        let stays = found.node == choice.node && choice.nodes.is_none_or(|nodes| nodes.has(found.node));

        (!stays).then(|| Destination::chosen(choice, MigrateReason::MempolicyMbind))
    };
    let failed = move_misplaced(env, id, range, movable, |node| is_wrong(policy.as_ref(), node), to).await;
    let strict = flags.strict && args.mode != Mode::Default;
    if failed > 0 && strict { Err(Errno::Eio) } else { Ok(()) }
}
