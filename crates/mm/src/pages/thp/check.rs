//! Recounts the laws of huge pages from page tables, reverse mappings and frames.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use order9_frames::{Flag, Idx, Verdict, Violation, require};
use order9_units::Order;

use super::{HugePage, HugeSize, NR, subpages};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Rmap;
use crate::space::{Huge, Mapping, Owner, Prot, PteFlag, SpaceId, TASK_END, Vma, VmaKind, Vpn, VpnRange};
use crate::tags::Tag;
use crate::thp::HugeMemory;

/// Sums over page tables and frames.
#[derive(Default)]
struct Seen {
    /// Huge mappings, by the first frame of their page.
    pmds: BTreeMap<u32, Vec<Mapping>>,
    /// Number of holders of the huge page of zeros.
    zero_users: u64,
    thps: u64,
    /// Huge pages of files, and those with a huge mapping.
    shmem: (u64, u64),
    queued: u64,
}

impl UsedPages {
    /// Checks every law of huge pages. Levels and counts of spaces, of which they are part, are checked with those.
    pub(crate) fn check_thp(&self, phys: &PhysMem) -> Verdict {
        let turn = self.huge.khugepaged.last_node;
        require(
            turn.is_none_or(|node| node.index() < phys.frames.nodes().len()),
            "khugepaged has last been to a node that there is",
            || format!("{turn:?}"),
        )?;
        let mut seen = Seen::default();
        for (id, space) in self.spaces.iter() {
            for (slot, huge) in space.table.huge_slots(VpnRange::new(Vpn::new(0), TASK_END)) {
                let at = Mapping { space: id, vpn: slot.start };
                let vma = space.vmas.find(slot.start).filter(|vma| slot.intersect(vma.range) == slot);
                require(vma.is_some(), "a huge mapping lies in one mapping", || format!("{at:?}"))?;
                if let Some(vma) = vma {
                    self.check_huge_entry(at, huge, vma, &mut seen, phys)?;
                }
            }
            self.rmap.check_spare(id, space.spare_table)?;
            seen.zero_users += u64::from(space.holds_huge_zero);
        }
        let is_huge = |head: Idx| self.rmap.owner(head) == Owner::Huge || self.is_large_folio(head, phys);
        let stale = self.huge.small.keys().find(|&&head| !is_huge(Idx(head)));
        require(stale.is_none(), "small huge pages that have ended are forgotten", || format!("{stale:?}"))?;
        for head in self.huge.heads() {
            if self.rmap.owner(head) == Owner::Huge {
                self.check_huge_page(head, &mut seen, phys)?;
            } else if self.is_large_folio(head, phys) {
                self.check_mapped_folio(head, phys)?;
            } else if self.rmap.file_folio_head(head, phys).is_some() {
                self.check_huge_file_page(head, &mut seen, phys)?;
            } else {
                let page = self.huge.page(head);
                let empty = page.pmds.is_empty() && page.mapped == 0 && page.ptes == 0 && page.queued.is_none();
                require(empty, "nothing is known of what is no huge page", || format!("{:?}", phys.frames.pfn(head)))?;
            }
        }
        let left = seen.pmds.keys().next();
        require(left.is_none(), "a huge mapping shows a huge page", || format!("{left:?}"))?;
        require(seen.thps == self.levels.anon_thps, "nr_anon_transparent_hugepages equals a recount", || {
            format!("{} by frames, {} counted", seen.thps, self.levels.anon_thps)
        })?;
        let shmem = (self.levels.shmem_thps, self.levels.shmem_pmdmapped);
        require(seen.shmem == shmem, "nr_shmem_hugepages and nr_shmem_pmdmapped equal a recount", || {
            format!("{:?} by frames, {shmem:?} counted", seen.shmem)
        })?;
        let queued: u64 = self.huge.queues.iter().map(|queue| queue.len() as u64).sum();
        require(seen.queued == queued, "the deferred split queue holds huge pages that know it", || {
            format!("{} pages, {queued} in queues", seen.queued)
        })?;
        self.check_huge_zero(&seen, phys)
    }

