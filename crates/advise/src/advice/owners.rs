//! Owners of memory in the advice: the largest, in numbers and in a sentence.

use order9_report::number::{grouped, size};
use order9_report::table::ending;
use order9_snapshot::owners::{Held, Holdings, KernelUseKind};

/// Owners of each kind that the advice has.
const KEPT: usize = 8;
/// Owners of each kind that the text names.
const NAMED: usize = 3;
/// Characters of a name.
const NAME_WIDTH: usize = 36;

/// The largest owners of each kind.
pub(super) fn largest(mut held: Holdings) -> Holdings {
    held.users.truncate(KEPT);
    held.callers.truncate(KEPT);
    held.cgroups.truncate(KEPT);
    held.kernel.truncate(KEPT);
    held
}

/// Sentences about who holds memory; nothing where nobody is known.
pub(super) fn sentence(held: &Holdings) -> String {
    let users = list(held.users.iter().take(NAMED).map(held_by));
    let callers = list(held.callers.iter().take(NAMED).map(held_by));
    let kernel = list(held.kernel.iter().take(NAMED).map(|of| {
        let kind = match of.kind {
            KernelUseKind::Slab => "slab",
            KernelUseKind::Vmalloc => "vmalloc",
        };
        format!("{} {} ({kind})", of.name, size(of.pages.bytes()))
    }));
    let cgroups = list(held.cgroups.iter().filter(|of| of.owner != "/").take(1).map(held_by));
    // Who allocated which frames says more than how many a cache has.
    let in_kernel =
        if callers.is_empty() { ("In the kernel: ", kernel) } else { ("Allocated in the kernel by ", callers) };
    let parts = [("Memory is held by ", users), in_kernel, ("Control group: ", cgroups)];
    let told = parts.into_iter().filter(|(_, list)| !list.is_empty());
    told.map(|(begin, list)| format!("{begin}{list}.")).collect::<Vec<_>>().join(" ")
}

/// An owner with what it holds.
fn held_by<T: std::fmt::Display>(held: &Held<T>) -> String {
    let alone = if held.alone > 0 { format!(", {} of them alone", grouped(held.alone)) } else { String::new() };
    let name = ending(&held.owner.to_string(), NAME_WIDTH);
    format!("{name}: {} in {} pageblocks{alone}", size(held.pages.bytes()), grouped(held.pageblocks))
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use order9_snapshot::owners::{Caller, KernelUse, Process, User};
    use order9_units::Pages;

    use super::*;

    #[test]
    fn owners_are_named_with_what_they_hold() {
        let user = User::Process(Process { pid: 7, command: "java".to_owned(), ..Process::default() });
        let held = Held {
            owner: user,
            id: 0,
            pages: Pages::new(1024),
            nodes: BTreeMap::new(),
            pageblocks: 9,
            alone: 2,
            stays: 0,
        };
        let kernel = KernelUse { name: "dentry".to_owned(), kind: KernelUseKind::Slab, pages: Pages::new(256) };
        let held = Holdings { users: vec![held; 20], kernel: vec![kernel], ..Holdings::default() };
        let text = sentence(&held);
        assert!(text.starts_with("Memory is held by java (7): 4 MiB in 9 pageblocks, 2 of them alone; java"), "{text}");
        assert!(text.ends_with("In the kernel: dentry 1 MiB (slab)."), "{text}");
        assert_eq!(largest(held.clone()).users.len(), KEPT);
        let caller = Caller { function: "nf_ct_alloc_hashtable".to_owned(), module: Some("nf_nat".to_owned()) };
        let by = Held {
            owner: caller,
            id: 0,
            pages: Pages::new(512),
            nodes: BTreeMap::new(),
            pageblocks: 1,
            alone: 1,
            stays: 1,
        };
        let text = sentence(&Holdings { callers: vec![by], ..held });
        let told = "Allocated in the kernel by nf_ct_alloc_hashtable [nf_nat]: 2 MiB in 1 pageblocks, 1 of them alone.";
        assert!(text.ends_with(told), "{text}");
        assert_eq!(sentence(&Holdings::default()), "");
    }
}
