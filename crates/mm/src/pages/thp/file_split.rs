//! Splitting of a huge page of tmpfs into base pages.

use order9_frames::Idx;
use order9_units::Pages;

use super::subpages;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

impl UsedPages {
    /// Splits the huge page of a file, of which nobody but its mappings knows: all of these go, and what lies beyond the end
    /// of the file is freed on behalf of `cpu`.
    pub(super) fn split_file_page(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) {
        let Owner::File { file, index: base } = self.rmap.owner(head) else { unreachable!("it is of a file") };
        self.split_entries(head, phys);
        if self.huge.page(head).ptes > 0 {
            subpages(head).for_each(|idx| self.unmap_everywhere(idx, phys));
        }
        phys.work.rmap_walks += 1;
        phys.counters.thp_split_page += 1;
        self.take_apart(head, phys);
        self.levels.shmem_thps -= 1;
        let size = self.cache.files.size(file).map_or(0, Pages::get);
        for (index, idx) in (base..).zip(subpages(head)).filter(|&(index, _)| index >= size) {
            self.take_from_file(file, index, None, phys);
            self.disown(idx, cpu, phys);
        }
        if let Some(tags) = self.tags.as_mut().filter(|_| size < base + u64::from(super::NR)) {
            tags.discard_file(file, size, u64::MAX);
        }
    }
}
