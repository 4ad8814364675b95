//! Changes of a space's set of mappings: split, merge, modify; the files behind them always know who maps them.

use alloc::vec::Vec;

use super::{Errno, Mapping, SpaceId, Vma};
use crate::addr::{Vpn, VpnRange};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;

impl UsedPages {
    /// Changes all mappings in `range` as [`UsedPages::modify_vmas`] does. A huge mapping that a new edge cuts is split.
    ///
    /// # Errors
    /// As there, and `EINVAL` where an edge would cut a page of a hugetlb pool.
    pub(crate) fn modify(
        &mut self,
        id: SpaceId,
        range: VpnRange,
        change: impl Fn(&mut Vma),
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        let changes = |vma: &Vma| {
            let mut after = *vma;
            change(&mut after);
            after != *vma
        };
        let vmas = &self.spaces.living(id).vmas;
        let cuts = |edge: Vpn| vmas.find(edge).is_some_and(|vma| vma.range.start < edge && changes(vma));
        for edge in [range.start, range.end].into_iter().filter(|&edge| cuts(edge)).collect::<Vec<_>>() {
            if self.spaces.living(id).vmas.find(edge).is_some_and(|vma| Self::cuts_hugetlb(vma, edge)) {
                return Err(Errno::Einval);
            }
            self.split_pmd_at_edge(id, edge, phys);
        }
        self.modify_vmas(id, range, change)
    }
}

impl UsedPages {
    /// Adds a mapping where there is none.
    pub(crate) fn insert_vma(&mut self, id: SpaceId, vma: Vma) {
        if let Some(file) = vma.kind.file() {
            self.cache.files.ensure(file).mapped_by.insert(Mapping { space: id, vpn: vma.range.start }, vma.places());
        }
        self.hugetlb.count_vma(vma.kind, u32::wrapping_add);
        self.spaces.living(id).vmas.insert(vma);
    }

    /// Removes the mapping that starts at `start`; its file stays, even if this was its last use.
    pub(super) fn remove_vma(&mut self, id: SpaceId, start: Vpn) -> Vma {
        let vma = self.spaces.living(id).vmas.remove(start);
        if let Some(file) = vma.kind.file() {
            self.cache.file_mut(file).mapped_by.remove(&Mapping { space: id, vpn: start });
        }
        self.hugetlb.count_vma(vma.kind, u32::wrapping_sub);
        vma
    }

    /// Makes `at` an edge of the mapping that holds it, as [`UsedPages::split_at`], within the limit.
    ///
    /// # Errors
    /// `ENOMEM` where that would be one mapping too many.
    fn split_within_limit(&mut self, id: SpaceId, at: Vpn) -> Result<(), Errno> {
        let limit = self.spaces.map_limit.now;
        let vmas = &self.spaces.living(id).vmas;
        if vmas.len() >= limit && vmas.find(at).is_some_and(|vma| vma.range.start != at) {
            return Err(Errno::Enomem);
        }
        self.split_at(id, at);
        Ok(())
    }

    /// Makes `at` an edge of the mapping that holds it, if one does.
    pub(super) fn split_at(&mut self, id: SpaceId, at: Vpn) {
        let vmas = &self.spaces.living(id).vmas;
        let Some(&whole) = vmas.find(at).filter(|vma| vma.range.start != at) else { return };
        let VpnRange { start, end } = whole.range;
        self.remove_vma(id, start);
        self.insert_vma(id, Vma { range: VpnRange::new(start, at), ..whole });
        self.insert_vma(id, Vma { range: VpnRange::new(at, end), offset: whole.index(at), ..whole });
    }

    /// Makes one mapping of the two that meet at `at`, where one continues the other.
    pub(super) fn merge_at(&mut self, id: SpaceId, at: Vpn) {
        if let Some((low, high)) = self.spaces.living(id).vmas.joint(at) {
            self.remove_vma(id, low.range.start);
            self.remove_vma(id, at);
            let range = VpnRange::new(low.range.start, high.range.end);
            self.insert_vma(id, Vma { range, touched: low.touched || high.touched, ..low });
        }
    }

    /// Changes all mappings in `range`, splitting those that reach beyond and merging what has become alike.
    ///
    /// # Errors
    /// `ENOMEM` where splitting would make too many mappings; nothing has changed then, apart from a split.
    pub(super) fn modify_vmas(&mut self, id: SpaceId, range: VpnRange, change: impl Fn(&mut Vma)) -> Result<(), Errno> {
        let within = |user: &mut Self| user.spaces.living(id).vmas.within(range).map(|vma| vma.range.start).collect();
        self.split_within_limit(id, range.start)?;
        self.split_within_limit(id, range.end)?;
        let starts: alloc::vec::Vec<Vpn> = within(self);
        for &start in &starts {
            let mut vma = self.remove_vma(id, start);
            change(&mut vma);
            self.insert_vma(id, vma);
        }
        for at in starts.into_iter().chain([range.end]) {
            self.merge_at(id, at);
        }
        Ok(())
    }
}

impl Spaces {
    /// A space the caller has looked up before.
    pub(crate) fn living(&mut self, id: SpaceId) -> &mut super::Space {
        self.get_mut(id).expect("the space was found at the start of the operation")
    }
}
