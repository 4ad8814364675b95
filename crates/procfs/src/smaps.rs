//! /proc/PID/smaps and smaps_rollup: what the pages of every mapping of a program are.

use alloc::format;
use core::fmt::{Display, Result, Write};

use order9_mm::policy::{HugeInterface, ThpPolicy};
use order9_mm::space::{HugeAdvice, MappingUse, Prot, Vma, VmaKind};
use order9_mm::{Mm, Space};
use order9_units::{Bytes, Order, PAGE_SIZE, Pages};

use super::labelled;

/// Writes /proc/PID/smaps of the program that has `space`.
///
/// # Errors
/// Those of `out`.
pub fn render_smaps(mm: &Mm, space: &Space, out: &mut impl Write) -> Result {
    for vma in space.vmas() {
        render_header(out, vma)?;
        labelled(out, "Size", kilobytes(vma.range.len().bytes()), " kB")?;
        let page = if is_hugetlb(vma) { Order::PAGEBLOCK.pages().bytes() } else { PAGE_SIZE };
        labelled(out, "KernelPageSize", kilobytes(page), " kB")?;
        labelled(out, "MMUPageSize", kilobytes(page), " kB")?;
        render_use(&mm.mapping_use(space, [vma]), out, false, &mm.policy().thp)?;
        if mm.policy().thp.interface >= HugeInterface::Eligible {
            labelled(out, "THPeligible", u64::from(mm.has_room_for_huge_page(space, vma)), "")?;
        }
        render_flags(out, vma)?;
    }
    Ok(())
}

/// Writes /proc/PID/smaps_rollup of the program that has `space`.
///
/// # Errors
/// Those of `out`.
pub fn render_smaps_rollup(mm: &Mm, space: &Space, out: &mut impl Write) -> Result {
    let ends = space.vmas().map(|vma| (vma.range.start.addr().get(), vma.range.end.addr().get()));
    let (start, end) = ends.reduce(|first, last| (first.0, last.1)).unwrap_or_default();
    named(out, &format!("{start:08x}-{end:08x} ---p 00000000 00:00 0 "), "[rollup]")?;
    render_use(&mm.mapping_use(space, space.vmas()), out, true, &mm.policy().thp)
}

/// Writes the lines from `Rss` to `Locked`; with the proportional sizes by kind, as only `smaps_rollup` has them.
fn render_use(usage: &MappingUse, out: &mut impl Write, by_kind: bool, policy: &ThpPolicy) -> Result {
    let mut size = |name, size: Bytes| labelled(out, name, kilobytes(size), " kB");
    size("Rss", usage.rss)?;
    size("Pss", usage.pss().bytes())?;
    size("Pss_Dirty", usage.pss_dirty.bytes())?;
    if by_kind {
        size("Pss_Anon", usage.pss_anon.bytes())?;
        size("Pss_File", usage.pss_file.bytes())?;
        size("Pss_Shmem", usage.pss_shmem.bytes())?;
    }
    size("Shared_Clean", usage.shared_clean)?;
    size("Shared_Dirty", usage.shared_dirty)?;
    size("Private_Clean", usage.private_clean)?;
    size("Private_Dirty", usage.private_dirty)?;
    size("Referenced", usage.referenced)?;
    size("Anonymous", usage.anonymous)?;
    size("KSM", Bytes::ZERO)?;
    size("LazyFree", usage.lazy_free)?;
    size("AnonHugePages", usage.anon_huge)?;
    if policy.shmem {
        size("ShmemPmdMapped", usage.shmem_huge)?;
    }
    if policy.interface >= HugeInterface::File {
        size("FilePmdMapped", Bytes::ZERO)?;
    }
    size("Shared_Hugetlb", usage.shared_hugetlb)?;
    size("Private_Hugetlb", usage.private_hugetlb)?;
    size("Swap", usage.swap)?;
    size("SwapPss", usage.swap_pss.bytes())?;
    size("Locked", usage.pss_locked.bytes())
}

/// Whether a mapping is served from hugetlb pools alone.
const fn is_hugetlb(vma: &Vma) -> bool {
    matches!(vma.kind, VmaKind::Hugetlb { .. })
}

const fn kilobytes(size: Bytes) -> u64 {
    size.get() / 1024
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
