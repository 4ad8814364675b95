//! Programs that choose their nodes: where their memory comes to lie, and what happens when that is full.

use std::num::NonZeroU64;

use order9_machine::{Machine, Options, Outcome, Results, Thread};
use order9_mm::policy::{MempolicyInterface, Policy};
use order9_mm::thp::HugeEnabled;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, NodeMask, PAGE_SIZE, Pages, PfnRange, ZoneKind};
use order9_workloads::{
    Access, AddressSpace, Administration, ChildKind, Ended, Files, Mapping, MbindFlags, MemoryMode, Mempolicy, Nodes,
    Of, PoolFile, Processes, Stop, Tmpfs,
};

use crate::{NORMAL, counter, disk, kib, mib, prices};

/// Memory of a node.
const NODE: Bytes = mib(16);

/// Two nodes, a CPU each, without huge pages; with so much swap.
fn machine(swap: Pages) -> Machine {
    let pages = Pages::from_bytes_floor(NODE);
    let zone =
        |node: u16, start| ZoneSpec { node: NodeId(node), kind: ZoneKind::Normal, span: PfnRange::of(start, pages) };
    let cpus = vec![NodeId(0), NodeId(1)];
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
        zones: vec![zone(0, NORMAL), zone(1, NORMAL + pages)],
        cpus: cpus.clone(),
        ..Layout::default()
    };
    let policy = Policy { mempolicy: MempolicyInterface::WeightedInterleave, ..Policy::default() };
    let mut mm = MmBuilder::new(&layout, policy).expect("nodes are a layout").content_tags().boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Never);
    let disks = if swap > Pages::ZERO { vec![disk(swap)] } else { Vec::new() };
    let options = Options { disks, check_every: NonZeroU64::new(50), ..Options::new(1) };
    Machine::new(mm, cpus, prices(), &options).expect("there are CPUs")
}

fn run<F>(swap: Pages, program: impl FnOnce(Thread) -> F + 'static) -> Results
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    machine(swap).run_program("program", program, |_| ())
}

fn policy(text: &str) -> Mempolicy {
    Mempolicy::parse(text).expect("a policy")
}

fn refused(call: &'static str, errno: &'static str) -> Stop {
    Stop::Refused { call, errno }
}

/// Pages of an area by node.
async fn nodes(sys: &Thread, area: order9_workloads::Area) -> Result<[u64; 2], Stop> {
    let mut found = [0; 2];
    for page in 0..area.pages() {
        found[sys.page_node(area.part(PAGE_SIZE * page, PAGE_SIZE)).await?.index()] += 1;
    }
    Ok(found)
}

