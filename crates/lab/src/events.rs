//! Trace events as tracefs shows them: names of tasks and `key=value` text.

mod collapse;
mod compaction;
mod switches;

use std::sync::Arc;

use order9_machine::{Event, Results, Traced, TracedSwitch};
use order9_mm::FrameEvent;
use order9_mm::LruType;
use order9_record as record;
use order9_units::Order;

/// The events of a run.
pub(crate) fn events(results: &Results) -> Vec<record::Event> {
    let tasks: Vec<Arc<str>> = results.tasks.iter().map(|name| name.as_str().into()).collect();
    let nobody: Arc<str> = "swapper".into();
    let names: Vec<(&str, Arc<str>)> =
        order9_machine::TraceKinds::names().iter().map(|name| (*name, (*name).into())).collect();
    let event = |traced: &Traced| record::Event {
        at: traced.at,
        cpu: traced.cpu.map_or(0, |cpu| u32::from(cpu.0)),
        comm: traced.task.map_or_else(|| nobody.clone(), |task| tasks[task.index()].clone()),
        pid: traced.task.map_or(0, |task| task.index() as u32 + 1),
        name: names.iter().find(|(name, _)| *name == traced.name()).expect("it has a name").1.clone(),
        fields: fields(&traced.event),
    };
    let mut events = Vec::with_capacity(results.events.len() + results.switches.len());
    let mut rest = results.events.as_slice();
    for TracedSwitch { events_before, switch } in &results.switches {
        let (before, after) = rest.split_at(events_before - (results.events.len() - rest.len()));
        events.extend(before.iter().map(event));
        events.push(switches::event(switch, &tasks, &nobody));
        rest = after;
    }
    events.extend(rest.iter().map(event));
    events
}

