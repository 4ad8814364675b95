//! A record of /sys/kernel/debug/page_owner: which code of the kernel allocated a block (CONFIG_PAGE_OWNER, `page_owner=on`).
//!
//! A record has order and flags, the number of the first frame, and the stack of the allocation (kernel documentation: mm/page_owner).

use order9_snapshot::owners::Caller;
use order9_units::{Order, Pfn, PfnRange};

/// Beginnings of functions that allocate for whoever calls them.
const ALLOCATORS: [&str; 34] = [
    "post_alloc_hook",
    "prep_new_page",
    "get_page_from_freelist",
    "__alloc_pages",
    "__alloc_frozen_pages",
    "alloc_frozen_pages",
    "alloc_pages",
    "alloc_page_interleave",
    "__get_free_pages",
    "get_free_pages",
    "get_zeroed_page",
    "__folio_alloc",
    "folio_alloc",
    "alloc_slab_page",
    "allocate_slab",
    "new_slab",
    "refill_objects",
    "refill_sheaf",
    "___slab_alloc",
    "__slab_alloc",
    "slab_alloc",
    "kmem_cache_alloc",
    "__kmem_cache_alloc",
    "___kmalloc",
    "__kmalloc",
    "kmalloc",
    "__do_kmalloc",
    "kvmalloc",
    "__kvmalloc",
    "krealloc",
    "mempool_",
    "__vmalloc",
    "vmalloc",
    "save_stack",
];

/// A block of frames, and whoever allocated it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Frames of the block.
    pub range: PfnRange,
    /// Code that asked for the block; `None` for blocks that are older than the records.
    pub caller: Option<Caller>,
}

impl Record {
    /// Reads the first record of a text; `None` where none is whole.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let order = lines.next()?.strip_prefix("Page allocated via order ")?.split(',').next()?.parse().ok()?;
        let first = number(lines.next()?.strip_prefix("PFN ")?.split_whitespace().next()?)?;
        let stack: Vec<Function<'_>> =
            lines.take_while(|line| line.starts_with(' ')).filter_map(Function::parse).collect();
        let pages = Order::new(order)?.pages();
        (first < 1 << 40).then(|| Self { range: PfnRange::of(Pfn::new(first), pages), caller: caller(&stack) })
    }
}

/// A frame number: decimal up to 6.1 at least, hexadecimal in 6.12.
fn number(text: &str) -> Option<u64> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
}

/// A function of a stack, with the module it belongs to.
struct Function<'a> {
    name: &'a str,
    module: Option<&'a str>,
}

impl<'a> Function<'a> {
    /// A line as ` name+0x12/0x34 [module]`, which has an address in front before 4.10.
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let line = line.strip_prefix("[<").map_or(line, |rest| rest.split_once(' ').map_or("", |(_, rest)| rest));
        let mut words = line.split_whitespace();
        // Compilers mark copies of a function that they have made, as `.constprop.0`.
        let name = words.next()?.split(['+', '.']).next()?;
        // A module may be followed by the hash of its build, in the same brackets.
        let module = words.next().and_then(|word| word.strip_prefix('[')).map(|word| word.trim_end_matches(']'));
        (!name.is_empty()).then_some(Self { name, module })
    }
}

/// The first function of a stack, from the innermost on, that allocates for itself, and the first driver on the way outward.
fn caller(stack: &[Function<'_>]) -> Option<Caller> {
    let allocates = |name: &str| ALLOCATORS.iter().any(|start| name.starts_with(start));
    let first = stack.iter().position(|function| !allocates(function.name))?;
    let module = stack[first..].iter().find_map(|function| function.module).map(str::to_owned);
    // What was allocated before the records began has a stack of their own beginning.
    let is_early = stack[first].name.contains("page_owner") || stack[first].name == "register_early_stack";
    (!is_early).then(|| Caller { function: stack[first].name.to_owned(), module })
}

#[cfg(test)]
pub(crate) mod tests {
    use order9_units::Pages;

    use super::*;

    /// Linux 6.12, from a report to the list.
    pub(crate) const LINUX_6_12: &str = "\
Page allocated via order 9, mask 0x52dc0(GFP_KERNEL|__GFP_NOWARN|__GFP_NORETRY|__GFP_COMP|__GFP_ZERO), pid 1, tgid 1 (swapper/0), ts 1065952310 ns
PFN 0x23d200 type Unmovable Block 4585 type CMA Flags 0x4000000000000040(head|zone=1|kasantag=0x0)
 post_alloc_hook+0x228/0x230
 prep_new_page+0x28/0x148
 get_page_from_freelist+0x19d0/0x1a38
 __alloc_pages_noprof+0x1b0/0x440
 ___kmalloc_large_node+0xb4/0x1ec
 __kmalloc_large_node_noprof+0x2c/0xec
 __kmalloc_node_noprof+0x39c/0x548
 __kvmalloc_node_noprof+0xd8/0x18c
 nf_ct_alloc_hashtable.constprop.0+0x64/0x108
 nf_nat_init+0x3c/0xf8 [nf_nat]

";
    /// Linux 4.4 and its like, with addresses and a decimal number.
    const LINUX_4_4: &str = "\
Page allocated via order 0, mask 0x8(ffffff80085fb714)
PFN 654411 type Movable Block 639 type CMA Flags 0x0(ffffffbe5c7f12c0)
 [<ffffff9b64989c14>] post_alloc_hook+0x70/0x80
 [<ffffff9b651216e8>] msm_comm_try_state+0x5f8/0x14f4
";

    #[test]
    fn records_name_whoever_allocates_for_itself() {
        let record = Record::parse(LINUX_6_12).expect("a record");
        assert_eq!(record.range, PfnRange::of(Pfn::new(0x23_d200), Pages::new(512)));
        assert_eq!(record.caller.expect("one").to_string(), "nf_ct_alloc_hashtable [nf_nat]");
        let record = Record::parse(LINUX_4_4).expect("a record");
        assert_eq!(record.range, PfnRange::of(Pfn::new(654_411), Pages::new(1)));
        assert_eq!(record.caller.expect("one").to_string(), "msm_comm_try_state");
        let early = LINUX_4_4.replace("msm_comm_try_state", "init_page_owner");
        assert_eq!(Record::parse(&early).expect("a record").caller, None);
        assert_eq!(Record::parse("nonsense\n"), None);
        assert_eq!(Record::parse(&LINUX_6_12.replace("order 9", "order 99")), None);
    }
}