    fn check_huge_entry(&self, at: Mapping, huge: Huge, vma: &Vma, seen: &mut Seen, phys: &PhysMem) -> Verdict {
        let of_file = self.rmap.is_of_file(huge, phys);
        let table = huge.deposit.map(|deposit| self.rmap.owner(deposit));
        let kept = if of_file { table.is_none() } else { table == Some(Owner::PageTable(at)) };
        require(kept, "the page table kept for a split knows its slot, pages of files keep none", || {
            format!("{at:?}: {table:?}")
        })?;
        require(
            huge.pte.answered().has(PteFlag::Access) == (vma.prot != Prot::NONE),
            "a huge entry is accessible as its mapping is",
            || format!("{at:?}: {:?}", vma.prot),
        )?;
        self.balancing.check_hinting(at, huge.pte)?;
        let writable = huge.pte.has(PteFlag::Write);
        require(!writable || vma.prot.has(Prot::WRITE), "a huge entry is writable only if its mapping is", || {
            format!("{at:?} in {:?}", vma.prot)
        })?;
        if of_file {
            return self.rmap.check_huge_file_entry(at, huge, vma, seen);
        }
        require(vma.touched && vma.kind == VmaKind::Anon, "anonymous huge pages lie in anonymous mappings", || {
            format!("{at:?}")
        })?;
        let Some(head) = huge.head() else {
            let by_slot = phys.policy.thp.zero_by_slot;
            seen.zero_users += u64::from(by_slot);
            let holds = by_slot || self.spaces.get(at.space).is_ok_and(|space| space.holds_huge_zero);
            let sound = !writable && holds && self.huge.zero.is_some();
            return require(sound, "the huge page of zeros is there, held and read-only", || format!("{at:?}"));
        };
        let whole = self.rmap.owner(head) == Owner::Huge && phys.frames.word(head).order() == Order::PAGEBLOCK;
        require(whole, "a huge entry names the first frame of a huge page", || {
            format!("{at:?} maps {:?}: {:?}", phys.frames.pfn(head), self.rmap.owner(head))
        })?;
        require(!writable || self.huge.is_huge_exclusive(head), "a huge page that several map is read-only", || {
            format!("{at:?} may write {:?}", phys.frames.pfn(head))
        })?;
        seen.pmds.entry(head.0).or_default().push(at);
        Ok(())
    }

    fn check_huge_file_page(&self, head: Idx, seen: &mut Seen, phys: &PhysMem) -> Verdict {
        let Owner::File { file, index: base } = self.rmap.owner(head) else { unreachable!("it is of a file") };
        let pfn = phys.frames.pfn(head);
        phys.check_huge_frames(head)?;
        let order = phys.frames.word(head).order();
        require(order == Order::PAGEBLOCK, "huge pages of files have 2 MiB", || format!("{pfn:?}: {order:?}"))?;
        let places = (base..).zip(subpages(head));
        let in_order = base % u64::from(NR) == 0
            && places.clone().all(|(index, idx)| self.rmap.owner(idx) == Owner::File { file, index });
        require(in_order, "a huge page of a file fills an aligned range of it", || {
            format!("{pfn:?}: {file:?} {base}")
        })?;
        let size = self.cache.files.size(file).map_or(0, order9_units::Pages::get);
        require(base < size, "a huge page of a file begins before its end", || format!("{pfn:?}: {base} of {size}"))?;
        let page = self.huge.page(head);
        self.huge.check_named(head, seen, phys)?;
        let mappings = |index| self.cache.file(file).map_or(0, |file| file.mappings(index));
        self.huge.check_mappings(head, places.map(|(index, _)| mappings(index)), phys)?;
        seen.shmem.0 += 1;
        seen.shmem.1 += u64::from(!page.pmds.is_empty());
        require(page.queued.is_none(), "pages of files do not wait for their split", || format!("{pfn:?}"))
    }

    /// Single entries alone map a large folio of a file on disk.
    fn check_mapped_folio(&self, head: Idx, phys: &PhysMem) -> Verdict {
        let Owner::File { file, index } = self.rmap.owner(head) else { unreachable!("it is of a file") };
        let page = self.huge.page(head);
        let single = page.pmds.is_empty() && page.queued.is_none();
        require(single, "a large folio on disk has no huge mapping", || format!("{:?}", phys.frames.pfn(head)))?;
        let mappings = |index| self.cache.file(file).map_or(0, |file| file.mappings(index));
        let of_each = phys.folio(index, head).places().map(|(index, _)| mappings(index));
        self.huge.check_mappings(head, of_each, phys).map(drop)
    }

