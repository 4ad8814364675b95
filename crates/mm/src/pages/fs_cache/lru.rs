//! Lists of unused objects, one per node, linked by the numbers of the objects: eight bytes each.

use alloc::vec::Vec;

/// End of a list.
const END: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
    len: u64,
}

/// Unused objects of one cache by node, the longest unused first. Which objects are listed their owner knows.
#[derive(Clone)]
pub(super) struct ObjectLru {
    links: Vec<Link>,
    lists: Vec<List>,
}

impl ObjectLru {
    pub(super) fn new(nodes: usize) -> Self {
        Self { links: Vec::new(), lists: alloc::vec![List { first: END, last: END, len: 0 }; nodes] }
    }

    pub(super) fn len(&self, node: usize) -> u64 {
        self.lists[node].len
    }

    pub(super) fn first(&self, node: usize) -> Option<u32> {
        let first = self.lists[node].first;
        (first != END).then_some(first)
    }

    /// Every object of the list.
    pub(super) fn iter(&self, node: usize) -> impl Iterator<Item = u32> {
        let link = |object: u32| (object != END).then_some(object);
        core::iter::successors(link(self.lists[node].first), move |&object| link(self.links[object as usize].next))
    }

    /// Adds an object that is not listed, as the one used last.
    pub(super) fn push(&mut self, node: usize, object: u32) {
        if self.links.len() <= object as usize {
            self.links.resize(object as usize + 1, Link { prev: END, next: END });
        }
        let prev = self.lists[node].last;
        self.links[object as usize] = Link { prev, next: END };
        self.join(node, prev, object);
        self.lists[node].last = object;
        self.lists[node].len += 1;
    }

    /// Takes a listed object off.
    pub(super) fn remove(&mut self, node: usize, object: u32) {
        let Link { prev, next } = self.links[object as usize];
        self.join(node, prev, next);
        match next {
            END => self.lists[node].last = prev,
            next => self.links[next as usize].prev = prev,
        }
        self.lists[node].len -= 1;
    }

    /// Makes a listed object the one used last.
    pub(super) fn rotate(&mut self, node: usize, object: u32) {
        self.remove(node, object);
        self.push(node, object);
    }

    /// Makes `next` follow `prev`, which can be the head of the list.
    fn join(&mut self, node: usize, prev: u32, next: u32) {
        match prev {
            END => self.lists[node].first = next,
            prev => self.links[prev as usize].next = next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_order_and_length() {
        let mut lru = ObjectLru::new(2);
        [5, 0, 9].into_iter().for_each(|object| lru.push(0, object));
        lru.push(1, 7);
        lru.rotate(0, 5);
        assert_eq!((lru.iter(0).collect::<Vec<_>>(), lru.first(1)), (alloc::vec![0, 9, 5], Some(7)));
        lru.remove(0, 9);
        lru.remove(1, 7);
        assert_eq!((lru.iter(0).collect::<Vec<_>>(), lru.len(0), lru.first(1)), (alloc::vec![0, 5], 2, None));
        lru.remove(0, 5);
        lru.remove(0, 0);
        lru.push(0, 0);
        assert_eq!(lru.iter(0).collect::<Vec<_>>(), [0]);
    }
}
