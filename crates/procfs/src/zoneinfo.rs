//! /proc/zoneinfo: every zone in detail.

use core::fmt::{Result, Write};

use order9_mm::{LruList, LruType, Mark, Mm, Pcp, Zone};
use order9_units::{Migratetype, NodeId};

use super::{populated, zones_of};

/// Writes the part of /proc/zoneinfo that the engine has.
///
/// # Errors
/// Those of `out`.
pub fn render_zoneinfo(mm: &Mm, out: &mut impl Write) -> Result {
    let mut shown = None;
    populated(mm).try_for_each(|zone| {
        writeln!(out, "Node {}, zone {:>8}", zone.node(), zone.kind())?;
        if shown.replace(zone.node()) != Some(zone.node()) {
            render_node_stats(mm, out, zone.node())?;
        }
        render_zone(mm, out, zone)
    })
}

/// Levels of a node, which stand under the first zone that it has memory in.
fn render_node_stats(mm: &Mm, out: &mut impl Write, node: NodeId) -> Result {
    writeln!(out, "  per-node stats")?;
    let (slab, pending) = (mm.pages().slab().slab_levels(node), mm.write_pending(Some(node)));
    let isolated = |of| zones_of(mm, node).map(|zone| mm.pages().lru().zone_lru(zone.id()).isolated(of)).sum();
    for (name, value) in [
        ("nr_inactive_anon", mm.lru_pages(node, LruList::InactiveAnon)),
        ("nr_active_anon", mm.lru_pages(node, LruList::ActiveAnon)),
        ("nr_inactive_file", mm.lru_pages(node, LruList::InactiveFile)),
        ("nr_active_file", mm.lru_pages(node, LruList::ActiveFile)),
        ("nr_unevictable", mm.lru_pages(node, LruList::Unevictable)),
        ("nr_slab_reclaimable", slab.reclaimable),
        ("nr_slab_unreclaimable", slab.unreclaimable),
        ("nr_isolated_anon", isolated(LruType::Anon)),
        ("nr_isolated_file", isolated(LruType::File)),
        ("nr_dirty", pending.dirty),
        ("nr_writeback", pending.writeback),
    ] {
        writeln!(out, "      {name:<12} {value}")?;
    }
    Ok(())
}

fn render_zone(mm: &Mm, out: &mut impl Write, zone: &Zone) -> Result {
    writeln!(out, "  pages free     {}", zone.free())?;
    for (name, pages) in [
        ("boost", zone.boost()),
        ("min", zone.mark(Mark::Min)),
        ("low", zone.mark(Mark::Low)),
        ("high", zone.mark(Mark::High)),
        ("spanned", zone.span().len().get()),
        ("present", zone.present()),
        ("managed", zone.managed()),
        ("cma", mm.phys().cma_pages(zone.id())),
    ] {
        writeln!(out, "        {name:<8} {pages}")?;
    }
    out.write_str("        protection: (")?;
    for (at, pages) in zone.lowmem_reserve().iter().enumerate() {
        write!(out, "{}{pages}", if at == 0 { "" } else { ", " })?;
    }
    writeln!(out, ")")?;
    render_counters(mm, out, zone)?;
    render_pagesets(out, mm.frames().pcps(zone.id()))?;
    let gave_up = mm.kswapd_gave_up(zone.node());
    writeln!(out, "  node_unreclaimable:  {}", u8::from(gave_up))?;
    writeln!(out, "  start_pfn:           {}", zone.span().start.get())
}

fn render_counters(mm: &Mm, out: &mut impl Write, zone: &Zone) -> Result {
    for (name, value) in [
        ("nr_free_pages", zone.free()),
        ("nr_free_pages_blocks", zone.free_in_pageblocks()),
        ("nr_zone_inactive_anon", mm.pages().lru().zone_lru(zone.id()).pages(LruList::InactiveAnon)),
        ("nr_zone_active_anon", mm.pages().lru().zone_lru(zone.id()).pages(LruList::ActiveAnon)),
        ("nr_zone_inactive_file", mm.pages().lru().zone_lru(zone.id()).pages(LruList::InactiveFile)),
        ("nr_zone_active_file", mm.pages().lru().zone_lru(zone.id()).pages(LruList::ActiveFile)),
        ("nr_zone_unevictable", mm.pages().lru().zone_lru(zone.id()).pages(LruList::Unevictable)),
        ("nr_zone_write_pending", mm.pages().cache().zone_write_pending(zone.id()).total()),
        ("nr_free_cma", zone.free_of_type(Migratetype::Cma)),
    ] {
        writeln!(out, "      {name:<12} {value}")?;
    }
    Ok(())
}

fn render_pagesets<'a>(out: &mut impl Write, pcps: impl Iterator<Item = &'a Pcp>) -> Result {
    writeln!(out, "  pagesets")?;
    for (cpu, pcp) in pcps.enumerate() {
        writeln!(out, "    cpu: {cpu}")?;
        for (name, pages) in [("count:", pcp.count()), ("high:", pcp.high()), ("batch:", pcp.batch())] {
            writeln!(out, "              {name:<8} {pages}")?;
        }
    }
    Ok(())
}
