//! /proc/pagetypeinfo: free blocks by migratetype and order, and pageblocks by migratetype. For root only.

use std::collections::BTreeMap;

use order9_units::{Migratetype, NodeId, Order, ZoneKind};

use super::{Line, ParseError, lines};

/// The counts of one zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoneTypes {
    /// Free blocks per type and order; Linux stops counting at 100000 and then prints `>100000`.
    pub(crate) free: BTreeMap<Migratetype, [u64; Order::COUNT]>,
    /// Number of pageblocks by migratetype.
    pub(crate) blocks: BTreeMap<Migratetype, u64>,
}

/// The counts of every zone that has pages.
pub(crate) type PageTypes = BTreeMap<(NodeId, ZoneKind), ZoneTypes>;

/// A table of the file.
enum Table {
    /// Free blocks by order.
    Free,
    /// Pageblocks by the types of these columns.
    Blocks(Vec<Migratetype>),
    /// With `page_owner=on`: pageblocks that hold pages of other types, which can be told from the frames.
    Mixed,
}

/// Reads /proc/pagetypeinfo, which lists the tables of one node after those of another. Fails on a pageblock order other
/// than 9 and on orders other than 0 to 10.
pub(crate) fn parse(text: &str) -> Result<PageTypes, ParseError> {
    const EXPECTED: &str = "a line of pagetypeinfo";
    let mut zones = PageTypes::new();
    let mut table = Table::Free;
    for line in lines(text) {
        let words = || line.text.split_whitespace();
        if let Some(order) = line.text.strip_prefix("Page block order:") {
            check_pageblock_order(&line, order)?;
        } else if let Some(types) = line.text.strip_prefix("Number of blocks type") {
            let columns = types.split_whitespace().map(|name| migratetype(&line, name));
            table = Table::Blocks(columns.collect::<Result<_, _>>()?);
        } else if line.text.starts_with("Number of mixed blocks") {
            table = Table::Mixed;
        } else if line.text.starts_with("Free pages count") {
            line.per_order(words().skip_while(|word| *word != "order").skip(1))?;
            table = Table::Free;
        } else if line.text.starts_with("Node") {
            match &table {
                Table::Free => add_free_row(&mut zones, &line)?,
                Table::Blocks(columns) => add_block_row(&mut zones, &line, columns)?,
                Table::Mixed => {}
            }
        } else if !line.text.starts_with("Pages per block:") {
            return Err(line.malformed(EXPECTED));
        }
    }
    if zones.is_empty() {
        return Err(ParseError::Malformed { line: 1, expected: EXPECTED });
    }
    Ok(zones)
}

/// Takes a line such as `Node    0, zone   Normal, type      Movable      1      0 ...`.
fn add_free_row(zones: &mut PageTypes, line: &Line<'_>) -> Result<(), ParseError> {
    let zone = line.zone()?;
    let after_type = zone.rest.trim_start_matches([',', ' ']).strip_prefix("type");
    let mut words = after_type.unwrap_or_default().split_whitespace();
    let name = words.next().ok_or_else(|| line.malformed("`type NAME` and free blocks per order"))?;
    let (kind, counts) = (migratetype(line, name)?, line.per_order(words)?);
    if let Some(zone_kind) = zone.kind {
        zones.entry((zone.node, zone_kind)).or_default().free.insert(kind, counts);
    }
    Ok(())
}

/// Takes a line such as `Node 0, zone   Normal           48          623           33            0`.
fn add_block_row(zones: &mut PageTypes, line: &Line<'_>, columns: &[Migratetype]) -> Result<(), ParseError> {
    const EXPECTED: &str = "one number of pageblocks per type of the header";
    let zone = line.zone()?;
    let mut words = zone.rest.split_whitespace();
    let mut blocks = BTreeMap::new();
    for &kind in columns {
        blocks.insert(kind, line.pages(words.next(), EXPECTED)?.get());
    }
    if words.next().is_some() {
        return Err(line.malformed(EXPECTED));
    }
    if let Some(zone_kind) = zone.kind {
        zones.entry((zone.node, zone_kind)).or_default().blocks = blocks;
    }
    Ok(())
}

fn check_pageblock_order(line: &Line<'_>, order: &str) -> Result<(), ParseError> {
    let order: u8 = line.number(Some(order), "a pageblock order")?;
    if order == Order::PAGEBLOCK.get() {
        return Ok(());
    }
    let known = Order::PAGEBLOCK;
    Err(line.unsupported(format_args!("pageblock order {order}, where order9 knows {known}: blocks of 2 MiB")))
}

