//! The fault that programs make most, as one step: the first write to a page of their own, in a slot that has a page table.
//!
//! `resolve` takes two steps with an allocation between them, and looks again at everything after it; here nothing can have
//! changed. The outcome is the same. Every other fault is left to `resolve`, and so is this one where memory is short.

use order9_frames::{Idx, Request};
use order9_units::Order;

use super::fault::{Access, Need};
use super::pte::{Pte, PteFlag};
use super::{Mapping, Owner, Space, VmaKind};
use crate::addr::Vpn;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Outcome of an attempt to give an access a page of zeros at once.
pub(super) enum Zeroed {
    /// The page is mapped, and the fault is over.
    Mapped,
    /// The free lists did not give one.
    Refused,
    /// The access may need something else.
    Other,
}

impl UsedPages {
    /// Maps a page of zeros where an access to `at` by a program on `cpu` needs nothing else. Else the fault is still to be
    /// begun.
    #[inline]
    pub(super) fn map_zeroed(&mut self, at: Mapping, access: Access, cpu: usize, phys: &mut PhysMem) -> Zeroed {
        let Some(locked) = self.is_locked_if_plain(at, access, phys) else { return Zeroed::Other };
        let plain = Request::new(Order::ZERO, Need::Zeroed.gfp());
        let request = Request { node: phys.node_of_cpu(cpu), cpu, ..plain };
        let Ok(page) = self.alloc_fast(&request, phys) else { return Zeroed::Refused };
        phys.work.faults += 1;
        phys.work.vma_lookups += 1;
        phys.counters.pgfault += 1;
        let idx = phys.frames.at(page);
        self.spaces.living(at.space).map_anon(at.vpn, idx, phys);
        self.clear_page(idx, phys);
        self.own_anon(at, idx, locked, phys);
        self.wrote_base(at.space, at.vpn);
        Zeroed::Mapped
    }

    /// Whether the mapping is locked, if an access to `at` needs a page of zeros and nothing else.
    #[inline]
    fn is_locked_if_plain(&mut self, at: Mapping, access: Access, phys: &PhysMem) -> Option<bool> {
        if access != Access::Write || self.mempolicies.in_use || phys.settings.thp.sizes.has_small() {
            return None;
        }
        let space = self.spaces.get_mut(at.space).ok()?;
        if space.table.table_mut(at.vpn)?.get(at.vpn) != Pte::NONE {
            return None;
        }
        let vma = space.vmas.find_for_fault(at.vpn)?;
        let is_plain = vma.kind == VmaKind::Anon && vma.touched && access.allowed_by(vma.prot);
        is_plain.then_some(vma.locked)
    }

    /// Makes a fresh page the anonymous one of a mapping alone.
    #[inline]
    pub(super) fn own_anon(&mut self, at: Mapping, idx: Idx, locked: bool, phys: &mut PhysMem) {
        self.adopt_anon(idx, Owner::Anon(at), locked, phys);
        self.levels.anon += 1;
    }
}

impl Space {
    /// Sets the entry of a slot with a page table to that of an anonymous page that is about to be written.
    #[inline]
    pub(super) fn map_anon(&mut self, vpn: Vpn, idx: Idx, phys: &mut PhysMem) {
        let entry = Access::Write.mark(Pte::present(idx)).with(PteFlag::Write, true);
        self.table.table_mut(vpn).expect("the slot has a table").set(vpn, entry);
        self.rss.anon_pages += 1;
        phys.work.ptes_set += 1;
    }
}
