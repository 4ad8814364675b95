//! Files on tmpfs, their huge pages, and what becomes of them when memory is short.

use std::num::NonZeroU64;

use order9_machine::cost::{Picos, Prices};
use order9_machine::disk::DiskSpec;
use order9_machine::{
    CollapseEvent, DiskLimits, Event, FileSystem, Machine, MachineDisk, Options, Outcome, Results, Thread, TraceKinds,
};
use order9_mm::policy::Policy;
use order9_mm::thp::HugeEnabled;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, PfnRange, ZoneKind};
use order9_workloads::{
    Access, AddressSpace, Advice, Area, FileId, Files, Mapping, Mount, Of, Processes, Statfs, Stop, Tmpfs,
};

use crate::{NORMAL, counter, disk, machine_with, mib, prices};

fn machine(memory: Bytes, swap: Bytes) -> Machine {
    let disks = vec![disk(Pages::from_bytes_floor(swap))];
    machine_with(memory, 2, &Options { check_every: NonZeroU64::new(509), disks, ..Options::new(1) })
}

fn run<F>(machine: Machine, program: impl FnOnce(Thread) -> F + 'static) -> Results
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    let results = machine.run_program("program", program, |tick| {
        if tick.is_last {
            tick.engine.check().expect("every law holds at the end");
        }
    });
    assert_eq!(results.outcome, Outcome::Completed);
    results
}

/// A file of `length` on a mount, and all of it mapped.
async fn mapped(sys: &Thread, mount: Mount, length: Bytes) -> Result<(FileId, Area), Stop> {
    let file = sys.create_on(mount).await?;
    sys.truncate(file, length).await?;
    Ok((file, sys.mmap(Mapping { length, of: Of::FileShared(file, Bytes::ZERO) }).await?))
}

#[test]
fn faults_and_calls_make_huge_pages_where_the_mount_says_so() {
    let results = run(machine(mib(32), Bytes::ZERO), async |sys| {
        let mount = sys.mount_tmpfs("huge=always").await?;
        let (_, area) = mapped(&sys, mount, mib(4)).await?;
        sys.touch(area, Access::Write).await?;
        let written = sys.create_on(mount).await?;
        sys.write(written, Bytes::ZERO, mib(2)).await?;
        sys.remount_tmpfs(mount, "huge=never").await?;
        let (_, area) = mapped(&sys, mount, mib(2)).await?;
        sys.touch(area, Access::Write).await
    });
    let counters = ["thp_file_alloc", "thp_file_mapped", "thp_file_fallback", "nr_shmem", "nr_shmem_hugepages"];
    assert_eq!(counters.map(|name| counter(&results, name)), [3, 2, 0, 4 * 512, 3]);
    assert_eq!(counter(&results, "pgfault"), 2 + 512);
}

#[test]
fn holes_are_punched_by_files_and_mappings_and_files_on_disk_are_refused() {
    let results = run(machine(mib(32), Bytes::ZERO), async |sys| {
        let mount = sys.mount_tmpfs("huge=always").await?;
        let (file, area) = mapped(&sys, mount, mib(6)).await?;
        sys.touch(area, Access::Write).await?;
        sys.punch_hole(file, Bytes::new(100), mib(2)).await?;
        sys.madvise(area.part(mib(4), mib(2)), Advice::Remove).await?;
        let on_disk = sys.create_file(mib(1)).await?;
        let refused = |call| Err(Stop::Refused { call, errno: "EOPNOTSUPP" });
        assert_eq!(sys.punch_hole(on_disk, Bytes::ZERO, mib(1)).await, refused("fallocate"));
        assert_eq!(sys.truncate(on_disk, Bytes::ZERO).await, refused("ftruncate"));
        Ok(())
    });
    // The hole begins behind the first byte and ends within the second huge page.
    assert_eq!(["nr_shmem", "nr_shmem_hugepages"].map(|name| counter(&results, name)), [1024, 2]);
}

#[test]
fn files_larger_than_memory_go_to_swap_and_come_back() {
    for huge in ["huge=never,size=24m", "huge=always,size=24m"] {
        let results = run(machine(mib(16), mib(64)), async move |sys| {
            let mount = sys.mount_tmpfs(huge).await?;
            let (_, area) = mapped(&sys, mount, mib(12)).await?;
            let written = sys.create_on(mount).await?;
            sys.touch(area, Access::Write).await?;
            sys.write(written, Bytes::ZERO, mib(12)).await?;
            sys.touch(area, Access::Write).await?;
            sys.read(written, Bytes::ZERO, mib(12)).await.map(|_| ())
        });
        assert!(results.kills.is_empty(), "{huge}");
        assert!(counter(&results, "pswpout") > 2000 && counter(&results, "pswpin") > 2000, "{huge}");
        assert_eq!(counter(&results, "thp_split_page") > 0, huge.contains("always"));
    }
}

