//! [`Uses`]: how often a page was used since somebody last asked.

use order9_frames::Idx;

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Prot, PteFlag};

/// Accesses by way of the mappings of a page since they were last asked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Uses {
    pub(crate) young: u32,
    /// One of them through an executable mapping.
    pub(crate) executable: bool,
    /// A locked mapping shows part of a larger page that is evictable: what it shows must stay.
    pub(crate) locked_in_part: bool,
}

impl UsedPages {
    /// Counts the mappings by which a page was accessed, and forgets the accesses.
    pub(crate) fn take_uses(&mut self, idx: Idx, phys: &mut PhysMem) -> Uses {
        phys.work.rmap_walks += 1;
        if phys.frames.word(idx).is_compound() {
            return self.take_huge_uses(idx, phys);
        }
        let mut uses = Uses::default();
        for &at in &*self.mappings_of(idx, phys) {
            let space = self.spaces.living(at.space);
            let Some(table) = space.table.table_mut(at.vpn) else { continue };
            let pte = table.get(at.vpn);
            if pte.has(PteFlag::Young) {
                table.set(at.vpn, pte.with(PteFlag::Young, false));
                uses.young += 1;
                uses.executable |= space.vmas.find(at.vpn).is_some_and(|vma| vma.prot.has(Prot::EXEC));
            }
        }
        uses
    }
}
