//! What files say of hugetlb pools.

use order9_mm::Mm;
use order9_mm::hugetlb::PoolSize;
use order9_mm::policy::Policy;
use order9_mm::space::{Access, Backing, MmapRequest, Place};
use order9_procfs::{meminfo, render_smaps};

use super::{CPU, HUGE, START, boot_nodes, pages, rendered, touch};

#[test]
fn files_and_meminfo_show_the_pool() {
    let mut mm = boot_nodes(Policy::default(), 1, 1 << 13);
    mm.set_nr_hugepages(PoolSize::all(2));
    let space = mm.create_space().expect("it is the first");
    let backing = Backing::Hugetlb { shared: false, reserves: true };
    let request = MmapRequest { place: Place::Fixed(START), backing, ..MmapRequest::anon(pages(HUGE)) };
    mm.mmap(space, &request, CPU).expect("there is room");
    let shown = |mm: &Mm, field| meminfo(mm).find(|&(name, _)| name == field).expect("a field").1;
    let fields = ["HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp", "Hugepagesize", "Hugetlb"];
    assert_eq!(fields.map(|field| shown(&mm, field)), [2, 2, 1, 0, 2048, 4096]);
    touch(&mut mm, space, START, 0..1, Access::Write);
    assert_eq!(fields.map(|field| shown(&mm, field)), [2, 1, 0, 0, 2048, 4096]);
    let smaps = rendered(|out| render_smaps(&mm, mm.space(space).expect("it lives"), out));
    for line in [
        "Rss:                   0 kB",
        "Private_Hugetlb:    2048 kB",
        "Shared_Hugetlb:        0 kB",
        "KernelPageSize:     2048 kB",
        "VmFlags: rd wr mr mw me ht ",
    ] {
        assert!(smaps.contains(line), "{line} in\n{smaps}");
    }
}
