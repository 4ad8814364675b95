//! /proc/PID/smaps and smaps_rollup: what the pages of every mapping of a program are.

use alloc::format;
use core::fmt::{Display, Result, Write};
use core::ops::AddAssign;

use order9_units::{Order, PAGE_SIZE, Pages};

use super::labelled;
use crate::Mm;
use crate::frame::{Flag, Idx};
use crate::policy::{HugeInterface, ThpPolicy};
use crate::space::{HugeAdvice, Owner, Prot, Pte, PteFlag, Space, Vma, VmaKind};
use crate::trace::Tracer;

/// Fraction bits of a proportional set size while it is added up: each page rounds down by less than 1/4096 byte.
const PSS_SHIFT: u32 = 12;

/// What the pages of a mapping, or of a program, are. Sizes in bytes.
#[derive(Clone, Copy, Default)]
struct Usage {
    rss: u64,
    shared_clean: u64,
    shared_dirty: u64,
    private_clean: u64,
    private_dirty: u64,
    referenced: u64,
    anonymous: u64,
    lazy_free: u64,
    swap: u64,
    swap_pss: Share,
    /// Mapped as huge pages.
    anon_huge: u64,
    private_hugetlb: u64,
    shared_hugetlb: u64,
    shmem_huge: u64,
    pss_dirty: Share,
    pss_anon: Share,
    pss_shmem: Share,
    pss_file: Share,
    pss_locked: Share,
}

/// Bytes of pages divided by the number of their mappings, in fixed point.
#[derive(Clone, Copy, Default)]
struct Share(u64);

impl Share {
    fn of_page(mapcount: u32) -> Self {
        Self((PAGE_SIZE.get() << PSS_SHIFT) / u64::from(mapcount))
    }

    const fn bytes(self) -> u64 {
        self.0 >> PSS_SHIFT
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl<T: Tracer> Mm<T> {
    /// Writes /proc/PID/smaps of the program that has `space`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn render_smaps(&self, space: &Space, out: &mut impl Write) -> Result {
        for vma in space.vmas() {
            render_header(out, vma)?;
            labelled(out, "Size", kilobytes(vma.range.len().bytes().get()), " kB")?;
            let page = if is_hugetlb(vma) { Order::PAGEBLOCK.pages().bytes() } else { PAGE_SIZE };
            labelled(out, "KernelPageSize", kilobytes(page.get()), " kB")?;
            labelled(out, "MMUPageSize", kilobytes(page.get()), " kB")?;
            let mut usage = Usage::default();
            self.add_usage(&mut usage, space, vma);
            usage.render(out, false, &self.policy.thp)?;
            if self.policy.thp.interface >= HugeInterface::Eligible {
                labelled(
                    out,
                    "THPeligible",
                    u64::from(self.may_have_huge_pages(&space.seen_by_thp(vma)) && has_slot(vma)),
                    "",
                )?;
            }
            render_flags(out, vma)?;
        }
        Ok(())
    }

    /// Writes /proc/PID/smaps_rollup of the program that has `space`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn render_smaps_rollup(&self, space: &Space, out: &mut impl Write) -> Result {
        let mut usage = Usage::default();
        space.vmas().for_each(|vma| self.add_usage(&mut usage, space, vma));
        let ends = space.vmas().map(|vma| (vma.range.start.addr().get(), vma.range.end.addr().get()));
        let (start, end) = ends.reduce(|first, last| (first.0, last.1)).unwrap_or_default();
        named(out, &format!("{start:08x}-{end:08x} ---p 00000000 00:00 0 "), "[rollup]")?;
        usage.render(out, true, &self.policy.thp)
    }

    fn add_usage(&self, usage: &mut Usage, space: &Space, vma: &Vma) {
        for (_, huge) in space.table.huge_slots(vma.range).filter(|(_, huge)| huge.head().is_some()) {
            let mapped = if self.is_of_file(huge) { &mut usage.shmem_huge } else { &mut usage.anon_huge };
            *mapped += Order::PAGEBLOCK.pages().bytes().get();
        }
        let [private, shared] = self.hugetlb_usage(space, vma);
        usage.private_hugetlb += private;
        usage.shared_hugetlb += shared;
        for pte in space.entries(vma.range) {
            if let Some(idx) = pte.idx() {
                self.add_page(usage, pte, idx, vma.locked);
            }
            if let Some(slot) = pte.slot() {
                usage.swap += PAGE_SIZE.get();
                usage.swap_pss += Share::of_page(self.swap.entries(slot));
            }
        }
        // What is in swap of a tmpfs file counts for every mapping of it, but for nobody's share.
        usage.swap += self.swapped_behind(space, vma) * PAGE_SIZE.get();
    }

    /// Pages of a tmpfs file in swap that a mapping would show.
    fn swapped_behind(&self, space: &Space, vma: &Vma) -> u64 {
        let Some(file) = vma.kind.file().filter(|&file| !self.user.files.is_on_disk(file)) else { return 0 };
        let swapped = |vpn| self.swapped_at(file, vma.index(vpn)).is_some() && space.table.get(vpn).is_none();
        vma.range.iter().filter(|&vpn| swapped(vpn)).count() as u64
    }

