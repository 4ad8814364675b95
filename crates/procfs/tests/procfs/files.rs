//! Files of /proc, rendered from a machine with two programs: byte for byte as golden files hold them, and as an independent
//! parser reads them. That one knows no zone files: crates/cli/tests/rendered.rs has those read by the reader of real hosts.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-procfs --test procfs`, then read the difference. The files were
//! compared with those of a running Linux 6.18 for fields, order and columns.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use order9_mm::policy::{HugeInterface, Policy};
use order9_mm::space::{Access, Backing, Madvise, MmapRequest, Prot};
use order9_mm::{Mm, Space, SpaceId};
use order9_procfs::{meminfo, render_meminfo, render_smaps, render_smaps_rollup, render_status, render_vmstat, vmstat};
use order9_units::Pages;
use procfs_core::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps, SmapsRollup, VmFlags};
use procfs_core::{FromBufRead, Meminfo, VmStat};

use super::{CPU, boot, fork, pages, rendered, touch};

/// A release that has these files and fields about huge pages, and `shmem`, huge pages of shared memory.
fn release(interface: HugeInterface, shmem: bool) -> Policy {
    let mut policy = Policy::default();
    (policy.thp.interface, policy.thp.shmem) = (interface, shmem);
    policy
}

/// A program with every kind of mapping and pages in every state, and its child, which has written some of them since.
fn two_programs() -> (Mm, SpaceId, SpaceId) {
    let mut mm = boot(release(HugeInterface::Sizes, true), Pages::ZERO);
    let parent = mm.create_space().expect("it is the first");
    let map = |mm: &mut Mm, backing, count, prot, locked| {
        let request = MmapRequest { backing, prot, locked, ..MmapRequest::anon(pages(count)) };
        mm.mmap(parent, &request, CPU).expect("there is room")
    };
    let anon = map(&mut mm, Backing::AnonPrivate, 16, Prot::RW, false);
    touch(&mut mm, parent, anon, 0..9, Access::Write);
    touch(&mut mm, parent, anon, 9..12, Access::Read); // The page of zeros counts nowhere.
    let locked = map(&mut mm, Backing::AnonPrivate, 4, Prot::RW, true);
    touch(&mut mm, parent, locked, 0..4, Access::Write);
    mm.mprotect(parent, locked, pages(2), Prot::READ).expect("it is mapped");
    let huge = map(&mut mm, Backing::AnonPrivate, 1024, Prot::RW, false);
    mm.madvise(parent, huge, pages(1024), Madvise::HugePage, CPU).expect("it is mapped");
    let none = map(&mut mm, Backing::AnonPrivate, 8, Prot::NONE, false);
    mm.madvise(parent, none, pages(8), Madvise::NoHugePage, CPU).expect("it is mapped");
    let shared = map(&mut mm, Backing::AnonShared, 6, Prot::RW, false);
    touch(&mut mm, parent, shared, 0..4, Access::Write);
    let file = mm.create_file(Pages::new(32)).expect("there are few");
    let private = Backing::File { file, offset: Pages::new(3), shared: false };
    let private = map(&mut mm, private, 5, Prot::RW, false);
    touch(&mut mm, parent, private, 0..2, Access::Read);
    touch(&mut mm, parent, private, 2..4, Access::Write);
    let child = fork(&mut mm, parent);
    touch(&mut mm, child, anon, 0..2, Access::Write);
    touch(&mut mm, child, shared, 2..4, Access::Read);
    fork(&mut mm, child); // Three share what the child has not written.
    mm.check().expect("every law holds");
    (mm, parent, child)
}

