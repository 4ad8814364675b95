//! Cost of files in memory: caching them on first use, opening them again, and shrinking them; then files of one page that
//! are created, written back and dropped; everything counted.
//!
//! Run with `cargo bench -p order9-mm --bench slab`.

use std::time::Instant;

use order9_mm::FileId;
use order9_mm::fs_cache::FsStep;
use order9_mm::page_cache::DropPagecache;
use order9_mm::policy::Policy;
use order9_mm::shrinker::{DropSlab, ShrinkStep};
use order9_mm::slab::CacheSpec;
use order9_mm::{Gfp, Layout, Mm, MmBuilder, NodeSpec, Request, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

const FILES: u32 = 3_000_000;
const KERNEL: Request = Request::new(Order::ZERO, Gfp::GFP_KERNEL);

fn main() {
    let mut mm = engine(Bytes::from_gib(8));
    mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted");
    let files: Vec<FileId> = (0..FILES).map(|_| mm.fs_create(Pages::ZERO).expect("there is room")).collect();
    println!("{FILES} files, ns per file");
    for what in ["first use", "second use"] {
        timed(what, || files.iter().for_each(|&file| use_once(&mut mm, file)));
    }
    let slab = mm.pages().slab().slab_levels(NodeId(0)).reclaimable;
    timed("dropped from memory", || drop_all(&mut mm));
    println!("{slab} frames of slabs, of which {} are left", mm.pages().slab().slab_levels(NodeId(0)).reclaimable);

    let mut mm = engine(Bytes::from_gib(24));
    mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted");
    println!("the same number of files with a page each, ns per file");
    timed("created and written", || (0..FILES).for_each(|_| create(&mut mm)));
    timed("written back", || write_back(&mut mm));
    timed("pages dropped", || {
        let (phys, pages) = mm.parts();
        let mut drop = DropPagecache::new(0, phys);
        while drop.step(pages, phys).is_none() {}
    });
    timed("inodes dropped", || drop_all(&mut mm));
}

fn create(mm: &mut Mm) {
    let file = mm.fs_create(Pages::ZERO).expect("there is room");
    assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }), "there is memory for all files");
    let page = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    let page = mm.alloc_fast(&page).expect("there is memory for all pages");
    let (phys, pages) = mm.parts();
    pages.write_new_page(file, 0, page, Nanos::ZERO, 0, phys).expect("it is open");
    mm.pages_mut().fs_close(file).expect("it is open");
}

fn write_back(mm: &mut Mm) {
    while let Some(file) = mm.pages().cache().next_dirty(None) {
        loop {
            let (phys, pages) = mm.parts();
            let Some(write) = pages.start_writeback(file, Pages::new(1024), phys) else { break };
            mm.file_written(&write, Nanos::ZERO, 0);
        }
        let (phys, pages) = mm.parts();
        if pages.start_inode_write(file, phys) {
            mm.inode_written(file);
        }
    }
}

fn timed(what: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    println!("{what:<20} {:>7.1}", start.elapsed().as_nanos() as f64 / f64::from(FILES));
}

fn use_once(mm: &mut Mm, file: FileId) {
    assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }), "there is memory for all files");
    mm.pages_mut().fs_close(file).expect("it is open");
}

fn drop_all(mm: &mut Mm) {
    let (phys, pages) = mm.parts();
    let mut drop = DropSlab::new(0, phys);
    while let ShrinkStep::Progress = drop.step(pages, phys) {}
}

fn engine(memory: Bytes) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::from_bytes_floor(memory));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot()
}