#[test]
fn pages_that_go_to_compressed_memory_take_time_of_the_cpu() {
    let swapped = |compress, decompress| {
        let prices =
            Prices { compress_page: Picos::new(compress), decompress_page: Picos::new(decompress), ..prices() };
        let size = Pages::from_bytes_floor(mib(64));
        let disks = vec![MachineDisk {
            name: "zram0".to_owned(),
            spec: DiskSpec::in_memory(size),
            swap: size,
            limits: DiskLimits::default(),
            file_system: FileSystem::Plain,
        }];
        let options = Options { check_every: NonZeroU64::new(509), disks, ..Options::new(1) };
        let span = PfnRange::of(NORMAL, Pages::from_bytes_floor(mib(16)));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0); 2],
            ..Layout::default()
        };
        let mm = MmBuilder::new(&layout, Policy::default()).expect("zones are a layout").boot();
        run(Machine::new(mm, vec![NodeId(0); 2], prices, &options).expect("there are CPUs"), async |sys| {
            let mapped = sys.mmap(Mapping::anon(mib(24))).await?;
            sys.touch(mapped, Access::Write).await?;
            sys.touch(mapped, Access::Write).await
        })
    };
    let [free, paid] = [swapped(0, 0), swapped(50_000_000, 30_000_000)];
    let [out, read] = ["pswpout", "pswpin"].map(|name| counter(&paid, name));
    assert!(out > 2000 && read > 2000, "{out} pages out and {read} in");
    // The two runs do not swap the same pages, but work beside compression is a small part of the time.
    let [before, after] = [&free, &paid].map(|results| counter(results, "order9_cpu_busy_ns"));
    assert!(after >= out * 50_000 + read * 30_000, "{before} ns of the CPUs without prices, {after} with them");
    assert!(before < after / 4, "{before} ns of the CPUs without prices, {after} with them");
}

/// Two ranges of a file that khugepaged collapses behind its program.
fn collapsed(policy: Policy) -> Results {
    let span = PfnRange::of(NORMAL, Pages::from_bytes_floor(mib(64)));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("zones are a layout").content_tags().boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
    let names = ["mm_khugepaged_scan_file", "mm_khugepaged_collapse_file"];
    let trace = names.into_iter().fold(TraceKinds::NONE, |kinds, name| kinds.with(name).expect("it exists"));
    let options = Options { check_every: NonZeroU64::new(4999), trace, trace_max: 100, ..Options::new(1) };
    let machine = Machine::new(mm, vec![NodeId(0); 2], prices(), &options).expect("there are CPUs");
    run(machine, async |sys| {
        // Which places the mapping for huge pages, but gives it none.
        let mount = sys.mount_tmpfs("huge=advise").await?;
        let (_, area) = mapped(&sys, mount, mib(4)).await?;
        sys.touch(area, Access::Write).await?;
        sys.remount_tmpfs(mount, "huge=always").await?;
        sys.sleep(Nanos::new(40_000_000_000)).await?;
        sys.touch(area, Access::Read).await
    })
}

#[test]
fn khugepaged_collapses_files_behind_the_program() {
    let results = collapsed(Policy::default());
    assert_eq!(counter(&results, "nr_shmem_hugepages"), 2);
    assert_eq!(results.events, [], "before 6.1 nobody sees it");
}

#[test]
fn from_6_1_on_collapses_of_files_are_traced() {
    let mut policy = Policy::default();
    policy.thp.madvise_collapse = true;
    let results = collapsed(policy);
    let events: Vec<_> = results.events.iter().map(|traced| (traced.name(), traced.event)).collect();
    let [scan, done, second, ..] = events[..] else { panic!("{events:?}") };
    let Event::Collapse(CollapseEvent::ScanFile { present: 512, swap: 0, result: "succeeded", .. }) = scan.1 else {
        panic!("{scan:?}")
    };
    let Event::Collapse(CollapseEvent::CollapseFile { index: 0, pfn: Some(_), result: "succeeded", .. }) = done.1
    else {
        panic!("{done:?}")
    };
    assert_eq!([scan.0, done.0, second.0], ["mm_khugepaged_scan_file", "mm_khugepaged_collapse_file", scan.0]);
}

#[test]
fn a_full_mount_refuses_calls_and_ends_programs_that_fault() {
    let results = run(machine(mib(32), Bytes::ZERO), async |sys| {
        let refused = |call, errno| Stop::Refused { call, errno };
        let mount = sys.mount_tmpfs("huge=always,size=3m").await?;
        let df = async || sys.statfs(mount).await.map(|Statfs { blocks, free }| (blocks.get(), free.get()));
        assert_eq!(df().await?, (768, 768));
        let written = sys.create_on(mount).await?;
        sys.write(written, Bytes::ZERO, mib(2)).await?;
        assert_eq!(df().await?, (768, 256), "one huge page");
        let call = sys.write(written, mib(2) - Bytes::new(100), mib(2)).await;
        assert_eq!((call, df().await?), (Err(refused("pwrite", "ENOSPC")), (768, 0)));
        assert_eq!(sys.read(written, Bytes::ZERO, mib(8)).await?, mib(3), "the file ends where it was written");
        sys.truncate(written, mib(2)).await?;
        let other = sys.create_on(mount).await?;
        sys.write(other, Bytes::ZERO, Bytes::new(5000)).await?;
        assert_eq!(sys.fallocate(other, Bytes::ZERO, mib(2)).await, Err(refused("fallocate", "ENOSPC")));
        assert_eq!((sys.read(other, Bytes::ZERO, mib(8)).await?, df().await?), (Bytes::new(5000), (768, 254)));
        sys.fallocate(other, Bytes::new(4096), mib(1) - Bytes::new(4096)).await?;
        assert_eq!((sys.read(other, Bytes::ZERO, mib(8)).await?, df().await?), (mib(1), (768, 0)));
        assert_eq!(sys.remount_tmpfs(mount, "size=2m").await, Err(refused("mount", "EINVAL")));
        let (_, area) = mapped(&sys, mount, mib(1)).await?;
        let addr = area.start;
        assert_eq!(sys.touch(area, Access::Write).await, Err(Stop::Signal { signal: "SIGBUS", addr }));
        sys.remount_tmpfs(mount, "size=25%").await?;
        sys.touch(area, Access::Write).await?;
        assert_eq!(sys.mount_tmpfs("size=lots").await, Err(refused("mount", "EINVAL")));
        Ok(())
    });
    // What the last file holds reaches beyond its end.
    assert_eq!(["nr_shmem", "thp_file_fallback"].map(|name| counter(&results, name)), [512 + 256 + 512, 0]);
}
