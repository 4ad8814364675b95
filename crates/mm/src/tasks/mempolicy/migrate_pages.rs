//! `migrate_pages`: what a program has on some nodes goes to others.

use alloc::vec::Vec;

use order9_units::{NodeId, NodeMask};

use crate::Pressure;
use crate::migrate::{Destination, MigrateReason};
use crate::pages::mempolicy::Movable;
use crate::pages::mempolicy::move_pages::Found;
use crate::space::{Errno, SpaceId, TASK_END, Vpn, VpnRange};
use crate::tasks::mempolicy::move_pages::move_misplaced;

/// `migrate_pages` by a task of `caller` on the pages of `target`: what lies on the nodes of `from` goes to those of `to`, each
/// node's to the one at the same place. Returns how many base or huge pages stayed where they were. Policies stay as they are.
///
/// With `CAP_SYS_NICE` pages that others map move, too.
///
/// # Errors
/// `ESRCH` where one of the spaces is gone; `EPERM` where `to` has nodes outside the cpuset of `target` and the caller lacks
/// `CAP_SYS_NICE`; `EINVAL` where the caller's cpuset has none of `to`.
pub async fn migrate_space<E: Pressure>(
    env: &E,
    caller: SpaceId,
    target: SpaceId,
    from: NodeMask,
    to: NodeMask,
) -> Result<u64, Errno> {
    let (to, movable) = env.with(|mm| {
        let (own, theirs) = (mm.mems_allowed(caller)?, mm.mems_allowed(target)?);
        let privileged = mm.pages.spaces.has_sys_nice(caller);
        match () {
            () if !to.is_subset_of(theirs) && !privileged => Err(Errno::Eperm),
            () if (to & own).is_empty() => Err(Errno::Einval),
            () => Ok((to & own, if privileged { Movable::All } else { Movable::Own })),
        }
    })?;
    Ok(migrate_nodes(env, target, from, to, movable).await)
}

/// Moves what a space has on the nodes of `from` to those of `to`.
pub(crate) async fn migrate_nodes<E: Pressure>(
    env: &E,
    space: SpaceId,
    from: NodeMask,
    to: NodeMask,
    movable: Movable,
) -> u64 {
    let mut failed = 0;
    for (source, node) in moves(from, to) {
        let everything = VpnRange::new(Vpn::new(0), TASK_END);
        let to = |_: &mut _, _: &_, found: &Found| {
            (found.node == source).then(|| Destination::only(node, MigrateReason::Syscall))
        };
        failed += move_misplaced(env, space, everything, movable, |node| node == source, to).await;
    }
    failed
}

/// Moves of pages from node to node, in an order in which no page moves twice where that can be had: a node is emptied before
/// another one's pages come to it. Where the sets differ in size, nodes that are in both keep their pages.
fn moves(from: NodeMask, to: NodeMask) -> Vec<(NodeId, NodeId)> {
    let keeps = |node: NodeId| from.weight() != to.weight() && to.has(node);
    let pair = |node: NodeId| (node, NodeMask::remap_node(node, from, to));
    let mut left: NodeMask = from.iter().filter(|&node| !keeps(node) && pair(node).1 != node).collect();
    let mut moves = Vec::new();
    while let Some(highest) = left.iter().last() {
        let clear = left.iter().map(pair).find(|&(_, to)| !left.has(to));
        let (source, to) = clear.unwrap_or_else(|| pair(highest));
        moves.push((source, to));
        left = left - NodeMask::of(source);
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(from: &str, to: &str) -> Vec<(u16, u16)> {
        let mask = |text| NodeMask::parse(text).expect("a list of nodes");
        moves(mask(from), mask(to)).into_iter().map(|(from, to)| (from.0, to.0)).collect()
    }

    #[test]
    fn nodes_are_emptied_before_they_are_filled() {
        assert_eq!(pairs("0", "1"), [(0, 1)]);
        assert_eq!(pairs("0-1", "1-2"), [(1, 2), (0, 1)], "else the pages of node 0 would go on to node 2");
        assert_eq!(pairs("2-4", "3-5"), [(4, 5), (3, 4), (2, 3)], "the example of the kernel's documentation");
        assert_eq!(pairs("0-3", "1"), [(0, 1), (2, 1), (3, 1)], "node 1 keeps its pages");
        assert_eq!(pairs("0-1", "0-1"), []);
    }
}
