//! Recounts every law of address spaces and files: mappings and reverse mappings, counts, owners, contents.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use order9_frames::{Flag, Idx, Verdict, Word, require};
use order9_units::{Order, Pages};

use super::pte::{Pte, PteFlag, PteKind};
use super::{Mapping, Owner, Prot, Rss, Space, SpaceId, TASK_END, UserLevels, Vma, VmaKind, Vpn, VpnRange};
use crate::page_cache::PageCache;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Rmap;
use crate::tags::{Tag, Tags};

/// Sums over the page tables of all spaces.
#[derive(Default)]
struct Seen {
    /// Entries that map an anonymous page.
    anon_entries: u64,
    /// Entries by frame, for pages of files.
    file_entries: BTreeMap<u32, u32>,
    /// Entries, and places of tmpfs files, by slot of swap.
    swap_entries: BTreeMap<u32, u32>,
    tables: u64,
}

impl UsedPages {
    /// Checks every law of spaces and files.
    pub(crate) fn check_user(&self, phys: &PhysMem) -> Verdict {
        let mut seen = Seen::default();
        for (id, space) in self.spaces.iter() {
            self.check_vmas(id, space)?;
            self.check_space(id, space, &mut seen, phys)?;
        }
        self.cache.check_files_in_swap(&mut seen)?;
        self.check_swap(&seen.swap_entries, phys)?;
        self.check_files(&seen, phys)?;
        self.check_owners(&seen, phys)?;
        self.drivers.check_driver_pages(phys)?;
        self.check_thp(phys)?;
        self.check_hugetlb(phys)?;
        self.tags.as_ref().map_or(Ok(()), |tags| self.check_tags(tags, phys))
    }

    fn check_vmas(&self, id: SpaceId, space: &Space) -> Verdict {
        let mut end = Vpn::new(0);
        for vma in space.vmas() {
            let VpnRange { start, end: own_end } = vma.range;
            require(start < own_end && own_end <= TASK_END, "a mapping has pages, all in the address space", || {
                format!("{id:?}: {vma:?}")
            })?;
            require(end <= start, "mappings do not overlap", || format!("{id:?}: {vma:?} begins below {end:?}"))?;
            require(space.vmas.at(start) == Some(vma), "a mapping is found by its first page", || {
                format!("{id:?}: {vma:?}")
            })?;
            let known = match vma.kind {
                VmaKind::Anon | VmaKind::Hugetlb { .. } => true,
                VmaKind::File { file, .. } => self
                    .cache
                    .file(file)
                    .is_ok_and(|file| file.mapped_by.contains_key(&Mapping { space: id, vpn: start })),
            };
            require(known, "a file knows its mappings", || format!("{id:?}: {vma:?} is unknown to its file"))?;
            end = own_end;
        }
        require(
            space.vmas.len() <= self.spaces.map_limit.highest + 1,
            "a space has at most vm.max_map_count mappings",
            || format!("{id:?}: {}", space.vmas.len()),
        )
    }

    /// Walks a page table.
    fn check_space(&self, id: SpaceId, space: &Space, seen: &mut Seen, phys: &PhysMem) -> Verdict {
        let (mut rss, mut tables) = (Rss::default(), u64::from(space.spare_table.is_some()));
        for (_, huge) in space.table.huge_slots(VpnRange::new(Vpn::new(0), TASK_END)) {
            tables += u64::from(huge.deposit.is_some());
            let pages = huge.head().map_or(0, |_| Order::PAGEBLOCK.pages().get());
            *if self.rmap.is_of_file(huge, phys) { &mut rss.shmem_pages } else { &mut rss.anon_pages } += pages;
        }
        for (slot, table) in space.table.tables(VpnRange::new(Vpn::new(0), TASK_END)) {
            tables += 1;
            let owner = Owner::PageTable(Mapping { space: id, vpn: slot.start });
            require(self.rmap.owner(table.frame) == owner, "the frame of a page table knows its slot", || {
                let (frame, found) = (phys.frames.pfn(table.frame), self.rmap.owner(table.frame));
                format!("{frame:?} holds the table of {id:?} at {:?}, but is {found:?}", slot.start)
            })?;
            require(space.vmas.first_within(slot).is_some(), "a page table serves a mapping", || {
                format!("{id:?}: nothing is mapped at {slot:?}")
            })?;
            let used = slot.iter().filter(|&vpn| !table.get(vpn).is_none()).count();
            require(used == usize::from(table.used), "a page table counts its entries", || {
                format!("{id:?} at {:?}: {used} entries, {} counted", slot.start, table.used)
            })?;
            for vpn in slot.iter().filter(|&vpn| !table.get(vpn).is_none()) {
                let vma = space.vmas.find(vpn);
                require(vma.is_some(), "an entry lies in a mapping", || format!("{id:?}: {vpn:?}"))?;
                if let Some(vma) = vma {
                    self.check_entry(Mapping { space: id, vpn }, table.get(vpn), vma, &mut rss, seen, phys)?;
                }
            }
        }
        let swapped = space.entries(VpnRange::new(Vpn::new(0), TASK_END)).filter(|pte| pte.slot().is_some()).count();
        require(swapped as u64 == space.swap_pages, "a space counts its pages in swap", || {
            format!("{id:?}: {swapped} entries, {} counted", space.swap_pages)
        })?;
        seen.tables += tables;
        require(tables == space.page_tables, "a space counts its page tables", || {
            format!("{id:?}: {tables} tables, {} counted", space.page_tables)
        })?;
        require(rss == space.rss, "a space counts its pages", || {
            format!("{id:?}: {rss:?} by entries, {:?} counted", space.rss)
        })
    }