#[test]
fn what_a_program_starts_inherits_its_policy() {
    let results = run(Pages::ZERO, async |sys: Thread| {
        sys.set_mempolicy(policy("interleave:all")).await?;
        for kind in [ChildKind::Thread, ChildKind::Process, ChildKind::Fork] {
            let body = |sys: Thread| async move {
                let area = sys.mmap(Mapping::anon(kib(400))).await?;
                sys.touch(area, Access::Write).await?;
                assert_eq!(nodes(&sys, area).await?, [50, 50]);
                assert_eq!(sys.get_mempolicy(None).await?, policy("interleave:0-1"));
                sys.munmap(area).await
            };
            let child = sys.spawn(kind, "child", body).await?;
            let Ended { result, .. } = sys.wait(child).await?;
            result?;
        }
        let body = |sys: Thread| async move {
            assert_eq!(sys.get_mempolicy(None).await?, Mempolicy::DEFAULT, "threads of the kernel have none");
            Ok(())
        };
        let child = sys.spawn(ChildKind::Kernel, "kthread", body).await?;
        sys.wait(child).await?.result
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert!(counter(&results, "numa_interleave") >= 300);
}

#[test]
fn threads_choose_for_themselves() {
    let results = run(Pages::ZERO, async |sys: Thread| {
        sys.set_mempolicy(policy("bind:0")).await?;
        let area = sys.mmap(Mapping::anon(kib(160))).await?;
        let threads = [("bind:0", None), ("bind:1", Some("bind:1")), ("interleave:0-1", Some("interleave:0-1"))];
        let mut children = Vec::new();
        for (at, (expected, own)) in threads.into_iter().enumerate() {
            let part = area.part(kib(40) * at as u64, kib(40));
            let body = move |sys: Thread| async move {
                if let Some(own) = own {
                    sys.set_mempolicy(policy(own)).await?;
                }
                sys.barrier("all have chosen", 4).await?;
                sys.touch(part, Access::Write).await?;
                assert_eq!(sys.get_mempolicy(None).await?, policy(expected));
                Ok(())
            };
            children.push(sys.spawn(ChildKind::Thread, "thread", body).await?);
        }
        sys.barrier("all have chosen", 4).await?;
        sys.touch(area.part(kib(120), kib(40)), Access::Write).await?;
        for child in children {
            sys.wait(child).await?.result?;
        }
        let mut found = Vec::new();
        for at in 0..4 {
            found.push(nodes(&sys, area.part(kib(40) * at, kib(40))).await?);
        }
        assert_eq!(found, [[10, 0], [0, 10], [5, 5], [10, 0]]);
        assert_eq!(sys.get_mempolicy(None).await?, policy("bind:0"));
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn mounts_say_where_their_files_lie() {
    let results = run(Pages::ZERO, async |sys: Thread| {
        for wrong in ["mpol=bind:2", "mpol=bind", "mpol=nowhere:0", "mpol=prefer:0-1"] {
            assert_eq!(sys.mount_tmpfs(wrong).await, Err(refused("mount", "EINVAL")), "{wrong}");
        }
        sys.set_mempolicy(policy("bind:0")).await?;
        let mount = sys.mount_tmpfs("mpol=interleave:0,1,size=1m").await?;
        for (remount, expected) in [("size=2m", [20, 20]), ("mpol=bind=static:1", [0, 40])] {
            sys.remount_tmpfs(mount, remount).await?;
            let file = sys.create_on(mount).await?;
            sys.write(file, Bytes::ZERO, kib(80)).await?;
            sys.truncate(file, kib(160)).await?;
            let area = sys.mmap(Mapping { length: kib(160), of: Of::FileShared(file, Bytes::ZERO) }).await?;
            sys.touch(area, Access::Write).await?;
            assert_eq!(nodes(&sys, area).await?, expected, "{remount}");
        }
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn pools_grow_by_the_policy_of_the_thread_that_writes() {
    let results = run(Pages::ZERO, async |sys: Thread| {
        sys.set_mempolicy(policy("bind:1")).await?;
        assert_eq!(sys.set_nr_hugepages(PoolFile::NrHugepagesMempolicy, 2).await?, 2);
        let area = sys.mmap(Mapping { length: mib(4), of: Of::Hugetlb { shared: false } }).await?;
        sys.set_mempolicy(Mempolicy::DEFAULT).await?;
        sys.touch(area, Access::Write).await?;
        assert_eq!(nodes(&sys, area).await?, [0, 1024], "the pool is there and nowhere else");
        sys.munmap(area).await?;
        sys.set_mempolicy(policy("bind:1")).await?;
        assert_eq!(sys.set_nr_hugepages(PoolFile::NrHugepages, 4).await?, 4, "which goes by no policy");
        let area = sys.mmap(Mapping { length: mib(8), of: Of::Hugetlb { shared: false } }).await?;
        sys.set_mempolicy(Mempolicy::DEFAULT).await?;
        sys.touch(area, Access::Write).await?;
        assert_eq!(nodes(&sys, area).await?, [512, 1536]);
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn pages_of_pools_follow_mbind() {
    let results = run(Pages::ZERO, async |sys: Thread| {
        sys.set_nr_hugepages(PoolFile::NrHugepages, 2).await?;
        let area = sys.mmap(Mapping { length: mib(4), of: Of::Hugetlb { shared: true } }).await?;
        sys.touch(area, Access::Write).await?;
        assert_eq!(nodes(&sys, area).await?, [512, 512]);
        let moves = MbindFlags { moves: true, strict: true, ..MbindFlags::default() };
        for (node, expected) in [("bind:1", [0, 1024]), ("bind:0", [1024, 0])] {
            sys.mbind(area, policy(node), moves).await?;
            assert_eq!(nodes(&sys, area).await?, expected);
        }
        assert_eq!(sys.migrate_pages(NodeMask::of(NodeId(0)), NodeMask::of(NodeId(1))).await?, 0);
        assert_eq!(nodes(&sys, area).await?, [0, 1024]);
        sys.touch(area, Access::Read).await?;
        sys.munmap(area).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn calls_do_what_they_say_and_are_refused_by_name() {
    let results = run(Pages::ZERO, async |sys: Thread| {
        let area = sys.mmap(Mapping::anon(kib(40))).await?;
        sys.mbind(area, policy("bind:0"), MbindFlags::default()).await?;
        sys.touch(area, Access::Write).await?;
        let strict = MbindFlags { strict: true, ..MbindFlags::default() };
        assert_eq!(sys.mbind(area, policy("bind:1"), strict).await, Err(refused("mbind", "EIO")));
        sys.mbind(area, policy("bind:1"), MbindFlags { moves: true, ..strict }).await?;
        assert_eq!(nodes(&sys, area).await?, [0, 10]);
        assert_eq!(sys.get_mempolicy(Some(area)).await?, policy("bind:1"));
        assert_eq!(sys.migrate_pages(NodeMask::of(NodeId(1)), NodeMask::of(NodeId(0))).await?, 0);
        assert_eq!(nodes(&sys, area).await?, [10, 0]);
        sys.mbind(area, policy("bind:0-1"), MbindFlags::default()).await?;
        sys.set_mempolicy_home_node(area, NodeId(1)).await?;
        sys.set_mems(NodeMask::of(NodeId(1)), true).await?;
        assert_eq!(sys.mems_allowed(), NodeMask::of(NodeId(1)));
        assert_eq!(nodes(&sys, area).await?, [0, 10]);
        assert_eq!(sys.move_pages(area, NodeId(0)).await, Err(refused("move_pages", "EACCES")));
        let nowhere = policy("bind:5");
        assert_eq!(sys.set_mempolicy(nowhere).await, Err(refused("set_mempolicy", "EINVAL")));
        let maps = sys.numa_maps();
        assert!(maps.contains(" bind:1 anon=10 dirty=10 N1=10 kernelpagesize_kB=4\n"), "{maps}");
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
    let (path, maps) = &results.numa_maps[0];
    assert_eq!(path, "/proc/1/numa_maps");
    assert!(maps.contains("N1=10"), "{maps}");
}

#[test]
fn the_page_cache_follows_the_reader() {
    let results = run(Pages::new(1), async |sys: Thread| {
        let file = sys.create_file(kib(800)).await?;
        sys.sync().await?;
        sys.drop_caches(order9_workloads::DropCaches::Pages).await?;
        sys.set_mempolicy(policy("interleave:0-1")).await?;
        let before = sys.numastat();
        sys.open(file).await?;
        sys.read(file, Bytes::ZERO, kib(800)).await?;
        let hits: Vec<u64> =
            sys.numastat().iter().zip(&before).map(|(now, then)| now.interleave_hit - then.interleave_hit).collect();
        assert!(hits.iter().all(|&hits| hits >= 100), "{hits:?}");
        sys.close(file).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

/// A program with this policy writes so much.
fn fill(text: &'static str, length: Bytes, swap: Pages) -> Results {
    run(swap, async move |sys: Thread| {
        sys.set_mempolicy(policy(text)).await?;
        let area = sys.mmap(Mapping { length, of: Of::Anon }).await?;
        sys.touch(area, Access::Write).await
    })
}

#[test]
fn a_bound_program_swaps_or_dies_within_its_nodes_and_others_go_elsewhere() {
    let length = mib(20);
    let bound = fill("bind:0", length, Pages::ZERO);
    let Outcome::OutOfMemory(kill) = &bound.outcome else { panic!("{:?}", bound.outcome) };
    assert!(kill.free > Pages::from_bytes_floor(mib(14)), "node 1 is free: {kill}");
    assert!(
        kill.report.contains("oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=0,mems_allowed=0-1\n"),
        "{}",
        kill.report
    );
    let swapped = fill("bind:0", length, Pages::new(1 << 13));
    assert_eq!(swapped.outcome, Outcome::Completed);
    assert!(counter(&swapped, "pswpout") > 500);
    for text in ["preferred:0", "preferred-many:0", "interleave:0", "local", "bind:0-1"] {
        let free = fill(text, length, Pages::new(1 << 13));
        // kswapd makes some room on node 0, which the program does not wait for.
        assert_eq!((&free.outcome, counter(&free, "pgsteal_direct")), (&Outcome::Completed, 0), "{text}");
    }
}

#[test]
fn only_who_may_have_memory_on_the_nodes_is_killed_for_it() {
    let results = run(Pages::ZERO, async |sys: Thread| {
        // Some of node 0 is taken, so that who fills the rest of it stays small.
        sys.set_mempolicy(policy("bind:0")).await?;
        let taken = sys.mmap(Mapping::anon(mib(5))).await?;
        sys.touch(taken, Access::Write).await?;
        // The larger process is bound to the other node: its end would not help.
        let body = |sys: Thread| async move {
            sys.set_mempolicy(policy("bind:1")).await?;
            let area = sys.mmap(Mapping::anon(mib(14))).await?;
            sys.touch(area, Access::Write).await?;
            sys.sleep(Nanos::new(20_000_000_000)).await
        };
        let large = sys.spawn(ChildKind::Process, "large", body).await?;
        sys.sleep(Nanos::new(1_000_000_000)).await?;
        let body = |sys: Thread| async move {
            sys.set_mempolicy(Mempolicy::new(MemoryMode::Bind, NodeMask::of(NodeId(0)))).await?;
            let area = sys.mmap(Mapping::anon(mib(20))).await?;
            sys.touch(area, Access::Write).await
        };
        let small = sys.spawn(ChildKind::Process, "small", body).await?;
        assert_eq!(sys.wait(small).await?.result, Err(Stop::Killed { process: "small".to_owned() }));
        sys.wait(large).await?.result
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(results.kills.len(), 1);
}