fn parsed<T: FromBufRead>(text: &str) -> T {
    T::from_buf_read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("the file can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(text, expected, "{} differs", path.display());
}

fn living(mm: &Mm, id: SpaceId) -> &Space {
    mm.space(id).expect("it lives")
}

#[test]
fn rendered_files_are_as_stored() {
    let (mm, parent, _) = two_programs();
    let space = living(&mm, parent);
    assert_golden("meminfo", &rendered(|out| render_meminfo(&mm, out)));
    assert_golden("smaps", &rendered(|out| render_smaps(&mm, space, out)));
    assert_golden("smaps_rollup", &rendered(|out| render_smaps_rollup(&mm, space, out)));
    assert_golden("status", &rendered(|out| render_status(space, out)));
}

#[test]
fn meminfo_says_what_the_engine_holds() {
    let (mm, ..) = two_programs();
    let read: Meminfo = parsed(&rendered(|out| render_meminfo(&mm, out)));
    let bytes = |pages: u64| Pages::new(pages).bytes().get();
    let sum = |of: fn(&order9_mm::Zone) -> u64| bytes(mm.frames().zones().iter().map(of).sum());
    let user = mm.pages().user_levels();
    assert_eq!((read.mem_total, read.mem_free), (1 << 30, sum(order9_mm::Zone::free)));
    let reserves = sum(|zone| zone.watermarks().high + zone.lowmem_reserve().into_iter().max().unwrap_or(0));
    assert_eq!(read.mem_available, Some(read.mem_free - reserves));
    assert_eq!((read.anon_pages, read.mapped), (Some(bytes(user.anon)), bytes(user.mapped)));
    assert_eq!((read.cached, read.shmem), (bytes(user.shmem), Some(bytes(user.shmem))));
    assert_eq!(read.page_tables, Some(bytes(user.page_tables)));
    assert_eq!((read.mlocked, read.unevictable), (Some(bytes(4)), Some(bytes(4))));
    assert_eq!((read.hugepages_total, read.hugepagesize), (Some(0), Some(2 << 20)));
}

#[test]
fn fields_of_huge_pages_come_with_their_release() {
    use HugeInterface::{Base, Eligible, File, HugetlbTotal, PmdSize, Sizes};
    let shown = |text: &str, names: &[&str]| -> Vec<String> {
        let names_of_lines = text.lines().filter_map(|line| line.split(':').next()).map(str::to_owned);
        names_of_lines.filter(|name| names.contains(&name.as_str())).collect()
    };
    let in_meminfo = ["AnonHugePages", "ShmemHugePages", "ShmemPmdMapped", "FileHugePages", "FilePmdMapped", "Hugetlb"];
    let in_smaps = ["AnonHugePages", "ShmemPmdMapped", "FilePmdMapped", "THPeligible"];
    for (interface, shmem, meminfo, smaps) in [
        (Base, false, &[0][..], &[0][..]),
        (Base, true, &[0, 1, 2], &[0, 1]),
        (PmdSize, true, &[0, 1, 2], &[0, 1]),
        (HugetlbTotal, true, &[0, 1, 2, 5], &[0, 1]),
        (Eligible, true, &[0, 1, 2, 5], &[0, 1, 3]),
        (File, true, &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3]),
        (Sizes, true, &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3]),
    ] {
        let mut mm = boot(release(interface, shmem), Pages::ZERO);
        let id = mm.create_space().expect("it is the first");
        mm.mmap(id, &MmapRequest::anon(pages(1)), CPU).expect("there is room");
        let space = living(&mm, id);
        let of = |names: &[&str], which: &[usize]| which.iter().map(|&at| names[at].to_owned()).collect::<Vec<_>>();
        let read = rendered(|out| render_meminfo(&mm, out));
        assert_eq!(shown(&read, &in_meminfo), of(&in_meminfo, meminfo), "{interface:?}");
        let read = rendered(|out| render_smaps(&mm, space, out));
        assert_eq!(shown(&read, &in_smaps), of(&in_smaps, smaps), "{interface:?}");
        let read = rendered(|out| render_smaps_rollup(&mm, space, out));
        let but_eligible: Vec<usize> = smaps.iter().copied().filter(|&at| in_smaps[at] != "THPeligible").collect();
        assert_eq!(shown(&read, &in_smaps), of(&in_smaps, &but_eligible), "{interface:?}");
    }
}

#[test]
fn meminfo_shows_contiguous_areas_where_there_are_any() {
    let fields = |mm: &Mm| meminfo(mm).collect::<HashMap<_, _>>();
    assert!(!fields(&boot(Policy::default(), Pages::ZERO)).contains_key("CmaTotal"));
    let mm = boot(Policy::default(), Pages::new(16 << 8));
    let read: Meminfo = parsed(&rendered(|out| render_meminfo(&mm, out)));
    assert_eq!((read.cma_total, read.cma_free), (Some(16 << 20), Some(16 << 20)));
}

