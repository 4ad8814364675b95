//! What files say of hugetlb pools.

use order9_mm::Mm;
use order9_mm::hugetlb::PoolSize;
use order9_mm::policy::Policy;
use order9_mm::space::{Access, Backing, MmapRequest, Place};
use order9_procfs::sysctl::{self, SettingError};
use order9_procfs::{meminfo, render_smaps};
use order9_units::NodeId;

use super::{CPU, HUGE, START, boot_nodes, pages, rendered, touch};

#[test]
fn files_and_meminfo_show_the_pool() {
    let mut mm = boot_nodes(Policy::default(), 1, 1 << 13);
    sysctl::write(&mut mm, "vm.nr_hugepages", "2\n").expect("there is memory");
    let space = mm.create_space().expect("it is the first");
    let backing = Backing::Hugetlb { shared: false, reserves: true };
    let request = MmapRequest { place: Place::Fixed(START), backing, ..MmapRequest::anon(pages(HUGE)) };
    mm.mmap(space, &request, CPU).expect("there is room");
    let read = |mm: &Mm, file: &str| sysctl::read(mm, file).expect("it can be read");
    assert_eq!(read(&mm, "vm.nr_hugepages"), "2\n");
    assert_eq!(read(&mm, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), "2\n");
    let of = ["free_hugepages", "resv_hugepages", "surplus_hugepages", "nr_overcommit_hugepages"];
    assert_eq!(of.map(|file| read(&mm, &format!("hugetlb/{file}"))), ["2\n", "1\n", "0\n", "0\n"]);
    assert!(sysctl::write(&mut mm, "hugetlb/free_hugepages", "1").is_err(), "it is read-only");
    for wrong in ["-1", "x"] {
        assert!(sysctl::write(&mut mm, "vm.nr_hugepages", wrong).is_err(), "{wrong}");
    }
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

#[test]
fn a_node_has_files_of_its_own_pool() {
    let mut mm = boot_nodes(Policy::default(), 2, 1 << 13);
    mm.set_nr_hugepages(PoolSize::all(4));
    let file = |node, file| format!("/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/{file}");
    sysctl::write(&mut mm, &file(1, "nr_hugepages"), "5\n").expect("there is memory");
    assert_eq!([0, 1].map(|node| mm.pages().hugetlb().hugetlb_pool_of(NodeId(node)).total), [2, 5]);
    assert_eq!(
        [0, 1].map(|node| sysctl::read(&mm, &file(node, "nr_hugepages"))),
        ["2\n", "5\n"].map(|text| Ok(text.into()))
    );
    assert_eq!(sysctl::read(&mm, &file(1, "free_hugepages")).as_deref(), Ok("5\n"));
    for (node, name) in [(7, "nr_hugepages"), (0, "resv_hugepages")] {
        assert_eq!(sysctl::read(&mm, &file(node, name)), Err(SettingError::Unknown));
    }
    assert!(sysctl::write(&mut mm, &file(0, "surplus_hugepages"), "1").is_err(), "it is read-only");
}
