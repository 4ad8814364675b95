//! /proc/PID/numa_maps: the memory policy of every mapping of a program, and on which nodes its pages lie.

use core::fmt::{Result, Write};

use order9_mm::mempolicy::{Mempolicy, ModeFlags};
use order9_mm::space::{NumaUse, VmaKind};
use order9_mm::{Mm, Space};
use order9_units::{NodeId, Order, PAGE_SIZE};

use crate::Words;

/// Writes /proc/PID/numa_maps of the program that has `space`.
///
/// # Errors
/// Those of `out`.
pub fn render_numa_maps(mm: &Mm, space: &Space, out: &mut impl Write) -> Result {
    for vma in space.vmas() {
        write!(out, "{:08x} ", vma.range.start.addr().get())?;
        match mm.pages().shown_policy(space, vma) {
            Some(policy) => render_policy(&policy, out)?,
            None => out.write_str("default")?,
        }
        match vma.kind {
            VmaKind::Anon => {}
            // A path may not hold blanks here.
            VmaKind::File { file, .. } => write!(out, " file=/memfd:{}\\040(deleted)", file.index())?,
            VmaKind::Hugetlb { .. } => out.write_str(" file=/anon_hugepage\\040(deleted) huge")?,
        }
        render_use(&mm.numa_use(space, vma), out, matches!(vma.kind, VmaKind::Hugetlb { .. }))?;
    }
    Ok(())
}

/// Writes a policy as `MODE[=FLAGS][:NODES]`.
fn render_policy(policy: &Mempolicy, out: &mut impl Write) -> Result {
    out.write_str(policy.mode().word())?;
    out.write_str(match policy.flags() {
        ModeFlags::None if policy.balances() => "=balancing",
        ModeFlags::None => "",
        ModeFlags::Static if policy.balances() => "=static|balancing",
        ModeFlags::Relative if policy.balances() => "=relative|balancing",
        ModeFlags::Static => "=static",
        ModeFlags::Relative => "=relative",
    })?;
    if policy.nodes().is_empty() { Ok(()) } else { write!(out, ":{}", policy.nodes()) }
}

fn render_use(found: &NumaUse, out: &mut impl Write, hugetlb: bool) -> Result {
    if found.pages == 0 {
        return writeln!(out);
    }
    let fields = [
        ("anon", found.anon, found.anon > 0),
        ("dirty", found.dirty, found.dirty > 0),
        ("mapped", found.pages, found.pages != found.anon && found.pages != found.dirty),
        ("mapmax", u64::from(found.mapmax), found.mapmax > 1),
        ("swapcache", found.swapcache, found.swapcache > 0),
        ("active", found.active, found.active < found.pages && !hugetlb),
        ("writeback", found.writeback, found.writeback > 0),
    ];
    fields.iter().filter(|(.., shown)| *shown).try_for_each(|(name, pages, _)| write!(out, " {name}={pages}"))?;
    for (node, &pages) in (0..).map(NodeId).zip(&found.by_node).filter(|&(_, &pages)| pages > 0) {
        write!(out, " N{node}={pages}")?;
    }
    let page = if hugetlb { Order::PAGEBLOCK.pages().bytes() } else { PAGE_SIZE };
    writeln!(out, " kernelpagesize_kB={}", page.get() / 1024)
}
