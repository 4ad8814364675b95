//! /proc/buddyinfo: free blocks of each zone by order.

use std::collections::BTreeMap;

use order9_units::{NodeId, Order, ZoneKind};

use super::{ParseError, lines};

/// Free blocks per order of every zone that has pages.
pub(crate) type FreeBlocks = BTreeMap<(NodeId, ZoneKind), [u64; Order::COUNT]>;

/// Reads /proc/buddyinfo. Fails on a number of orders other than 0 to 10.
pub(crate) fn parse(text: &str) -> Result<FreeBlocks, ParseError> {
    let mut blocks = FreeBlocks::new();
    for line in lines(text) {
        let zone = line.zone()?;
        let counts = line.per_order(zone.rest.split_whitespace())?;
        if let Some(kind) = zone.kind {
            blocks.insert((zone.node, kind), counts);
        }
    }
    Ok(blocks)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::parse) const TWO_NODES: &str = "\
Node 0, zone      DMA      1      1      1      0      2      1      1      0      1      1      3 
Node 0, zone   Normal    216     55    189    101     84     38     37     27      5      3    587 
Node 1, zone   Normal      0      0      0      0      0      0      0      0      0      0      7 
Node 1, zone   Device      0      0      0      0      0      0      0      0      0      0      0 
";

    #[test]
    fn zones_of_two_nodes() {
        let blocks = parse(TWO_NODES).unwrap();
        assert_eq!(blocks.len(), 3, "Device is left out");
        assert_eq!(blocks[&(NodeId(0), ZoneKind::Normal)][10], 587);
        assert_eq!(blocks[&(NodeId(1), ZoneKind::Normal)][10], 7);
        assert_eq!(blocks[&(NodeId(0), ZoneKind::Dma)][4], 2);
    }

    #[test]
    fn other_numbers_of_orders_are_named() {
        let fourteen = "Node 0, zone      DMA 1 2 3 4 5 6 7 8 9 10 11 12 13 14\n";
        let error = parse(fourteen).unwrap_err().to_string();
        assert_eq!(error, "line 1: 14 orders, where order9 knows the 11 orders 0 to 10");
    }

    #[test]
    fn zones_of_other_architectures_are_named() {
        let highmem = "Node 0, zone  HighMem 1 2 3 4 5 6 7 8 9 10 11\n";
        let error = parse(highmem).unwrap_err().to_string();
        assert!(error.starts_with("line 1: zone `HighMem`, where order9 knows DMA, DMA32"), "{error}");
    }

    #[test]
    fn garbage_is_shown_with_its_line() {
        let error = parse("\nno such thing\n").unwrap_err().to_string();
        assert_eq!(error, "line 2: expected `Node N, zone NAME`");
    }
}
