//! Fields of compaction's trace events.

use order9_machine::CompactEvent;
use order9_mm::env::CompactPriority;
use order9_mm::trace::{DeferEvent, ScanEnds};
use order9_units::{Order, PfnRange};

/// The fields in the order of the kernel's format files.
pub(super) fn fields(event: &CompactEvent) -> String {
    match event {
        CompactEvent::IsolateMigratepages { range, scanned, taken }
        | CompactEvent::IsolateFreepages { range, scanned, taken }
        | CompactEvent::FastIsolateFreepages { range, scanned, taken } => {
            let PfnRange { start, end } = range;
            format!("range=({start} ~ {end}) nr_scanned={scanned} nr_taken={taken}")
        }
        CompactEvent::Migratepages { migrated, failed } => format!("nr_migrated={migrated} nr_failed={failed}"),
        CompactEvent::Begin(at) => ends(at),
        CompactEvent::End { ends: at, status } => format!("{} status={}", ends(at), status.name()),
        CompactEvent::TryToCompactPages { order, gfp, priority } => {
            format!("order={} gfp_mask={gfp:?} priority={}", order.get(), number(*priority))
        }
        CompactEvent::Suitable { node, zone, order, status } => {
            format!("node={} zone={zone} order={} ret={status}", node.0, order.get())
        }
        CompactEvent::Finished { node, zone, order, status } => {
            let order = order.map_or(-1, |order| i32::from(Order::get(order)));
            format!("node={} zone={zone} order={order} ret={status}", node.0)
        }
        CompactEvent::Deferred(event) | CompactEvent::DeferCompaction(event) | CompactEvent::DeferReset(event) => {
            let DeferEvent { node, zone, order, order_failed, considered, limit } = event;
            format!(
                "node={} zone={zone} order={} order_failed={order_failed} consider={considered} limit={limit}",
                node.0,
                order.get()
            )
        }
        CompactEvent::KcompactdSleep { node } => format!("nid={}", node.0),
        CompactEvent::WakeupKcompactd { node, order, class } | CompactEvent::KcompactdWake { node, order, class } => {
            format!("nid={} order={} classzone_idx={}", node.0, order.get(), class.index())
        }
        CompactEvent::Retry { order, priority, result, retries, max_retries, should_retry } => format!(
            "order={} priority={} compaction_result={} retries={retries} max_retries={max_retries} should_retry={}",
            order.get(),
            number(*priority),
            result.name(),
            u8::from(*should_retry)
        ),
    }
}

fn ends(at: &ScanEnds) -> String {
    let ScanEnds { zone, migrate_pfn, free_pfn, sync } = at;
    let mode = if *sync { "sync" } else { "async" };
    format!(
        "zone_start={} migrate_pfn={migrate_pfn} free_pfn={free_pfn} zone_end={}, mode={mode}",
        zone.start, zone.end
    )
}

/// Linux counts efforts down.
const fn number(priority: CompactPriority) -> u8 {
    match priority {
        CompactPriority::SyncFull => 0,
        CompactPriority::SyncLight => 1,
        CompactPriority::Async => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use order9_mm::env::CompactResult;
    use order9_units::{NodeId, Pages, Pfn, ZoneKind};

    #[test]
    fn events_of_compaction_have_the_fields_of_the_kernel_in_its_order() {
        let zone = PfnRange::of(Pfn::new(0x1000), Pages::new(0x1000));
        let at = ScanEnds { zone, migrate_pfn: Pfn::new(0x1200), free_pfn: Pfn::new(0x1e00), sync: false };
        let defer = DeferEvent {
            node: NodeId(0),
            zone: ZoneKind::Normal,
            order: Order::PAGEBLOCK,
            order_failed: 9,
            considered: 1,
            limit: 4,
        };
        for (event, text) in [
            (
                CompactEvent::IsolateMigratepages { range: zone, scanned: 600, taken: 32 },
                "range=(0x1000 ~ 0x2000) nr_scanned=600 nr_taken=32",
            ),
            (
                CompactEvent::End { ends: at, status: CompactResult::PartialSkipped },
                "zone_start=0x1000 migrate_pfn=0x1200 free_pfn=0x1e00 zone_end=0x2000, mode=async status=partial_skipped",
            ),
            (
                CompactEvent::Finished { node: NodeId(1), zone: ZoneKind::Normal, order: None, status: "continue" },
                "node=1 zone=Normal order=-1 ret=continue",
            ),
            (CompactEvent::Deferred(defer), "node=0 zone=Normal order=9 order_failed=9 consider=1 limit=4"),
        ] {
            assert_eq!(fields(&event), text);
        }
    }
}
