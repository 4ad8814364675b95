//! Sets of nodes, and how Linux carries one set over to another when a cpuset changes.
//!
//! Key type: [`NodeMask`]. Text is Linux' list format: `0-1,4`.

use core::fmt;
use core::ops::{BitAnd, BitOr, Sub};

use crate::NodeId;

/// A set of nodes. Node 63 is the highest an engine has.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeMask(u64);

impl NodeMask {
    /// The mask without any node.
    pub const EMPTY: Self = Self(0);
    /// Every number that a node can have.
    pub const ALL: Self = Self(u64::MAX);

    /// The nodes whose bits are set.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// A bit for each node.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// One node; none where its number is above 63.
    #[must_use]
    pub const fn of(node: NodeId) -> Self {
        if node.0 < 64 { Self(1 << node.0) } else { Self::EMPTY }
    }

    /// Whether it holds no node.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it holds `node`.
    #[inline]
    #[must_use]
    pub const fn has(self, node: NodeId) -> bool {
        node.0 < 64 && self.0 >> node.0 & 1 != 0
    }

    /// Number of nodes in the mask.
    #[must_use]
    pub const fn weight(self) -> u64 {
        self.0.count_ones() as u64
    }

    /// The lowest node of the mask; `None` where the mask is empty.
    #[must_use]
    pub const fn first(self) -> Option<NodeId> {
        if self.0 == 0 { None } else { Some(NodeId(self.0.trailing_zeros() as u16)) }
    }

    /// The nodes of the mask in ascending order.
    pub fn iter(self) -> impl Iterator<Item = NodeId> + Clone {
        (0..64).map(NodeId).filter(move |&node| self.has(node))
    }

    /// The `n`th of its nodes, counted from 0.
    #[must_use]
    pub fn nth(self, n: u64) -> Option<NodeId> {
        self.iter().nth(usize::try_from(n).ok()?)
    }

    /// The next of its nodes behind `node`, from the lowest again after the highest.
    #[must_use]
    pub fn next_in(self, node: Option<NodeId>) -> Option<NodeId> {
        let behind = node.map_or(Self::ALL, |node| Self(u64::MAX.checked_shl(u32::from(node.0) + 1).unwrap_or(0)));
        (self & behind).first().or_else(|| self.first())
    }

    /// Whether all its nodes are in `other`.
    #[must_use]
    pub const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The node that stands for `node` when the set `old` becomes `new`: the one at the same place, from the first again
    /// where `new` is smaller. A node that is not in `old` stands for itself.
    #[must_use]
    pub fn remap_node(node: NodeId, old: Self, new: Self) -> NodeId {
        if !old.has(node) || new.is_empty() {
            return node;
        }
        let below = Self((1 << node.0) - 1);
        new.nth((old & below).weight() % new.weight()).unwrap_or(node)
    }

    /// The nodes that stand for these when the set `old` becomes `new`, each as [`NodeMask::remap_node`].
    #[must_use]
    pub fn remap(self, old: Self, new: Self) -> Self {
        self.iter().map(|node| Self::remap_node(node, old, new)).collect()
    }

    /// The nodes of `of` at the places that these number, counted modulo the size of `of`: `MPOL_F_RELATIVE_NODES`.
    #[must_use]
    pub fn relative_to(self, of: Self) -> Self {
        if of.is_empty() {
            return Self::EMPTY;
        }
        self.iter().filter_map(|place| of.nth(u64::from(place.0) % of.weight())).collect()
    }

    /// Reads Linux' list format: numbers and ranges, separated by commas. The empty text is the empty set; `None` for
    /// anything else, and for numbers above 63.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::EMPTY);
        }
        text.split(',').try_fold(Self::EMPTY, |mask, part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let node =
                |number: &str| number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse::<u16>().ok());
            let (first, last) = (node(first)??, node(last)??);
            (first <= last && last < 64).then(|| mask | (first..=last).map(NodeId).collect())
        })
    }
}

impl FromIterator<NodeId> for NodeMask {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        nodes.into_iter().fold(Self::EMPTY, |mask, node| mask | Self::of(node))
    }
}

impl BitAnd for NodeMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for NodeMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for NodeMask {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Linux' list format.
impl fmt::Display for NodeMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.iter().map(|node| usize::from(node.0)))
    }
}

/// Writes ascending numbers in Linux' list format: `0-1,4`.
///
/// # Errors
/// Those of `out`.
pub fn write_list(out: &mut impl fmt::Write, numbers: impl Iterator<Item = usize>) -> fmt::Result {
    let mut numbers = numbers.peekable();
    let mut comma = "";
    while let Some(first) = numbers.next() {
        let mut last = first;
        while let Some(next) = numbers.next_if_eq(&(last + 1)) {
            last = next;
        }
        match last == first {
            true => write!(out, "{comma}{first}")?,
            false => write!(out, "{comma}{first}-{last}")?,
        }
        comma = ",";
    }
    Ok(())
}

impl fmt::Debug for NodeMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeMask({self})")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;

    fn mask(text: &str) -> NodeMask {
        NodeMask::parse(text).expect("a list of nodes")
    }

    #[test]
    fn lists_are_read_and_written_as_linux_has_them() {
        for text in ["", "0", "63", "0-1", "0,2", "0-3,5,62-63"] {
            assert_eq!(mask(text).to_string(), text);
        }
        assert_eq!(mask("1,0,1-2").to_string(), "0-2");
        for wrong in ["64", "1-", "-1", "2-1", "a", "0,", "+1", "0 1", "99999999999"] {
            assert_eq!(NodeMask::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nodes_follow_each_other_in_a_circle() {
        let nodes = mask("1,3,63");
        let after = |node: u16| nodes.next_in(Some(NodeId(node))).map(|node| node.0);
        assert_eq!((nodes.next_in(None), after(1), after(2), after(63)), (Some(NodeId(1)), Some(3), Some(3), Some(1)));
        assert_eq!(NodeMask::EMPTY.next_in(None), None);
    }

    #[test]
    fn a_set_is_carried_over_by_place() {
        // The examples of Documentation/admin-guide/mm/numa_memory_policy.rst and cpuset(7) are of this kind.
        assert_eq!(mask("1-3").remap(mask("0-3"), mask("4-7")), mask("5-7"));
        assert_eq!(mask("0,3").remap(mask("0-3"), mask("5-6")), mask("5-6"));
        assert_eq!(mask("0,7").remap(mask("0-3"), mask("2")), mask("2,7"), "node 7 stands for itself");
        assert_eq!(mask("0,2-5").relative_to(mask("3-6")), mask("3-6"), "wraps around: 3, 5, 6, 3, 4");
        assert_eq!(mask("0,2").relative_to(mask("4,6,9")), mask("4,9"));
        assert_eq!(mask("0").relative_to(NodeMask::EMPTY), NodeMask::EMPTY);
    }
}
