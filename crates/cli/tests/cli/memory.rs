//! Inputs that would take more memory than the host has: refused before it is taken.

use std::fs;
use std::path::Path;
use std::process::Command;

use order9_snapshot::frames::{Chunk, Index};
use order9_snapshot::{FrameMap, FrameState, Machine, NodeInfo, Snapshot, Watermarks, ZoneInfo, format};
use order9_units::{NodeId, Order, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};

/// A whole map of free frames with one zone; a few kB of file for any length.
fn empty_machine(path: &Path, chunks: u64) {
    const CHUNK: usize = order9_snapshot::frames::CHUNK_PAGES;
    let free = FrameState { flags: order9_snapshot::flags::kpf::BUDDY, count: 0 };
    let mut map = FrameMap::default();
    for _ in 0..chunks {
        map.push(Chunk::new(vec![free], Index::Uniform, CHUNK).unwrap()).unwrap();
    }
    let all = Pages::new(chunks * CHUNK as u64);
    let zone = ZoneInfo {
        node: NodeId(0),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new(0), all),
        present: all,
        managed: all,
        cma: Pages::ZERO,
        free: all,
        watermarks: Watermarks::default(),
        protection: Vec::new(),
        free_blocks: [0; Order::COUNT],
        free_by_type: Default::default(),
        block_counts: Default::default(),
        pcp: Vec::new(),
        counters: Default::default(),
    };
    let machine = Machine { page_size: PAGE_SIZE, pageblock_order: 9, cpus: 1, ..Machine::default() };
    let nodes = vec![NodeInfo::default()];
    let snapshot = Snapshot { machine, nodes, zones: vec![zone], frames: Some(map), ..Snapshot::default() };
    let mut file = Vec::new();
    format::write(&snapshot, &mut file).unwrap();
    fs::write(path, file).unwrap();
}

/// Runs `order9` with 2 GB of address space and expects one line about memory.
fn refused(args: &[&str]) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_order9")]).args(args);
    let output = command.output().expect("the command starts");
    let message = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert_eq!(message.lines().count(), 1, "{args:?}: {message}");
    assert!(message.contains("needs about ") && message.contains(" available"), "{args:?}: {message}");
    message
}

#[test]
fn what_needs_more_memory_than_there_is_is_refused_before_it_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (large, huge) = (file("large.o9snap"), file("huge.o9snap"));
    // 8 TiB and 64 TiB.
    empty_machine(Path::new(&large), 1 << 16);
    empty_machine(Path::new(&huge), 1 << 19);
    assert!(fs::metadata(&huge).unwrap().len() < 100_000);
    assert!(refused(&["inspect", &huge]).contains("analysing this map needs about 4.3 GB"));
    assert!(refused(&["run", "idle", "--machine", &large]).contains("a run of this machine needs about 6"));
    let machine = file("large.toml");
    let node = "[[nodes]]\nmemory = '7 TiB'\ncpus = 4\ndistances = [10]\n";
    fs::write(&machine, format!("base = 'xeon-1s'\n{node}")).unwrap();
    refused(&["run", "idle", "--machine", &machine]);
    refused(&["run", "idle", "--machine", &machine, "--memory", "synth"]);
    let made_up = file("made-up.o9snap");
    assert!(refused(&["snapshot", "synth", "--size", "16T", "-o", &made_up]).contains("--size"));
    assert!(!Path::new(&made_up).exists());
}
