//! The queue of dirty files in the order in which they became dirty, linked through the files: all steps are O(1).

use order9_units::Nanos;

use super::file::{File, FileTable, QueueLink};
use crate::ids::FileId;

/// End of the queue.
const END: u32 = u32::MAX;

impl FileTable {
    /// The file that has been dirty for longest.
    pub(super) fn oldest_dirty(&self) -> Option<&File> {
        self.queue.map(|(first, _)| &self.files[first as usize])
    }

    /// Every file of the queue.
    pub(super) fn queued(&self) -> impl Iterator<Item = &File> {
        let file = |at: u32| (at != END).then(|| &self.files[at as usize]);
        core::iter::successors(self.oldest_dirty(), move |before| file(before.queue.next))
    }

    /// Adds a file to the end, unless it is in the queue already.
    pub(crate) fn enqueue(&mut self, id: FileId, now: Nanos) {
        let at = self.ensure_at(id);
        let file = &mut self.files[at as usize];
        if file.queue.queued {
            return;
        }
        let last = self.queue.map_or(END, |(_, last)| last);
        (file.queue, file.dirtied_when) = (QueueLink { prev: last, next: END, queued: true }, now);
        match &mut self.queue {
            Some((_, end)) => {
                self.files[last as usize].queue.next = at;
                *end = at;
            }
            None => self.queue = Some((at, at)),
        }
    }

    /// Takes a file out of the queue, if it is there.
    pub(super) fn dequeue(&mut self, id: FileId) {
        let Some(file) = self.get_mut(id).filter(|file| file.queue.queued) else { return };
        let QueueLink { prev, next, .. } = core::mem::take(&mut file.queue);
        let (mut first, mut last) = self.queue.expect("a file is in it");
        match prev {
            END => first = next,
            prev => self.files[prev as usize].queue.next = next,
        }
        match next {
            END => last = prev,
            next => self.files[next as usize].queue.prev = prev,
        }
        self.queue = (first != END).then_some((first, last));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use order9_units::Pages;

    use super::super::file::Home;
    use super::*;

    #[test]
    fn files_leave_the_queue_from_anywhere() {
        let mut table = FileTable::default();
        let ids: Vec<FileId> = (0..4).filter_map(|_| table.create(Pages::ZERO, Home::Disk)).collect();
        let order = |table: &FileTable| table.queued().map(|file| file.id.0).collect::<Vec<_>>();
        for (now, &id) in (0..).zip(&ids) {
            table.enqueue(id, Nanos::new(now));
        }
        table.enqueue(ids[0], Nanos::new(9));
        assert_eq!(order(&table), [0, 1, 2, 3], "the first time counts");
        table.dequeue(ids[1]);
        table.dequeue(ids[3]);
        table.dequeue(ids[3]);
        assert_eq!(order(&table), [0, 2]);
        table.dequeue(ids[0]);
        table.enqueue(ids[1], Nanos::new(10));
        assert_eq!(order(&table), [2, 1]);
        [2, 1].into_iter().for_each(|at| table.dequeue(ids[at]));
        assert_eq!((order(&table), table.queue), (Vec::new(), None));
    }
}
