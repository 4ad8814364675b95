//! /proc/cmdline: the boot parameters that bear on memory management, and no others.
//!
//! A kernel command line can name hosts, disks, users and keys. Only parameters of a fixed list are kept, and nothing
//! after `--`, which is meant for the first process. Their values stay where they consist of numbers, sizes and words that
//! the kernel itself knows; of any other value only that there was one.

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

/// Words that values of these parameters are made of.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "advise", "always", "auto", "auto_movable", "deflate", "deny", "disable", "domain", "embed", "enable", "fake", "false",
    "force", "full", "high", "inherit", "kernel", "lazy", "low", "lz4", "lz4hc", "lzo", "madvise", "managed_irq", "max",
    "memory", "n", "never", "no", "node", "noacpi", "noforce", "nohmat", "nohz", "none", "nopanic", "off", "offline", "on",
    "online", "online_kernel", "online_movable", "page", "pt", "soft", "strict", "true", "voluntary", "within_size", "y",
    "yes", "z3fold", "zbud", "zsmalloc", "zstd",
];

/// The boot parameters that a snapshot keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The parameters of the list in their order, `?` for a value that is not kept.
    pub(crate) kept: String,
    /// Number of parameters that were left out.
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
            line.kept.push_str(&shown(parameter));
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

/// The parameter as written, or without its value.
fn shown(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, value)) if !is_plain(value) => format!("{name}=?"),
        _ => parameter.to_owned(),
    }
}

/// Whether `value` consists of numbers, sizes and known words.
fn is_plain(value: &str) -> bool {
    const VALUE_MAX: usize = 200;
    let parts = value.split([',', ':', ';', '=', '@', '!', '#', '$', '+', '-', '.', '"', ' ']);
    value.len() <= VALUE_MAX && parts.into_iter().all(|part| part.is_empty() || WORDS.contains(&part) || is_size(part))
}

/// Whether `part` is a number, decimal or hexadecimal, maybe with a unit.
fn is_size(part: &str) -> bool {
    const DIGITS_MAX: usize = 20;
    let fits = |digits: &str, is_digit: fn(&u8) -> bool| {
        (1..=DIGITS_MAX).contains(&digits.len()) && digits.as_bytes().iter().all(is_digit)
    };
    let bare = part.strip_suffix(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't', '%']).unwrap_or(part);
    fits(bare, u8::is_ascii_digit) || bare.strip_prefix("0x").is_some_and(|hex| fits(hex, u8::is_ascii_hexdigit))
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
        assert_eq!(kept(text), ("slub_debug=?".to_owned(), 1));
        assert_eq!(kept("a=\"open mem=1G"), (String::new(), 1));
    }

    #[test]
    fn values_are_numbers_sizes_and_known_words() {
        for line in ["memmap=2G!0x100000000", "crashkernel=1G-4G:192M,4G-:256M", "numa=fake=4", "isolcpus=nohz,1-3,8"] {
            assert_eq!(kept(line).0, line);
        }
        let line = "mem=hunter2 hugepagesz=\"open sesame\" zswap.compressor=acme psi=1";
        assert_eq!(kept(line).0, "mem=? hugepagesz=? zswap.compressor=? psi=1");
    }

    #[test]
    fn a_name_must_match_in_full() {
        assert_eq!(kept("memory_password=x cmap=1 mem.x=1"), (String::new(), 3));
    }
}