    fn check_huge_page(&self, head: Idx, seen: &mut Seen, phys: &PhysMem) -> Verdict {
        let (pfn, page) = (phys.frames.pfn(head), self.huge.page(head));
        phys.check_huge_frames(head)?;
        let named = &page.pmds;
        self.huge.check_named(head, seen, phys)?;
        let ptes = self.huge.check_mappings(head, phys.parts(head).map(|idx| self.rmap.subpage_mappings(idx)), phys)?;
        let in_swap = phys.frames.word(head).has(PageFlag::SwapCache);
        require(!named.is_empty() || ptes > 0 || in_swap, "a huge page that nobody maps is freed", || {
            format!("{pfn:?}")
        })?;
        require(named.is_empty() || !in_swap, "no huge entry maps a page in the swap cache", || format!("{pfn:?}"))?;
        seen.thps += u64::from(!named.is_empty());
        self.huge.check_queued(head, page, seen, phys)?;
        self.check_huge_tags(head, page, phys)
    }

    /// A page that one space alone maps, and that it never wrote to, reads zeros.
    fn check_huge_tags(&self, head: Idx, page: &HugePage, phys: &PhysMem) -> Verdict {
        let Some(tags) = &self.tags else { return Ok(()) };
        if let Some(filled) = &self.huge.filled {
            let lost = phys.parts(head).find(|&idx| !filled.get(idx) && tags.frame(idx) != Tag::ZERO);
            require(lost.is_none(), "a part of a huge page that is taken for zeros holds zeros", || {
                format!("{lost:?}")
            })?;
        }
        let [at] = page.pmds.as_slice() else { return Ok(()) };
        for (offset, idx) in (0..).zip(subpages(head)) {
            let own = Mapping { vpn: Vpn::new(at.vpn.get() + offset), ..*at };
            let clean = tags.is_written(own) || tags.frame(idx) == Tag::ZERO;
            require(clean, "a base page of a huge page that was never written reads zeros", || format!("{own:?}"))?;
        }
        Ok(())
    }

    fn check_huge_zero(&self, seen: &Seen, phys: &PhysMem) -> Verdict {
        let huge = &self.huge;
        require(seen.zero_users == huge.zero_users, "the huge page of zeros counts who holds it", || {
            format!("{} hold it, {} counted", seen.zero_users, huge.zero_users)
        })?;
        let Some(head) = huge.zero else {
            return require(huge.zero_users == 0, "a huge page of zeros that is held exists", || {
                format!("{} hold it", huge.zero_users)
            });
        };
        let word = phys.frames.word(head);
        let sound = self.rmap.owner(head) == Owner::HugeZero && word.order() == Order::PAGEBLOCK;
        require(sound && !word.is_lru_page(), "the huge page of zeros is one allocation that stays", || {
            format!("{:?}: {:?}", phys.frames.pfn(head), word.state())
        })?;
        let zeros = |tags: &crate::tags::Tags| subpages(head).all(|idx| tags.frame(idx) == Tag::ZERO);
        require(self.tags.as_ref().is_none_or(zeros), "the huge page of zeros holds zeros", || {
            format!("{:?}", phys.frames.pfn(head))
        })
    }
}

impl Rmap {
    fn check_huge_file_entry(&self, at: Mapping, huge: Huge, vma: &Vma, seen: &mut Seen) -> Verdict {
        let head = huge.head().expect("it shows a page of a file");
        let Owner::File { file, index } = self.owner(head) else { unreachable!("it is of a file") };
        let shows = vma.kind.file() == Some(file) && vma.index(at.vpn) == index && head.0.is_multiple_of(NR);
        require(shows, "a huge entry of a file shows its huge page from the first base page on", || {
            format!("{at:?} of {vma:?} maps page {index} of {file:?}")
        })?;
        let writable = huge.pte.has(PteFlag::Write);
        require(!(writable && vma.kind.is_private()), "a private mapping never writes to its file", || {
            format!("{at:?}")
        })?;
        seen.pmds.entry(head.0).or_default().push(at);
        Ok(())
    }

