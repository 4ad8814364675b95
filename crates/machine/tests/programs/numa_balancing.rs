//! NUMA balancing on the machine: programs that run for a while, on two nodes.

use order9_machine::cost::{PRICES, Picos, Prices};
use order9_machine::{Machine, Options, Outcome, Results, Thread};
use order9_mm::policy::Policy;
use order9_mm::thp::HugeEnabled;
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Area, Mapping, MemoryMode, Mempolicy, Nodes, Processes, Stop};

use order9_units::NodeMask;

const SIZE: Bytes = Bytes::new(8 << 20);

/// Two nodes of 64 MiB with two CPUs each.
fn mm(huge: HugeEnabled, balancing: bool) -> Mm {
    let node = Pages::new(16 << 10);
    let zone = |of: u16| ZoneSpec {
        node: NodeId(of),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + u64::from(of) * node.get()), node),
    };
    let layout = Layout {
        nodes: [[10, 21], [21, 10]].map(|row| NodeSpec { distances: row.to_vec() }).to_vec(),
        zones: [0, 1].map(zone).to_vec(),
        cpus: [0, 0, 1, 1].map(NodeId).to_vec(),
        ..Layout::default()
    };
    let builder = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound");
    let mut mm = builder.content_tags().boot();
    mm.phys_mut().set_thp_enabled(huge);
    mm.phys_mut().set_min_free_kbytes(512);
    mm.set_numa_balancing(balancing);
    mm
}

/// Runs a program whose laws are checked after every so many steps; remote loads cost twice as much.
fn run<F>(mm: Mm, program: impl FnOnce(Thread) -> F + 'static) -> (Results, Vec<(String, u64)>)
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    let mut prices = Prices::default();
    PRICES.iter().for_each(|price| *(price.field)(&mut prices) = Picos::new(100_000));
    prices.access.tlb_entries = 64;
    for remote in [&mut prices.access.near, &mut prices.access.far] {
        let all = [
            &mut remote.touch_page,
            &mut remote.fill_page,
            &mut remote.load,
            &mut remote.load_base,
            &mut remote.load_huge,
        ];
        all.into_iter().for_each(|price| *price = Picos::new(200_000));
    }
    let mut options = Options::new(1);
    options.check_every = std::num::NonZeroU64::new(500);
    let machine = Machine::new(mm, [0, 0, 1, 1].map(NodeId).to_vec(), prices, &options).expect("there are CPUs");
    let mut counters = Vec::new();
    let results = machine.run_program("program", program, |tick| {
        counters = order9_procfs::vmstat(tick.engine).map(|(name, value)| (name.to_owned(), value)).collect();
    });
    assert_eq!(results.outcome, Outcome::Completed);
    (results, counters)
}

fn counter(counters: &[(String, u64)], name: &str) -> u64 {
    counters.iter().find(|(of, _)| of == name).map_or(0, |&(_, value)| value)
}

/// Memory on node 1, for a program that is bound to a CPU of node 0.
async fn remote_memory(sys: &Thread) -> Result<Area, Stop> {
    sys.set_affinity(&[0]).await?;
    let there = Mempolicy::new(MemoryMode::Bind, NodeMask::of(NodeId(1)));
    sys.set_mempolicy(there).await?;
    let area = sys.mmap(Mapping::anon(SIZE)).await?;
    sys.touch(area, Access::Write).await?;
    sys.set_mempolicy(Mempolicy::DEFAULT).await?;
    assert_eq!(sys.page_node(area).await?, NodeId(1));
    Ok(area)
}

#[test]
fn memory_comes_to_a_program_that_cannot_go_to_it() {
    for huge in [HugeEnabled::Never, HugeEnabled::Always] {
        let (_, counters) = run(mm(huge, true), |sys| async move {
            let area = remote_memory(&sys).await?;
            let first = sys.load(area, 1000).await?.time;
            for _ in 0..40 {
                sys.load(area, 1_000_000).await?;
            }
            assert_eq!(sys.page_node(area).await?, NodeId(0));
            assert!(sys.load(area, 1000).await?.time < first, "loads are local now");
            Ok(())
        });
        let count = |name| counter(&counters, name);
        let pages = SIZE.get() >> 12;
        assert!(count("numa_pages_migrated") >= pages, "{huge:?}: {counters:?}");
        assert!(count("numa_pte_updates") >= pages && count("numa_hint_faults") > 0);
        assert_eq!(count("numa_huge_pte_updates") > 0, huge == HugeEnabled::Always);
        assert!(count("numa_hint_faults_local") <= count("numa_hint_faults"));
    }
}

#[test]
fn a_program_goes_to_memory_that_cannot_come() {
    let (_, counters) = run(mm(HugeEnabled::Never, true), |sys| async move {
        let area = remote_memory(&sys).await?;
        sys.pin(area).await?;
        sys.set_affinity(&[0, 1, 2, 3]).await?;
        for _ in 0..40 {
            sys.load(area, 1_000_000).await?;
        }
        assert_eq!((sys.node(), sys.page_node(area).await?), (NodeId(1), NodeId(1)));
        Ok(())
    });
    assert_eq!(counter(&counters, "numa_pages_migrated"), 0);
    assert!(counter(&counters, "pgmigrate_fail") > 0);
}

#[test]
fn passes_and_computing_let_a_program_scan_as_loads_do() {
    let (_, counters) = run(mm(HugeEnabled::Never, true), |sys| async move {
        let area = remote_memory(&sys).await?;
        for _ in 0..6 {
            sys.compute(Nanos::new(1_000_000_000)).await?;
            sys.touch(area, Access::Read).await?;
        }
        assert_eq!(sys.page_node(area).await?, NodeId(0));
        Ok(())
    });
    assert!(counter(&counters, "numa_hint_faults") >= SIZE.get() >> 12);
}

#[test]
fn off_it_leaves_no_trace_and_on_a_run_is_the_same_twice() {
    let program = |sys: Thread| async move {
        let area = remote_memory(&sys).await?;
        for _ in 0..20 {
            sys.load(area, 1_000_000).await?;
        }
        Ok(())
    };
    let (off, counters) = run(mm(HugeEnabled::Never, false), program);
    assert!(counters.iter().all(|(name, _)| !name.starts_with("numa_hint")), "{counters:?}");
    let [(one, first), (two, second)] = [(); 2].map(|()| run(mm(HugeEnabled::Never, true), program));
    assert_eq!((one.elapsed, first), (two.elapsed, second));
    assert!(one.elapsed < off.elapsed, "it pays: {:?} and {:?}", one.elapsed, off.elapsed);
}