#[test]
fn vmstat_says_what_the_engine_counts() {
    let (mm, ..) = two_programs();
    let VmStat(read) = parsed(&rendered(|out| render_vmstat(&mm, out)));
    let engine: HashMap<_, _> = vmstat(&mm).map(|(name, value)| (name.to_owned(), value as i64)).collect();
    assert_eq!(read, engine);
    let meminfo: HashMap<_, _> = meminfo(&mm).collect();
    for (level, field) in [
        ("nr_free_pages", "MemFree"),
        ("nr_anon_pages", "AnonPages"),
        ("nr_mapped", "Mapped"),
        ("nr_file_pages", "Cached"),
        ("nr_shmem", "Shmem"),
        ("nr_page_table_pages", "PageTables"),
    ] {
        assert_eq!(read[level] as u64 * 4, meminfo[field], "{level} and {field}");
    }
}

/// A field of a mapping, in bytes.
fn field(map: &MemoryMap, name: &str) -> u64 {
    *map.extension.map.get(name).unwrap_or_else(|| panic!("no {name} in {map:?}"))
}

fn rollup(mm: &Mm, space: &Space) -> MemoryMap {
    let read: SmapsRollup = parsed(&rendered(|out| render_smaps_rollup(mm, space, out)));
    let mut maps = read.memory_map_rollup.0;
    assert_eq!((maps.len(), &maps[0].pathname), (1, &MMapPath::Rollup));
    maps.remove(0)
}

#[test]
fn smaps_says_what_is_mapped() {
    let (mm, parent, child) = two_programs();
    for id in [parent, child] {
        let space = living(&mm, id);
        let read = parsed::<MemoryMaps>(&rendered(|out| render_smaps(&mm, space, out))).0;
        assert_eq!(read.len(), space.vmas().count());
        for (map, vma) in read.iter().zip(space.vmas()) {
            assert_eq!(map.address, (vma.range.start.addr().get(), vma.range.end.addr().get()));
            assert_eq!(map.perms.contains(MMPermissions::WRITE), vma.prot.has(Prot::WRITE));
            assert_eq!(map.perms.contains(MMPermissions::PRIVATE), vma.kind.is_private());
            assert_eq!(map.extension.vm_flags.contains(VmFlags::LO), vma.locked);
            let parts = ["Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty"];
            assert_eq!(parts.map(|part| field(map, part)).iter().sum::<u64>(), field(map, "Rss"));
            assert!(field(map, "Pss") <= field(map, "Rss") && field(map, "Rss") <= field(map, "Size"));
            assert!(field(map, "Pss_Dirty") <= field(map, "Pss"));
        }
        let rss = space.rss();
        let total = |name| read.iter().map(|map| field(map, name)).sum::<u64>();
        assert_eq!(total("Rss"), pages(rss.anon_pages + rss.shmem_pages).get());
        assert_eq!(total("Anonymous"), pages(rss.anon_pages).get());
        let rollup = rollup(&mm, space);
        for name in ["Rss", "Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty", "Referenced", "Anonymous"]
        {
            assert_eq!(field(&rollup, name), total(name), "{name}");
        }
        let kinds = ["Pss_Anon", "Pss_File", "Pss_Shmem"].map(|kind| field(&rollup, kind)).iter().sum::<u64>();
        let pss = field(&rollup, "Pss");
        assert!(kinds <= pss && pss < kinds + 2 * 1024, "each is rounded down to kB: {kinds} of {pss}");
    }
}

#[test]
fn proportional_sizes_of_all_programs_add_up_to_the_pages_there_are() {
    let (mm, ..) = two_programs();
    let mut pss = 0;
    for (_, space) in mm.spaces() {
        pss += field(&rollup(&mm, space), "Pss");
    }
    let user = mm.pages().user_levels();
    let mapped = pages(user.anon + user.mapped).get();
    assert!(pss <= mapped && mapped <= pss + 3 * 1024, "{pss} of {mapped} bytes, rounded down to kB three times");
}

#[test]
fn a_program_without_mappings_has_an_empty_file_and_a_rollup() {
    let mut mm = boot(Policy::default(), Pages::ZERO);
    let id = mm.create_space().expect("it is the first");
    let space = living(&mm, id);
    assert_eq!(rendered(|out| render_smaps(&mm, space, out)), "");
    let rollup = rendered(|out| render_smaps_rollup(&mm, space, out));
    assert!(rollup.starts_with("00000000-00000000 ---p 00000000 00:00 0 "), "{rollup}");
    assert_eq!(rollup.lines().count(), 22);
}