/// The fields in the order of the kernel's format files; pointers, which no result may hold, are left out.
fn fields(event: &Event) -> String {
    match event {
        Event::Frame(FrameEvent::PageAlloc { pfn, order, migratetype, gfp }) => {
            let pfn = pfn.map_or(0, order9_units::Pfn::get);
            format!("pfn={pfn:#x} order={} migratetype={} gfp_flags={gfp:?}", order.get(), migratetype.index())
        }
        Event::Frame(FrameEvent::PageAllocZoneLocked { pfn, order, migratetype, percpu_refill }) => format!(
            "pfn={:#x} order={} migratetype={} percpu_refill={}",
            pfn.get(),
            order.get(),
            migratetype.index(),
            u8::from(*percpu_refill)
        ),
        Event::Frame(FrameEvent::Extfrag(event)) => format!(
            "pfn={:#x} alloc_order={} fallback_order={} pageblock_order={} alloc_migratetype={} \
             fallback_migratetype={} fragmenting={} change_ownership={}",
            event.pfn.get(),
            event.alloc_order.get(),
            event.fallback_order.get(),
            Order::PAGEBLOCK.get(),
            event.alloc_migratetype.index(),
            event.fallback_migratetype.index(),
            u8::from(event.is_fragmenting()),
            u8::from(event.change_ownership)
        ),
        Event::Frame(FrameEvent::PageFree { pfn, order }) => format!("pfn={:#x} order={}", pfn.get(), order.get()),
        Event::PageFreeBatched { pfn } => format!("pfn={:#x} order=0", pfn.get()),
        Event::Frame(FrameEvent::PagePcpuDrain { pfn, order, migratetype }) => {
            format!("pfn={:#x} order={} migratetype={}", pfn.get(), order.get(), migratetype.index())
        }
        Event::WakeupKswapd { node, class, order, gfp } => {
            format!("nid={} zid={} order={} gfp_flags={gfp:?}", node.0, class.index(), order.get())
        }
        Event::Throttled { node, timeout, delayed, why } => {
            let [timeout, delayed] = [timeout, delayed].map(|time| time.get() / 1000);
            format!("nid={} usec_timeout={timeout} usect_delayed={delayed} reason={}", node.0, why.name())
        }
        Event::MigratePages { succeeded, failed, mode, reason } => {
            format!("nr_succeeded={succeeded} nr_failed={failed} mode={} reason={}", mode.name(), reason.name())
        }
        Event::KswapdSleep { node } => format!("nid={}", node.0),
        Event::KswapdWake { node, class, order } => {
            format!("nid={} zid={} order={}", node.0, class.index(), order.get())
        }
        Event::ReclaimRetryZone {
            node,
            zone,
            order,
            reclaimable,
            available,
            min_wmark,
            no_progress_loops,
            wmark_check,
        } => format!(
            "node={} zone={:<8} order={} reclaimable={reclaimable} available={available} min_wmark={min_wmark} \
             no_progress_loops={no_progress_loops} wmark_check={}",
            node.0,
            zone.name(),
            order.get(),
            u8::from(*wmark_check)
        ),
        Event::DirectReclaimBegin { order, gfp } => format!("order={} gfp_flags={gfp:?}", order.get()),
        Event::NodeReclaimBegin { node, order, gfp } => {
            format!("nid={} order={} gfp_flags={gfp:?}", node.0, order.get())
        }
        Event::DirectReclaimEnd { reclaimed } | Event::NodeReclaimEnd { reclaimed } => {
            format!("nr_reclaimed={reclaimed}")
        }
        Event::LruIsolate { class, order, requested, scanned, skipped, taken, list } => format!(
            "classzone={} order={} nr_requested={requested} nr_scanned={scanned} nr_skipped={skipped} nr_taken={taken} \
             lru={}",
            class.index(),
            order.get(),
            list.name()
        ),
        Event::LruShrinkInactive { node, scanned, reclaimed, stats, activated, referenced, priority, of } => {
            let activated_of = |which| if *of == which { *activated } else { 0 };
            format!(
                "nid={} nr_scanned={scanned} nr_reclaimed={reclaimed} nr_dirty={} nr_writeback={} nr_congested={} \
                 nr_immediate={} nr_activate_anon={} nr_activate_file={} nr_ref_keep={referenced} nr_unmap_fail=0 \
                 priority={priority} flags={}",
                node.0,
                stats.dirty,
                stats.writeback,
                stats.congested,
                stats.immediate,
                activated_of(LruType::Anon),
                activated_of(LruType::File),
                reclaim_flags(*of)
            )
        }
        Event::LruShrinkActive { node, taken, active, deactivated, referenced, priority, of } => format!(
            "nid={} nr_taken={taken} nr_active={active} nr_deactivated={deactivated} nr_referenced={referenced} \
             priority={priority} flags={}",
            node.0,
            reclaim_flags(*of)
        ),
        Event::Writepage { pfn, of } => format!("pfn={:#x} flags={}", pfn.get(), reclaim_flags(*of)),
        Event::InactiveListIsLow { node, class, inactive, active, ratio, of } => format!(
            "nid={} reclaim_idx={} total_inactive={inactive} inactive={inactive} total_active={active} \
             active={active} ratio={ratio} flags={}",
            node.0,
            class.index(),
            reclaim_flags(*of)
        ),
        Event::Collapse(event) => collapse::fields(event),
        Event::Compaction(event) => compaction::fields(event),
        Event::ShrinkSlabStart { shrinker, node, deferred, gfp, cache_items, delta, total_scan, priority } => format!(
            "shrink={} nid={} nr_objects_to_shrink={deferred} gfp_flags={gfp:?} cache_items={cache_items} \
             delta={delta} total_scan={total_scan} priority={priority}",
            shrinker.name(),
            node.0
        ),
        Event::ShrinkSlabEnd { shrinker, node, freed, deferred, new_deferred, total_scan } => format!(
            "shrink={} nid={} unused_scan={deferred} new_scan={new_deferred} retval={freed} total_scan={total_scan}",
            shrinker.name(),
            node.0
        ),
    }
}

/// Flags of a write by reclaim, which never waits for its writes.
const fn reclaim_flags(of: LruType) -> &'static str {
    match of {
        LruType::Anon => "RECLAIM_WB_ANON|RECLAIM_WB_ASYNC",
        LruType::File => "RECLAIM_WB_FILE|RECLAIM_WB_ASYNC",
    }
}

