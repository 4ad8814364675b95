//! What pages hold, as far as that is followed: tags of what was written last. See `crate::tags`.

use super::addr::Vpn;
use super::fault::Access;
use super::{Mapping, Owner, SpaceId, VmaKind};
use crate::Mm;
use crate::frame::Idx;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    #[inline]
    pub(crate) fn clear_page(&mut self, idx: Idx) {
        self.work.pages_cleared += 1;
        if let Some(tags) = &mut self.user.tags {
            tags.clear(idx);
        }
    }

    pub(crate) fn copy_page(&mut self, from: Idx, to: Idx) {
        self.work.pages_copied += 1;
        if let Some(tags) = &mut self.user.tags {
            tags.copy(from, to);
        }
    }

    /// Gives a page that a program has just written a new tag, where contents are tracked.
    #[inline]
    pub(crate) fn wrote(&mut self, id: SpaceId, vpn: Vpn, access: Access) {
        if access == Access::Write && self.user.tags.is_some() {
            self.tag_written(id, vpn);
        }
    }

    #[cold]
    fn tag_written(&mut self, id: SpaceId, vpn: Vpn) {
        let space = self.user.living(id);
        let idx = space.table.get(vpn).idx().expect("a written page is present");
        let vma = *space.vmas.find(vpn).expect("a written page is mapped");
        let behind = vma.kind.file().map(|file| (file, vma.index(vpn)));
        let owner = self.user.rmap.owner(idx);
        if let VmaKind::Hugetlb { shared: true, .. } = vma.kind {
            return; // Only what a space alone writes is followed.
        }
        let Some(tags) = &mut self.user.tags else { return };
        match owner {
            Owner::File { file, index } => tags.write_file(idx, file, index),
            _ => tags.write_private(idx, Mapping { space: id, vpn }, behind),
        }
    }
}
