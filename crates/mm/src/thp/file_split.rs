//! Splitting of a huge page of tmpfs into base pages.

use order9_frames::Idx;
use order9_units::Pages;

use super::subpages;
use crate::Mm;
use crate::space::Owner;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// Splits the huge page of a file, of which nobody but its mappings knows: all of these go, and what lies beyond the end
    /// of the file is freed on behalf of `cpu`.
    pub(super) fn split_file_page(&mut self, head: Idx, cpu: usize) {
        let Owner::File { file, index: base } = self.user.rmap.owner(head) else { unreachable!("it is of a file") };
        for at in self.user.huge.page(head).pmds.clone() {
            self.split_entry(at.space, at.vpn);
        }
        if self.user.huge.page(head).ptes > 0 {
            subpages(head).for_each(|idx| self.unmap_everywhere(idx));
        }
        self.work.rmap_walks += 1;
        self.counters.thp_split_page += 1;
        self.take_apart(head);
        self.user.levels.shmem_thps -= 1;
        let size = self.user.files.size(file).map_or(0, Pages::get);
        for (index, idx) in (base..).zip(subpages(head)).filter(|&(index, _)| index >= size) {
            self.take_from_file(file, index, None);
            self.disown(idx, cpu);
        }
        if let Some(tags) = self.user.tags.as_mut().filter(|_| size < base + u64::from(super::NR)) {
            tags.discard_file(file, size, u64::MAX);
        }
    }
}
