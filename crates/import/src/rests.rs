//! Rests of kcompactd that a running machine is in.
//!
//! After a run of proactive compaction in vain kcompactd rests for half a minute. Linux does not tell that it does; but where the score of
//! the node is high, and kcompactd looked at nothing for longer than the pause between two looks, it rests.

use order9_mm::Mm;
use order9_mm::tasks::PROACTIVE_INTERVAL;
use order9_snapshot::{DaemonWork, Snapshot};
use order9_units::{NodeId, Pages};

/// Has every kcompactd rest that would be at work otherwise, where none was.
pub(crate) fn let_daemons_rest(snapshot: &Snapshot, mm: &mut Mm) {
    let Some(DaemonWork { watched, kcompactd, kswapd }) = snapshot.daemons else { return };
    let none_worked = kcompactd == Pages::ZERO && kswapd == Pages::ZERO;
    if !none_worked || watched < PROACTIVE_INTERVAL {
        return;
    }
    let nodes: Vec<NodeId> = mm.frames().nodes().filter(|&node| mm.phys().wants_proactive(node)).collect();
    nodes.into_iter().for_each(|node| mm.phys_mut().let_kcompactd_rest(node));
}