/// Kernels before 4.4 kept a `Reserve` for the same requests that `HighAtomic` serves since.
fn migratetype(line: &Line<'_>, name: &str) -> Result<Migratetype, ParseError> {
    match name {
        "Reserve" => Ok(Migratetype::HighAtomic),
        _ => name.parse().map_err(|_| {
            line.malformed("a migratetype: Unmovable, Movable, Reclaimable, HighAtomic, Reserve, CMA or Isolate")
        }),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::parse) const LINUX_4_2: &str = "\
Page block order: 9
Pages per block:  512

Free pages count per migrate type at order       0      1      2      3      4      5      6      7      8      9     10 
Node    0, zone      DMA, type    Unmovable      0      1      1      0      2      1      1      0      1      0      0 
Node    0, zone      DMA, type  Reclaimable      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone      DMA, type      Movable      0      0      0      0      0      0      0      0      0      0      3 
Node    0, zone      DMA, type      Reserve      0      0      0      0      0      0      0      0      0      1      0 

Number of blocks type     Unmovable  Reclaimable      Movable      Reserve      Isolate 
Node 0, zone      DMA            1            0            6            1            0 
";

    pub(in crate::parse) const LINUX_4_14: &str = "\
Page block order: 9
Pages per block:  512

Free pages count per migrate type at order       0      1      2      3      4      5      6      7      8      9     10 
Node    0, zone   Normal, type    Unmovable   1217    866    312    120     38     12      4      1      0      0      0 
Node    0, zone   Normal, type      Movable >100000  30211   1021      3      0      0      0      0      0      1      5 
Node    0, zone   Normal, type  Reclaimable     11      0      1      0      0      0      0      0      0      0      0 
Node    0, zone   Normal, type   HighAtomic      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone   Normal, type          CMA      0      0      0      0      0      0      0      0      0      0      0 
Node    0, zone   Normal, type      Isolate      0      0      0      0      0      0      0      0      0      0      0 

Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic          CMA      Isolate 
Node 0, zone   Normal          310         7402          104            0            0            0 

Number of mixed blocks    Unmovable      Movable  Reclaimable   HighAtomic          CMA      Isolate 
Node 0, zone   Normal          310            0            0            0            0            0 
";

    #[test]
    fn a_kernel_with_cma_and_page_owner() {
        let zones = parse(LINUX_4_14).unwrap();
        let zone = &zones[&(NodeId(0), ZoneKind::Normal)];
        assert_eq!(zone.free[&Migratetype::Movable][0], 100_000, "a capped number reads as the cap");
        assert_eq!(zone.free[&Migratetype::Movable][10], 5);
        assert_eq!(zone.free.len(), 6);
        assert_eq!(zone.blocks[&Migratetype::Unmovable], 310);
        assert_eq!(zone.blocks[&Migratetype::Movable], 7402, "the third table is not taken for the second");
    }

    #[test]
    fn a_kernel_with_reserve_and_other_order_of_columns() {
        let zones = parse(LINUX_4_2).unwrap();
        let zone = &zones[&(NodeId(0), ZoneKind::Dma)];
        assert_eq!(zone.free[&Migratetype::HighAtomic][9], 1);
        assert_eq!(zone.blocks[&Migratetype::Movable], 6);
        assert_eq!(zone.blocks[&Migratetype::HighAtomic], 1);
    }

    #[test]
    fn tables_of_a_second_node_follow_those_of_the_first() {
        let second = LINUX_4_14.replace("Node    0", "Node    1").replace("Node 0", "Node 1");
        let zones = parse(&(LINUX_4_14.to_owned() + &second)).unwrap();
        assert_eq!(zones[&(NodeId(1), ZoneKind::Normal)], zones[&(NodeId(0), ZoneKind::Normal)]);
        assert_eq!(zones[&(NodeId(1), ZoneKind::Normal)].blocks[&Migratetype::Movable], 7402);
    }

    #[test]
    fn other_pageblock_orders_are_named() {
        let error = parse(&LINUX_4_14.replace("order: 9", "order: 13")).unwrap_err().to_string();
        assert_eq!(error, "line 1: pageblock order 13, where order9 knows 9: blocks of 2 MiB");
    }

    #[test]
    fn other_numbers_of_orders_are_named() {
        let error = parse(&LINUX_4_14.replace("     10 \n", "     10     11 \n")).unwrap_err().to_string();
        assert_eq!(error, "line 4: 12 orders, where order9 knows the 11 orders 0 to 10");
    }

    #[test]
    fn damage_is_named_by_line() {
        let error = parse(&LINUX_4_14.replace("7402", "many")).unwrap_err().to_string();
        assert!(error.starts_with("line 13: expected one number of pageblocks per type"), "{error}");
        let error = parse(&LINUX_4_14.replace("type      Movable", "type      Mobile")).unwrap_err().to_string();
        assert!(error.starts_with("line 6: expected a migratetype: Unmovable, Movable"), "{error}");
        assert!(parse("").is_err());
    }
}