    fn check_entry(&self, at: Mapping, pte: Pte, vma: &Vma, rss: &mut Rss, seen: &mut Seen, phys: &PhysMem) -> Verdict {
        if let Some(slot) = pte.slot() {
            *seen.swap_entries.entry(slot.0).or_insert(0) += 1;
            return require(vma.touched && pte == Pte::swap(slot), "entries in swap have no flags", || {
                format!("{at:?}")
            });
        }
        let writable = pte.has(PteFlag::Write);
        require(
            pte.answered().has(PteFlag::Access) == (vma.prot != Prot::NONE),
            "an entry is accessible as its mapping is",
            || format!("{at:?}: {:?}, mapping {:?}", pte.has(PteFlag::Access), vma.prot),
        )?;
        self.balancing.check_hinting(at, pte)?;
        require(!writable || vma.prot.has(Prot::WRITE), "an entry is writable only if its mapping is", || {
            format!("{at:?} in {:?}", vma.prot)
        })?;
        let Some(idx) = pte.idx() else {
            return require(pte.kind() == PteKind::Zero && !writable, "the page of zeros is read-only", || {
                format!("{at:?}: {:?}", pte.kind())
            });
        };
        let (pfn, word, owner) = (phys.frames.pfn(idx), phys.frames.word(idx), self.rmap.owner(idx));
        let subpage = self.rmap.folio_head(idx, phys).is_some();
        let live = subpage || word.is_allocated() && word.has(Flag::Owned) && word.order() == Order::ZERO;
        require(live, "a mapped frame is allocated and owned", || format!("{at:?} maps {pfn:?}: {:?}", word.state()))?;
        match owner {
            Owner::File { file, index } => {
                let on_disk = self.cache.files.is_on_disk(file);
                *if on_disk { &mut rss.file_pages } else { &mut rss.shmem_pages } += 1;
                let within = self.cache.files.size(file).is_some_and(|size| index < size.get());
                require(!on_disk || within, "a mapped page of a file on disk lies within it", || format!("{at:?}"))?;
                let word = phys.page_word(idx);
                let noticed = !on_disk || !writable || word.has(PageFlag::Dirty);
                require(noticed, "a page of a file on disk that may be written is dirty", || format!("{at:?}"))?;
                require(!word.has(PageFlag::Locked), "a page that is being read is not mapped", || format!("{at:?}"))?;
                *seen.file_entries.entry(idx.0).or_insert(0) += 1;
                let shows = vma.kind.file() == Some(file) && vma.index(at.vpn) == index;
                require(shows, "a mapping shows the pages of its file in order", || {
                    format!("{at:?} of {vma:?} maps {pfn:?}, page {index} of {file:?}")
                })?;
                require(!(writable && vma.kind.is_private()), "a private mapping never writes to its file", || {
                    format!("{at:?} maps {pfn:?}")
                })
            }
            Owner::Anon(_) | Owner::Shared { .. } | Owner::Huge => {
                rss.anon_pages += 1;
                seen.anon_entries += 1;
                let named = self.mappings_of(idx, phys).contains(&at);
                require(named, "a page knows where it is mapped", || format!("{at:?} maps {pfn:?}: {owner:?}"))?;
                // A fork that waits has shared some parts of a huge page, and others not yet.
                let part =
                    self.rmap.huge_head(idx, phys).is_some_and(|head| !phys.frames.word(head).has(PageFlag::SwapCache));
                let exclusive = self.is_exclusive(idx, false, phys) || part && self.subpage_mapcount(idx, phys) == 1;
                require(!writable || exclusive, "a page that several map is read-only", || {
                    format!("{at:?} may write {pfn:?}: {owner:?}")
                })?;
                require(vma.touched && vma.kind.is_private(), "anonymous pages lie in private mappings", || {
                    format!("{at:?} of {vma:?} maps {pfn:?}")
                })
            }
            _ => require(false, "a mapped frame has an owner", || format!("{at:?} maps {pfn:?}: {owner:?}")),
        }
    }

