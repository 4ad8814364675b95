//! Laws of lists: free lists and per-CPU lists hold the blocks that frames and counts say.

use alloc::format;

use order9_units::{Migratetype, Order};

use super::frames::Tally;
use super::{Verdict, Violation, require};
use crate::Frames;
use crate::frame::{FrameState, Word};
use crate::pcp;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::Zone;

impl<W: Watch, S: Storage> Frames<W, S> {
    pub(super) fn check_lists(&self, zone: &Zone, tally: &Tally) -> Verdict {
        let kind = zone.kind;
        let mut by_type = [0; Migratetype::COUNT];
        for order in Order::all() {
            for mt in Migratetype::ALL {
                let length = self.check_list(zone, order, mt)?;
                let (counted, framed) =
                    (zone.areas[order.index()].blocks[mt.index()], tally.free_blocks[order.index()][mt.index()]);
                require(
                    length == counted && framed == counted,
                    "a list is as long as its count and its frames say",
                    || format!("{kind} {order:?} {mt}: {length} on the list, {counted} counted, {framed} by frames"),
                )?;
                require(zone.has_block_of(mt, order) == (length > 0), "the occupied bit follows the list", || {
                    format!("{kind} {order:?} {mt}: {length} blocks")
                })?;
                by_type[mt.index()] += u64::from(length) * order.pages().get();
            }
        }
        require(by_type == zone.free_by_type, "free pages by type equal the lists", || {
            format!("{kind}: {by_type:?} on lists, {:?} counted", zone.free_by_type)
        })?;
        let free: u64 = by_type.iter().sum::<u64>() - by_type[Migratetype::Isolate.index()];
        require(free == zone.free, "nr_free_pages is what lies on all lists but Isolate", || {
            format!("{kind}: {free} on lists, {} counted", zone.free)
        })
    }

    /// Walks one list; returns its length.
    fn check_list(&self, zone: &Zone, order: Order, mt: Migratetype) -> Result<u32, Violation> {
        let mut length = 0;
        for idx in self.table.iter(zone.list(order, mt)) {
            let state = if idx.at() < self.table.len() { self.table.word(idx).state() } else { FrameState::Hole };
            let here = state == FrameState::Free { order, list: mt } && self.blocks[idx.block()].zone == zone.id;
            require(here, "a list holds free blocks of its zone, order and type", || {
                format!("{:?} on the {mt} list of {order:?} of {} is {state:?}", self.table.pfn(idx), zone.kind)
            })?;
            length += 1;
            require(u64::from(length) <= zone.managed, "a list ends", || format!("{} {order:?} {mt}", zone.kind))?;
        }
        Ok(length)
    }

    pub(super) fn check_pcps(&self, zone: &Zone, tally: &Tally) -> Verdict {
        let lists = self.policy.pcp.lists;
        let mut total = 0;
        for (cpu, pcp) in self.pcps(zone.id).enumerate() {
            let mut count = 0;
            for n in 0..lists.count() {
                for idx in self.table.iter(pcp.list(n)) {
                    let word = if idx.at() < self.table.len() { self.table.word(idx) } else { Word::HOLE };
                    let fits = match word.state() {
                        FrameState::Pcp { order, cached } => {
                            pcp::cached_as(cached).is_some_and(|cached| lists.list_for(order, cached) == Some(n))
                        }
                        _ => false,
                    };
                    require(
                        fits && self.blocks[idx.block()].zone == zone.id,
                        "a per-CPU list holds cached blocks",
                        || format!("{:?} on list {n} of CPU {cpu} is {:?}", self.table.pfn(idx), word.state()),
                    )?;
                    count += word.order().pages().get();
                    require(count <= zone.managed, "a per-CPU list ends", || format!("list {n} of CPU {cpu}"))?;
                }
            }
            require(count == pcp.count(), "a per-CPU count equals its lists", || {
                format!("{} CPU {cpu}: {count} on lists, {} counted", zone.kind, pcp.count())
            })?;
            total += count;
        }
        require(total == tally.pcp, "cached frames are on per-CPU lists", || {
            format!("{}: {total} on lists, {} by frames", zone.kind, tally.pcp)
        })
    }
}