#[cfg(test)]
mod tests {
    use order9_machine::CollapseEvent;
    use order9_mm::reclaim::PassStats;
    use order9_mm::space::VirtAddr;
    use order9_mm::{FileId, LruList, SpaceId};
    use order9_units::{NodeId, Pfn, ZoneKind};

    use super::*;

    #[test]
    fn events_of_collapse_have_the_fields_of_the_kernel_in_its_order() {
        let pfn = Pfn::new(0x200);
        let isolate =
            CollapseEvent::Isolate { pfn, none_or_zero: 3, referenced: 9, writable: true, status: "succeeded" };
        let text = "scan_pfn=0x200, none_or_zero=3, referenced=9, writable=1, status=succeeded";
        assert_eq!(fields(&Event::Collapse(isolate)), text);
        let (space, file, result) = (SpaceId::default(), FileId::new(7), "succeeded");
        let scan = CollapseEvent::ScanFile { space, pfn: None, file, present: 500, swap: 12, result };
        let text = "scan_pfn=0xffffffffffffffff, filename=7, present=500, swap=12, result=succeeded";
        assert_eq!(fields(&Event::Collapse(scan)), text);
        let addr = VirtAddr::new(0x7f00_0020_0000);
        let done = CollapseEvent::CollapseFile { space, pfn: Some(pfn), file, index: 512, addr, result };
        let text = "hpage_pfn=0x200, index=512, addr=7f0000200000, is_shmem=1, filename=7, nr=512, result=succeeded";
        assert_eq!(fields(&Event::Collapse(done)), text);
    }

    #[test]
    fn events_of_reclaim_have_the_fields_of_the_kernel_in_its_order() {
        let node = NodeId(1);
        let stats = PassStats { taken: 30, dirty: 4, writeback: 3, congested: 2, immediate: 1, ..PassStats::default() };
        for (event, text) in [
            (
                Event::LruIsolate {
                    class: ZoneKind::Normal,
                    order: Order::PAGEBLOCK,
                    requested: 32,
                    scanned: 40,
                    skipped: 8,
                    taken: 32,
                    list: LruList::InactiveFile,
                },
                "classzone=2 order=9 nr_requested=32 nr_scanned=40 nr_skipped=8 nr_taken=32 lru=inactive_file",
            ),
            (
                Event::LruShrinkInactive {
                    node,
                    scanned: 32,
                    reclaimed: 20,
                    stats,
                    activated: 7,
                    referenced: 5,
                    priority: 12,
                    of: LruType::File,
                },
                "nid=1 nr_scanned=32 nr_reclaimed=20 nr_dirty=4 nr_writeback=3 nr_congested=2 nr_immediate=1 \
                 nr_activate_anon=0 nr_activate_file=7 nr_ref_keep=5 nr_unmap_fail=0 priority=12 \
                 flags=RECLAIM_WB_FILE|RECLAIM_WB_ASYNC",
            ),
            (
                Event::LruShrinkActive {
                    node,
                    taken: 32,
                    active: 2,
                    deactivated: 30,
                    referenced: 9,
                    priority: 0,
                    of: LruType::Anon,
                },
                "nid=1 nr_taken=32 nr_active=2 nr_deactivated=30 nr_referenced=9 priority=0 \
                 flags=RECLAIM_WB_ANON|RECLAIM_WB_ASYNC",
            ),
            (
                Event::Writepage { pfn: Pfn::new(0x1000), of: LruType::Anon },
                "pfn=0x1000 flags=RECLAIM_WB_ANON|RECLAIM_WB_ASYNC",
            ),
            (Event::KswapdWake { node, class: ZoneKind::Dma32, order: Order::ZERO }, "nid=1 zid=1 order=0"),
            (Event::KswapdSleep { node }, "nid=1"),
            (Event::DirectReclaimEnd { reclaimed: 33 }, "nr_reclaimed=33"),
            (Event::NodeReclaimEnd { reclaimed: 7 }, "nr_reclaimed=7"),
            (Event::PageFreeBatched { pfn: order9_units::Pfn::new(0x2a) }, "pfn=0x2a order=0"),
        ] {
            assert_eq!(fields(&event), text);
        }
    }
}