    fn check_files(&self, seen: &Seen, phys: &PhysMem) -> Verdict {
        let mut mapped_frames = 0;
        for (id, file) in self.cache.files.iter() {
            let size = self.cache.files.size(id).map(Pages::get);
            for (&at, places) in &file.mapped_by {
                let vma = self.spaces.get(at.space).ok().and_then(|space| space.vmas.at(at.vpn));
                let maps = vma.is_some_and(|vma| vma.kind.file() == Some(id) && vma.places() == *places);
                require(maps, "a file names existing mappings", || format!("{id:?}: {at:?}"))?;
            }
            for (index, idx, mappings) in file.iter() {
                let owner = self.rmap.owner(idx);
                require(owner == Owner::File { file: id, index }, "a page of a file knows its place", || {
                    format!("{:?} is page {index} of {id:?}, but is {owner:?}", phys.frames.pfn(idx))
                })?;
                // A huge page or a folio may reach beyond the end.
                let first = phys.folio(index, idx).index;
                require(Some(first) < size, "a file has no pages beyond its size", || {
                    format!("{id:?}: page {index}, size {size:?}")
                })?;
                let entries = seen.file_entries.get(&idx.0).copied().unwrap_or(0);
                require(entries == mappings, "a page of a file counts its mappings", || {
                    format!("page {index} of {id:?}: {entries} entries, {mappings} counted")
                })?;
                let (found, mapped_by) = (self.mappings_of(idx, phys).len(), mappings + self.file_pmds(idx, phys));
                require(found == mapped_by as usize, "a page of a file is found where it is mapped", || {
                    format!("page {index} of {id:?}: {found} found, {mapped_by} counted")
                })?;
                mapped_frames += usize::from(mappings > 0);
            }
        }
        require(mapped_frames == seen.file_entries.len(), "a mapped page of a file is in the file", || {
            format!("{mapped_frames} in files, {} mapped", seen.file_entries.len())
        })
    }

    /// Walks all frames: nobody owns a frame that no table, file, pin or isolation accounts for.
    fn check_owners(&self, seen: &Seen, phys: &PhysMem) -> Verdict {
        let (mut levels, mut named, mut links) = (UserLevels::default(), 0, 0);
        let mut mapped = alloc::vec![0; phys.frames.nodes().len()];
        for at in 0..phys.frames.table().len() as u32 {
            let (idx, word) = (Idx(at), phys.frames.word(Idx(at)));
            let owner = self.rmap.owner(idx);
            let pfn = phys.frames.pfn(idx);
            let subpage = word.is_tail() && self.rmap.folio_head(idx, phys).is_some();
            require(
                subpage || word.has(Flag::Owned) == (owner != Owner::Nobody),
                "an owned frame has an owner",
                || format!("{pfn:?} is {:?}, its owner {owner:?}", word.state()),
            )?;
            if owner == Owner::Huge {
                named += self.rmap.named_by_first(idx, &mut links);
            }
            if owner == Owner::Nobody {
                continue;
            }
            if !subpage {
                phys.check_owned(idx, word, owner)?;
            }
            match owner {
                Owner::Anon(_) => (levels.anon, named) = (levels.anon + u64::from(!subpage), named + 1),
                Owner::Shared { first, mappings } => {
                    let chain: BTreeSet<Mapping> = self.rmap.chain(first).collect();
                    let sound = mappings >= 2 && chain.len() == mappings as usize;
                    require(sound, "a shared page names each of its mappings once", || {
                        format!("{pfn:?}: {chain:?}, {mappings} counted")
                    })?;
                    levels.anon += u64::from(!subpage);
                    named += u64::from(mappings);
                    links += u64::from(mappings);
                }
                Owner::File { file, index } => {
                    match self.cache.files.is_on_disk(file) {
                        true => levels.file += 1,
                        false => levels.shmem += 1,
                    }
                    mapped[phys.node_of(idx).index()] += u64::from(self.mapcount(pfn, phys) > 0);
                    let there = self.cache.file(file).is_ok_and(|file| file.page(index) == Some(idx));
                    require(there, "the page of a file is in it", || format!("{pfn:?}: page {index} of {file:?}"))?;
                }
                Owner::PageTable(_) => levels.page_tables += 1,
                Owner::Slab { cache, slab } => {
                    let known = self.slab.slab_has(cache, slab, idx);
                    require(known, "the pages of a slab are its cache's", || format!("{pfn:?} is {owner:?}"))?;
                }
                Owner::Huge => levels.anon += self.huge.huge_anon_pages(idx),
                Owner::Kept | Owner::SwapCache | Owner::HugeZero | Owner::Hugetlb | Owner::Nobody => {}
            }
        }
        // Recounted with the laws of huge pages.
        let UserLevels { anon_thps, shmem_thps, shmem_pmdmapped, .. } = self.levels;
        (levels.anon_thps, levels.shmem_thps, levels.shmem_pmdmapped) = (anon_thps, shmem_thps, shmem_pmdmapped);
        require(named == seen.anon_entries, "every reverse mapping has its entry", || {
            format!("{named} named, {} entries", seen.anon_entries)
        })?;
        require(links == self.rmap.links_used(), "every link belongs to a shared page", || {
            format!("{links} in chains, {} in use", self.rmap.links_used())
        })?;
        require(levels.page_tables == seen.tables, "every page table is in a space", || {
            format!("{} frames, {} tables", levels.page_tables, seen.tables)
        })?;
        for ((node, &counted), mapped) in phys.frames.nodes().zip(&self.rmap.mapped).zip(mapped) {
            require(counted == mapped, "nr_mapped equals a recount", || {
                format!("{node:?}: {mapped} by frames, {counted} counted")
            })?;
        }
        require(levels == self.levels, "levels equal a recount", || {
            format!("{levels:?} by frames, {:?} counted", self.levels)
        })
    }