    fn add_page(&self, usage: &mut Usage, pte: Pte, idx: Idx, locked: bool) {
        let page = PAGE_SIZE.get();
        let mapcount = self.mapcount(self.frames.pfn(idx));
        let share = Share::of_page(mapcount);
        let dirty = pte.has(PteFlag::Dirty) || self.frames.word(idx).has(Flag::Dirty);
        usage.rss += page;
        *match (mapcount > 1, dirty) {
            (false, false) => &mut usage.private_clean,
            (false, true) => &mut usage.private_dirty,
            (true, false) => &mut usage.shared_clean,
            (true, true) => &mut usage.shared_dirty,
        } += page;
        if pte.has(PteFlag::Young) {
            usage.referenced += page;
        }
        match self.user.rmap.owner(idx) {
            Owner::File { file, .. } if self.user.files.is_on_disk(file) => usage.pss_file += share,
            Owner::File { .. } => usage.pss_shmem += share,
            _ => {
                usage.anonymous += page;
                usage.lazy_free += if self.is_lazily_freeable(idx) && !dirty { page } else { 0 };
                usage.pss_anon += share;
            }
        }
        if dirty {
            usage.pss_dirty += share;
        }
        if locked {
            usage.pss_locked += share;
        }
    }
}

impl Usage {
    /// Writes the lines from `Rss` to `Locked`; with the proportional sizes by kind, as only `smaps_rollup` has them.
    fn render(&self, out: &mut impl Write, by_kind: bool, policy: &ThpPolicy) -> Result {
        let mut size = |name, bytes| labelled(out, name, kilobytes(bytes), " kB");
        let mut pss = self.pss_anon;
        pss += self.pss_shmem;
        pss += self.pss_file;
        size("Rss", self.rss)?;
        size("Pss", pss.bytes())?;
        size("Pss_Dirty", self.pss_dirty.bytes())?;
        if by_kind {
            size("Pss_Anon", self.pss_anon.bytes())?;
            size("Pss_File", self.pss_file.bytes())?;
            size("Pss_Shmem", self.pss_shmem.bytes())?;
        }
        size("Shared_Clean", self.shared_clean)?;
        size("Shared_Dirty", self.shared_dirty)?;
        size("Private_Clean", self.private_clean)?;
        size("Private_Dirty", self.private_dirty)?;
        size("Referenced", self.referenced)?;
        size("Anonymous", self.anonymous)?;
        size("KSM", 0)?;
        size("LazyFree", self.lazy_free)?;
        size("AnonHugePages", self.anon_huge)?;
        if policy.shmem {
            size("ShmemPmdMapped", self.shmem_huge)?;
        }
        if policy.interface >= HugeInterface::File {
            size("FilePmdMapped", 0)?;
        }
        size("Shared_Hugetlb", self.shared_hugetlb)?;
        size("Private_Hugetlb", self.private_hugetlb)?;
        size("Swap", self.swap)?;
        size("SwapPss", self.swap_pss.bytes())?;
        size("Locked", self.pss_locked.bytes())
    }
}

/// Whether a mapping is served from hugetlb pools alone.
const fn is_hugetlb(vma: &Vma) -> bool {
    matches!(vma.kind, VmaKind::Hugetlb { .. })
}

/// Whether a huge page fits into a mapping.
fn has_slot(vma: &Vma) -> bool {
    let slot = vma.range.start.slot();
    let first = if slot.start == vma.range.start { slot.start } else { slot.end };
    first.slot().end <= vma.range.end
}

const fn kilobytes(bytes: u64) -> u64 {
    bytes / 1024
}

/// The line of a mapping, as in /proc/PID/maps. Files are shown as memfds by their number; an inode's number is one above,
/// because 0 says that there is none.
fn render_header(out: &mut impl Write, vma: &Vma) -> Result {
    let (start, end) = (vma.range.start.addr().get(), vma.range.end.addr().get());
    let letter = |prot, letter| if vma.prot.has(prot) { letter } else { '-' };
    let [r, w, x] = [letter(Prot::READ, 'r'), letter(Prot::WRITE, 'w'), letter(Prot::EXEC, 'x')];
    let (inode, shared, device, name) = match vma.kind {
        VmaKind::Anon => return writeln!(out, "{start:08x}-{end:08x} {r}{w}{x}p 00000000 00:00 0 "),
        VmaKind::File { file, shared } => (file.index(), shared, "00:01", format!("/memfd:{}", file.index())),
        VmaKind::Hugetlb { map, shared } => (map.index(), shared, "00:0f", "/anon_hugepage".into()),
    };
    let (s, offset) = (if shared { 's' } else { 'p' }, Pages::new(vma.offset).bytes().get());
    let place = format!("{start:08x}-{end:08x} {r}{w}{x}{s} {offset:08x} {device} {} ", inode + 1);
    named(out, &place, format_args!("{name} (deleted)"))
}

/// A line with a name, which stands in a column of its own.
fn named(out: &mut impl Write, place: &str, name: impl Display) -> Result {
    writeln!(out, "{place:<72} {name}")
}

/// The flags of a mapping, in the order of the kernel's bits.
fn render_flags(out: &mut impl Write, vma: &Vma) -> Result {
    let is_shared = !vma.kind.is_private();
    // A private mapping is charged when it may be written; one that was written stays charged when it no longer may.
    let is_charged = !is_shared && !is_hugetlb(vma) && (vma.prot.has(Prot::WRITE) || vma.touched);
    let flags = [
        ("rd", vma.prot.has(Prot::READ)),
        ("wr", vma.prot.has(Prot::WRITE)),
        ("ex", vma.prot.has(Prot::EXEC)),
        ("sh", is_shared),
        ("mr", true),
        ("mw", true),
        ("me", true),
        ("ms", is_shared),
        ("lo", vma.locked),
        ("ac", is_charged),
        ("ht", is_hugetlb(vma)),
        ("hg", vma.advice == HugeAdvice::Huge),
        ("nh", vma.advice == HugeAdvice::NoHuge),
    ];
    out.write_str("VmFlags: ")?;
    flags.into_iter().filter(|&(_, is_set)| is_set).try_for_each(|(flag, _)| write!(out, "{flag} "))?;
    out.write_char('\n')
}