    fn check_spare(&self, id: SpaceId, spare: Option<Idx>) -> Verdict {
        let Some(frame) = spare else { return Ok(()) };
        let owner = self.owner(frame);
        let own = matches!(owner, Owner::PageTable(at) if at.space == id);
        require(own, "a spare page table belongs to its space", || format!("{id:?}: {owner:?}"))
    }
}

impl HugeMemory {
    /// Compares what a huge page counts with the mappings of each base page by single entries; returns their sum.
    fn check_mappings(&self, head: Idx, of_each: impl Iterator<Item = u32>, phys: &PhysMem) -> Result<u32, Violation> {
        let (pfn, page) = (phys.frames.pfn(head), self.page(head));
        let (mapped, ptes) = of_each.fold((0, 0), |(mapped, ptes), n| (mapped + u32::from(n > 0), ptes + n));
        require(
            (mapped, ptes) == (page.mapped, page.ptes),
            "a huge page counts the mappings of its base pages",
            || format!("{pfn:?}: {mapped} base pages, {ptes} mappings; {} and {} counted", page.mapped, page.ptes),
        )?;
        Ok(ptes)
    }

    fn check_queued(&self, head: Idx, page: &HugePage, seen: &mut Seen, phys: &PhysMem) -> Verdict {
        let node = phys.frames.zones()[phys.frames.blocks()[head.block()].zone.index()].node();
        let queue = self.queues.get(node.index());
        let ticket = page.queued.map(core::num::NonZeroU64::get);
        let there = ticket.is_none_or(|ticket| queue.and_then(|queue| queue.get(&ticket)) == Some(&head));
        require(there, "a queued huge page is in the queue of its node", || format!("{:?}", phys.frames.pfn(head)))?;
        seen.queued += u64::from(ticket.is_some());
        let looked_at = phys.policy.thp.shrink_underused && !page.partial;
        require(page.partial == ticket.is_some() || looked_at, "a huge page is queued for a reason", || {
            format!("{:?}: {ticket:?}", phys.frames.pfn(head))
        })?;
        let in_turn = ticket.is_none_or(|ticket| phys.stands_in_turn(ticket, page.partial));
        require(in_turn, "pages that are mapped in part stand first where reclaim begins with them", || {
            format!("{:?}: {ticket:?}", phys.frames.pfn(head))
        })?;
        let in_swap = phys.frames.word(head).has(PageFlag::SwapCache);
        let all = phys.frames.word(head).frames();
        let partly = page.pmds.is_empty() && u64::from(page.mapped) < all && !in_swap;
        require(partly == page.partial, "a huge page waits for its split while it is mapped in part", || {
            format!("{:?}: {} base pages are mapped", phys.frames.pfn(head), page.mapped)
        })
    }

    fn check_named(&self, head: Idx, seen: &mut Seen, phys: &PhysMem) -> Verdict {
        let mut entries = seen.pmds.remove(&head.0).unwrap_or_default();
        let mut named = self.page(head).pmds.clone();
        entries.sort_unstable();
        named.sort_unstable();
        require(entries == named, "a huge page names each of its huge mappings", || {
            format!("{:?}: {entries:?} by entries, {named:?} named", phys.frames.pfn(head))
        })
    }
}

impl PhysMem {
    fn check_huge_frames(&self, head: Idx) -> Verdict {
        let (pfn, word) = (self.frames.pfn(head), self.frames.word(head));
        let live = word.is_allocated() && HugeSize::new(word.order()).is_some() && word.has(Flag::Owned);
        require(live, "a huge page is one allocation of order 2 to 9", || format!("{pfn:?}: {:?}", word.state()))?;
        let tails = self.parts(head).skip(1).all(|idx| self.frames.word(idx).is_tail());
        require(tails, "the other frames of a huge page are its tails", || format!("{pfn:?}"))?;
        let zone = self.frames.blocks()[head.block()].zone;
        require(zone.index() < self.frames.zones().len(), "a huge page lies in a zone", || format!("{pfn:?}"))
    }
}
