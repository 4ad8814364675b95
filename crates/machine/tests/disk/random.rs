//! Random streams of bios on random disks.

use order9_machine::disk::{Bio, Block, DiskSpec, Op, Rotating, Transfer, WriteCache};
use order9_units::{Bytes, Pages};
use proptest::prelude::*;

use crate::naive::{Outcome, simulate};
use crate::{disk, machine, ns, plain, spawn};

/// Blocks of the disk: few, so that neighbours meet.
const SIZE: u64 = 96;

fn transfers() -> impl Strategy<Value = Transfer> {
    (0_u64..400, 1_u64..150)
        .prop_map(|(latency, page)| Transfer { latency: ns(latency), bandwidth: Bytes::new(4_096_000_000_000 / page) })
}

fn specs() -> impl Strategy<Value = DiskSpec> {
    let rotating = (0_u64..50, 0_u64..500, 0_u64..300).prop_map(|(track, more, rotation)| Rotating {
        seek_track: ns(track),
        seek: ns(track + more),
        rotation: ns(rotation),
    });
    let cache = (0_u64..40, 1_u64..50).prop_map(|(pages, page)| WriteCache {
        size: Pages::new(pages).bytes(),
        bandwidth: Bytes::new(4_096_000_000_000 / page),
    });
    let options = (prop::option::of(rotating), prop::option::of(cache));
    (transfers(), transfers(), 1_u32..6, 1_u64..12, options).prop_map(|(read, write, queue_depth, max, options)| {
        let (rotating, write_cache) = options;
        let (size, max_request) = (Pages::new(SIZE), Pages::new(max));
        DiskSpec { size, read, write, queue_depth, max_request, rotating, write_cache, ..plain() }
    })
}

/// Bios with times that do not fall.
fn streams() -> impl Strategy<Value = Vec<(u64, Bio)>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0_u64..60, 1 => 0_u64..3000];
    let op = prop_oneof![Just(Op::Read), Just(Op::Write)];
    let bio = (gap, op, 0..SIZE - 16, 1_u64..16);
    prop::collection::vec(bio, 1..60).prop_map(|bios| {
        let mut time = 0;
        let timed = bios.into_iter().enumerate().map(|(nth, (gap, op, first, pages))| {
            time += gap;
            (time, Bio { op, first: Block::new(first), pages: Pages::new(pages), tag: nth as u64 })
        });
        timed.collect()
    })
}

/// Runs a stream on a disk, one task waiting for each bio, and checks the laws of its counters.
fn execute(spec: DiskSpec, bios: &[(u64, Bio)]) -> Outcome {
    let mut executor = machine(1);
    let (disk, log) = disk(executor.handle(), spec);
    let stream = bios.to_vec();
    let submitted = disk.clone();
    spawn(executor.handle(), "submit", async move |handle| {
        for (time, bio) in stream {
            if time > handle.now().get() {
                handle.sleep_until(ns(time)).await;
            }
            let (disk, ticket) = (submitted.clone(), submitted.submit(bio));
            spawn(&handle, "wait", async move |_| disk.wait(ticket).await);
        }
    });
    executor.run().expect("all bios end, and so do those who wait for them");
    let stats = disk.stats();
    assert_eq!(stats.weighted, stats.read.ticks + stats.write.ticks, "Little's law: {stats:?}");
    assert_eq!(stats.in_flight(), 0);
    assert_eq!((stats.read.pages, stats.write.pages), (stats.read.submitted, stats.write.submitted));
    for completion in log.borrow().iter() {
        let Bio { op, pages, .. } = completion.bio;
        let of = if op == Op::Read { spec.read } else { spec.write };
        let fastest = of.bandwidth.max(spec.write_cache.map_or(Bytes::ZERO, |cache| cache.bandwidth)).get();
        let least = of.latency.get() + (pages.bytes().get() as u128 * 1_000_000_000 / u128::from(fastest)) as u64;
        assert!((completion.ended - completion.submitted).get() >= least, "too fast: {completion:?}");
    }
    Outcome {
        ends: log.borrow().iter().map(|done| (done.ended.get(), done.bio.tag as usize)).collect(),
        requests: stats.read.ios + stats.write.ios,
        merges: stats.read.merges + stats.write.merges,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 20, ..ProptestConfig::default() })]

    #[test]
    fn disks_do_what_the_naive_one_does(spec in specs(), bios in streams()) {
        prop_assert_eq!(execute(spec, &bios), simulate(&spec, &bios));
    }
}
