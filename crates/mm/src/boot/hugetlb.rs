//! Pools of huge pages that a machine starts with.

use order9_frames::{BuildError, Contents};
use order9_units::{Order, Pfn};

use crate::boot::MmBuilder;
use crate::pages::hugetlb::UsedPage;
use crate::space::Owner;

impl MmBuilder {
    /// Makes the frames at `pfn` a page of the pool of their node; one that is in use stays so, since nobody here can end that.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn hugetlb(&mut self, pfn: Pfn, in_use: bool) -> Result<(), BuildError> {
        self.allocate(pfn, Order::PAGEBLOCK, Contents::Fixed)?;
        let head = self.mm.phys.frames.at(pfn);
        self.mm.pages.rmap.make_room(self.mm.phys.frames.table().len());
        self.mm.pages.rmap.adopt(head, Owner::Hugetlb, &mut self.mm.phys);
        let node = self.mm.phys.node_of(head);
        let pool = self.mm.pages.hugetlb.node(node);
        pool.total += 1;
        if in_use {
            self.mm.pages.hugetlb.used.insert(head.0, UsedPage { mappings: 0, shared: true });
        } else {
            pool.free.push(head);
        }
        Ok(())
    }
}