    fn check_tags(&self, tags: &Tags, phys: &PhysMem) -> Verdict {
        for (page, tag) in tags.private() {
            let found = self.read_tag(page.space, page.vpn.addr(), phys);
            require(found == Some(tag), "a page reads what was written to it", || {
                format!("{page:?}: {found:?} instead of {tag:?}, entry {:?}", self.spaces.pte_kind(page))
            })?;
        }
        for (file, index, tag) in tags.files() {
            let found = self.file_tag(tags, file, index, phys);
            require(found == tag, "a page of a file reads what was written to it", || {
                format!("page {index} of {file:?}: {found:?} instead of {tag:?}")
            })?;
        }
        for (id, file) in self.cache.files.iter().filter(|&(id, _)| !self.cache.files.is_on_disk(id)) {
            for (index, idx, _) in file.iter() {
                let clean = tags.is_file_written(id, index) || tags.frame(idx) == Tag::ZERO;
                require(clean, "a page of tmpfs that was never written reads zeros", || {
                    format!("page {index} of {id:?}")
                })?;
            }
        }
        for at in 0..phys.frames.table().len() as u32 {
            if let Owner::Anon(page) = self.rmap.owner(Idx(at)) {
                let clean = tags.is_written(page) || tags.frame(Idx(at)) == Tag::ZERO;
                require(clean, "a page that was never written reads zeros", || format!("{page:?}"))?;
            }
        }
        Ok(())
    }
}

impl PageCache {
    /// Places of tmpfs files that are in swap lie within the file, and hold nothing else.
    fn check_files_in_swap(&self, seen: &mut Seen) -> Verdict {
        for (id, file) in self.files.iter().filter(|&(id, _)| !self.files.is_on_disk(id)) {
            let size = self.files.size(id).map(Pages::get);
            let mut from = 0;
            while let Some((index, slot)) = file.first_swapped(from, u64::MAX) {
                require(
                    Some(index) < size && file.page(index).is_none(),
                    "what is in swap of a file is part of it",
                    || format!("{id:?}: page {index} in {slot:?}, size {size:?}"),
                )?;
                *seen.swap_entries.entry(slot.0).or_insert(0) += 1;
                from = index + 1;
            }
        }
        Ok(())
    }
}

impl Rmap {
    /// Mappings that the first base page of a huge page names by itself; those in a chain are added to `links`.
    fn named_by_first(&self, head: Idx, links: &mut u64) -> u64 {
        let first = self.of_subpage(head);
        let named = u64::from(self.subpage_mappings(head));
        *links += if let Owner::Shared { .. } = self.owner(first) { named } else { 0 };
        named
    }
}

impl PhysMem {
    fn check_owned(&self, idx: Idx, word: Word, owner: Owner) -> Verdict {
        let pfn = self.frames.pfn(idx);
        require(word.is_allocated(), "a free frame has no owner", || format!("{pfn:?}: {:?}", word.state()))?;
        let fits = owner == Owner::Kept || word.has(Flag::MovableContent) != owner.is_kernel();
        require(fits, "pages of programs can move, page tables and slabs cannot", || format!("{pfn:?} is {owner:?}"))?;
        require(
            owner != Owner::Kept || word.is_held(),
            "a page without owner is kept by a pin, isolation, read or write",
            || format!("{pfn:?}"),
        )
    }
}
