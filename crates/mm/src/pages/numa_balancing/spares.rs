//! Mappings and pages that keep their access when a scan comes by.

use order9_frames::Idx;
use order9_units::NodeId;

use super::NumaTask;
use crate::lru_list::LruType;
use crate::mempolicy::SpaceTask;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::ScanSpares;
use crate::space::{Owner, Prot, Vma, VmaKind};

/// Pages of one mapping that are spared.
pub(super) struct Spared {
    /// Pages on this node.
    home: Option<NodeId>,
    /// Pages that several map.
    shared: bool,
    /// Dirty pages of files.
    dirty: bool,
}

impl UsedPages {
    /// Whether a scan has nothing to ask about a mapping, whoever uses it: pages that cannot move, or must not, or belong
    /// to everybody, as the read-only ones of programs and libraries do.
    pub(super) fn is_never_scanned(&self, task: SpaceTask, vma: &Vma) -> bool {
        let read_only_file = vma.kind.file().is_some() && vma.prot.has(Prot::READ) && !vma.prot.has(Prot::WRITE);
        let pool = matches!(vma.kind, VmaKind::Hugetlb { .. });
        pool || vma.prot == Prot::NONE || read_only_file || !self.policy_moves_on_fault(task, vma)
    }

    /// Whether a base page keeps its access.
    pub(super) fn is_spared(&self, idx: Idx, spared: &Spared, phys: &PhysMem) -> bool {
        if spared.home.is_some_and(|home| phys.node_of(idx) == home) {
            return true;
        }
        let owner = self.rmap.owner(idx);
        let single = matches!(owner, Owner::Anon(_));
        if spared.shared && !single && self.mapcount_for_scans(idx, owner, phys) > 1 {
            return true;
        }
        spared.dirty && matches!(owner, Owner::File { .. }) && phys.is_dirty_file_page(idx)
    }

    fn mapcount_for_scans(&self, idx: Idx, owner: Owner, phys: &PhysMem) -> u32 {
        match self.rmap.huge_head(idx, phys) {
            Some(_) => self.subpage_mapcount(idx, phys),
            None => self.cache.mapcount_of(owner),
        }
    }
}

impl PhysMem {
    /// Pages of a mapping that are spared when a task scans it.
    pub(super) fn spared(&self, vma: &Vma, task: NumaTask) -> Spared {
        let spares = self.policy.numa_balancing.spares;
        let alone = task.threads == 1 && vma.kind.is_private();
        let home = (spares >= ScanSpares::Home && alone).then(|| self.node_of_cpu(task.cpu));
        let shared = spares >= ScanSpares::Shared && vma.kind.is_private();
        Spared { home, shared, dirty: spares >= ScanSpares::DirtyFiles }
    }

    /// Whether a page of a file has to be written back before it is clean.
    pub(super) fn is_dirty_file_page(&self, idx: Idx) -> bool {
        let word = self.page_word(idx);
        word.lru_type() == LruType::File && word.has(PageFlag::Dirty)
    }
}
