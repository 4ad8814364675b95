//! Facts of a snapshot as rows: memory of zones, watermarks, free blocks, pageblocks, counters of /proc/vmstat.

use order9_snapshot::{Snapshot, ZoneInfo};
use order9_units::Pages;

use crate::ExportError;
use crate::schema::Value;
use crate::tables::Rows;

/// A fact: a number with its name and its place.
#[derive(Default)]
struct Fact<'a> {
    zone: Option<&'a ZoneInfo>,
    name: &'a str,
    order: Option<u64>,
    migratetype: &'a str,
    value: u64,
    unit: &'a str,
}

/// Adds all facts of `snapshot`, which is called `name`.
pub(crate) fn rows(name: &str, snapshot: &Snapshot, rows: &mut dyn Rows) -> Result<(), ExportError> {
    let machine = [
        ("cpus", u64::from(snapshot.machine.cpus), "count"),
        ("nodes", snapshot.nodes.len() as u64, "count"),
        ("page_size", snapshot.machine.page_size.get(), "bytes"),
        ("pageblock_order", snapshot.machine.pageblock_order.into(), "order"),
    ];
    let mut facts: Vec<Fact<'_>> =
        machine.into_iter().map(|(name, value, unit)| Fact { name, value, unit, ..Fact::default() }).collect();
    facts.extend(snapshot.zones.iter().flat_map(of_zone));
    let vmstat = snapshot.vmstat.iter();
    facts.extend(vmstat.map(|(name, value)| Fact { name, value: *value, unit: "vmstat", ..Fact::default() }));
    facts.iter().try_for_each(|fact| {
        rows.row(&[
            Value::Text(name),
            fact.zone.map_or(Value::Nothing, |zone| Value::Number(zone.node.0.into())),
            Value::Text(fact.zone.map_or("", |zone| zone.kind.name())),
            Value::Text(fact.name),
            fact.order.map_or(Value::Nothing, Value::Number),
            Value::Text(fact.migratetype),
            Value::Number(fact.value),
            Value::Text(fact.unit),
        ])
    })
}

fn of_zone(zone: &ZoneInfo) -> Vec<Fact<'_>> {
    let fact = |name, value, unit| Fact { zone: Some(zone), name, value, unit, ..Fact::default() };
    let pages = |name, value: Pages| fact(name, value.get(), "pages");
    let marks = zone.watermarks;
    let sums = [
        pages("present", zone.present),
        pages("managed", zone.managed),
        pages("cma", zone.cma),
        pages("free", zone.free),
        pages("watermark_min", marks.min),
        pages("watermark_low", marks.low),
        pages("watermark_high", marks.high),
    ];
    let free = (0..).zip(zone.free_blocks);
    let free = free.map(|(order, value)| Fact { order: Some(order), ..fact("free_blocks", value, "blocks") });
    let by_type = zone.free_by_type.iter().flat_map(|(migratetype, blocks)| {
        let of_order = (0..).zip(*blocks);
        of_order.map(|(order, value)| Fact {
            order: Some(order),
            migratetype: migratetype.name(),
            ..fact("free_blocks_by_type", value, "blocks")
        })
    });
    let pageblocks = zone.block_counts.iter().map(|(migratetype, value)| Fact {
        migratetype: migratetype.name(),
        ..fact("pageblocks", *value, "pageblocks")
    });
    sums.into_iter().chain(free).chain(by_type).chain(pageblocks).collect()
}
