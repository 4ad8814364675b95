//! /proc/slabinfo.

use order9_mm::policy::Policy;
use order9_mm::slab::{CacheSpec, ObjectStep};
use order9_mm::{Gfp, Request};
use order9_procfs::render_slabinfo;
use order9_units::Order;

use super::{boot_nodes, rendered};

#[test]
fn slabinfo_is_laid_out_as_on_linux() {
    let mut mm = boot_nodes(Policy::default(), 1, 1 << 13);
    for spec in [CacheSpec::DENTRY, CacheSpec::EXT4_INODE] {
        let cache = mm.kmem_cache_create(spec).expect("the cache is sound");
        for _ in 0..50 {
            let step = mm.kmem_cache_alloc_fast(cache, &Request::new(Order::ZERO, Gfp::GFP_KERNEL));
            assert!(matches!(step, ObjectStep::Done(_)), "{step:?}");
        }
    }
    let expected = "\
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>
ext4_inode_cache      50     60   1080   30    8 : tunables    0    0    0 : slabdata      2      2      0
dentry                50     63    192   21    1 : tunables    0    0    0 : slabdata      3      3      0
";
    assert_eq!(rendered(|out| render_slabinfo(&mm, out)), expected);
}
