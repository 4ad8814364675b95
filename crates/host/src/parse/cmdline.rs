//! /proc/cmdline: the boot parameters that bear on memory management, and no others.
//!
//! A kernel command line can name hosts, disks, users and keys. Only parameters of a fixed list are kept, and nothing
//! after `--`, which is meant for the first process.

/// Parameters that are kept, by name. Linux takes `-` and `_` in names for the same.
const KEPT: &[&str] = &[
    "cgroup_disable",
    "cma",
    "cma_pernuma",
    "crashkernel",
    "debug_pagealloc",
    "default_hugepagesz",
    "deferred_init",
    "hash_dist",
    "hugepages",
    "hugepagesz",
    "intel_iommu",
    "amd_iommu",
    "isolcpus",
    "kernelcore",
    "kmemleak",
    "maxcpus",
    "mem",
    "mem_encrypt",
    "memhp_default_state",
    "memmap",
    "movable_node",
    "movablecore",
    "nohz_full",
    "nr_cpus",
    "page_owner",
    "page_poison",
    "page_table_check",
    "percpu_alloc",
    "preempt",
    "psi",
    "swapaccount",
    "swiotlb",
    "transparent_hugepage",
    "transparent_hugepage_shmem",
    "transparent_hugepage_tmpfs",
    "vmalloc",
];

/// Parameters that are kept because their name starts so.
const KEPT_PREFIXES: &[&str] = &[
    "hugetlb_",
    "hv_balloon.",
    "init_on_",
    "iommu",
    "kfence.",
    "memory_hotplug.",
    "numa",
    "page_alloc.",
    "page_reporting.",
    "slab_",
    "slub_",
    "thp_",
    "virtio_balloon.",
    "zswap.",
];

/// What is kept of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The parameters of the list, as written and in their order.
    pub(crate) kept: String,
    /// How many others there were.
    pub(crate) dropped: u32,
}

/// Filters a kernel command line.
pub(crate) fn filter(text: &str) -> CommandLine {
    let mut line = CommandLine::default();
    let mut for_kernel = true;
    for parameter in parameters(text) {
        if parameter == "--" {
            for_kernel = false;
        } else if for_kernel && is_kept(parameter) {
            if !line.kept.is_empty() {
                line.kept.push(' ');
            }
            line.kept.push_str(parameter);
        } else {
            line.dropped = line.dropped.saturating_add(1);
        }
    }
    line
}

fn is_kept(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().replace('-', "_");
    KEPT.contains(&name.as_str()) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Splits at white space that is not inside double quotes.
fn parameters(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let words = text.split(move |c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> (String, u32) {
        let line = filter(text);
        (line.kept, line.dropped)
    }

    #[test]
    fn only_memory_parameters_stay() {
        let text = "BOOT_IMAGE=/vmlinuz-6.1.0 root=UUID=1234 ro quiet transparent_hugepage=madvise hugepagesz=1G \
                    hugepages=4 numa_balancing=disable luks.key=secret movable-node\n";
        let expected = "transparent_hugepage=madvise hugepagesz=1G hugepages=4 numa_balancing=disable movable-node";
        assert_eq!(kept(text), (expected.to_owned(), 5));
    }

    #[test]
    fn what_is_meant_for_init_is_dropped() {
        assert_eq!(kept("psi=1 -- mem=secret psi=0"), ("psi=1".to_owned(), 2));
    }

    #[test]
    fn quotes_hold_a_value_together() {
        let text = "dyndbg=\"file x.c +p mem=1G\" slub_debug=\"FZ, kmalloc-64\"";
        assert_eq!(kept(text), ("slub_debug=\"FZ, kmalloc-64\"".to_owned(), 1));
        assert_eq!(kept("a=\"open mem=1G"), (String::new(), 1));
    }

    #[test]
    fn a_name_must_match_in_full() {
        assert_eq!(kept("memory_password=x cmap=1 mem.x=1"), (String::new(), 3));
    }
}
