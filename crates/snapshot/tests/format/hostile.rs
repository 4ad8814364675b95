//! Files whose checksums hold and whose contents lie.

use order9_snapshot::format::{FRAMES_MAX, Problem, StructureError, read, read_within};
use order9_snapshot::frames::ChunkError;
use order9_snapshot::limits::{CPUS_MAX, NODES_MAX, Shortage};
use order9_snapshot::{FrameState, Snapshot};
use order9_units::{Bytes, Pfn};

use super::forge::{ChunkParts, Forge, fram, meta_json};
use super::samples::ENOUGH;

fn problem(file: &[u8]) -> Problem {
    read_within(file, ENOUGH).expect_err("must be refused").problem
}

macro_rules! assert_problem {
    ($file:expr, $pattern:pat) => {
        let found = problem(&$file);
        assert!(matches!(found, $pattern), "{found:?}");
    };
}

const USED: (u64, u64) = (1 << 5, 1);
const FREE: (u64, u64) = (1 << 10, 0);

#[test]
fn the_smallest_files_are_read() {
    let file = Forge::new().meta(None, None).ends(0, 0);
    assert_eq!(read(file.as_slice()).expect("sound").frames, None);

    let raw = fram(0, &[(3, &[USED, FREE], &[0, 1, 0])]);
    let file = Forge::new().meta(Some(3), Some(1)).section(b"TYPE", &[4]).section(b"FRAM", &raw).ends(3, 1);
    let Snapshot { frames: Some(map), block_types: Some(types), .. } = read(file.as_slice()).expect("sound") else {
        panic!("parts are missing");
    };
    assert_eq!(types, [order9_units::Migratetype::Cma]);
    assert_eq!(map.get(Pfn::new(1)), Some(FrameState { flags: FREE.0, count: FREE.1 }));
}

#[test]
fn newer_minor_versions_are_read_and_their_additions_skipped() {
    let json = meta_json(None, None).replacen('{', r#"{"colour":"green","#, 1);
    let file = Forge::with_header(1, 9, 0).section(b"META", json.as_bytes());
    let file = file.section(b"note", b"hello").stored(b"blob", u32::MAX, &[7; 200_000]).ends(0, 0);
    assert!(read(file.as_slice()).is_ok());
}

#[test]
fn newer_majors_features_and_critical_sections_are_refused() {
    assert_problem!(Forge::with_header(2, 0, 0).meta(None, None).ends(0, 0), Problem::Version(_));
    assert_problem!(Forge::with_header(1, 0, 4).meta(None, None).ends(0, 0), Problem::Features(4));
    assert_problem!(Forge::new().meta(None, None).section(b"GPUS", b"").ends(0, 0), Problem::UnknownSection);
}

#[test]
fn sections_out_of_place_are_refused() {
    let raw = fram(0, &[(1, &[USED], &[])]);
    assert_problem!(Forge::new().ends(0, 0), Problem::Misplaced);
    assert_problem!(Forge::new().section(b"FRAM", &raw).cut(), Problem::Misplaced);
    assert_problem!(Forge::new().meta(None, None).meta(None, None).cut(), Problem::Misplaced);
    assert_problem!(Forge::new().meta(None, None).section(b"FRAM", &raw).cut(), Problem::Misplaced);
    assert_problem!(Forge::new().meta(None, None).section(b"TYPE", &[0]).cut(), Problem::Misplaced);
    let typed = || Forge::new().meta(Some(1), Some(1)).section(b"TYPE", &[0]);
    assert_problem!(typed().section(b"TYPE", &[0]).cut(), Problem::Misplaced);
    let late = Forge::new().meta(Some(1), Some(1)).section(b"FRAM", &raw).section(b"TYPE", &[0]);
    assert_problem!(late.cut(), Problem::Misplaced);
}

#[test]
fn lengths_that_lie_are_refused() {
    let meta = || Forge::new().meta(Some(1), None);
    let raw = fram(0, &[(1, &[USED], &[])]);
    assert_problem!(meta().claiming(b"FRAM", 31, &raw).cut(), Problem::Zstd(_) | Problem::RawLength { .. });
    assert_problem!(meta().claiming(b"FRAM", 33, &raw).cut(), Problem::RawLength { claimed: 33, actual: 32 });
    assert_problem!(meta().claiming(b"FRAM", u32::MAX, &raw).cut(), Problem::Length { .. });
    assert_problem!(meta().stored(b"FRAM", 32, &[0; 3 << 20]).cut(), Problem::Length { .. });
    assert_problem!(meta().stored(b"FRAM", 32, b"no zstd").cut(), Problem::Zstd(_));
    assert_problem!(meta().stored(b"FRAM", 32, b"").cut(), Problem::Zstd(_) | Problem::RawLength { .. });
    assert_problem!(meta().section(b"FRAM", &raw[..20]).cut(), Problem::ChunkCut(_));
    assert_problem!(meta().section(b"FRAM", b"").cut(), Problem::ChunkCut(_));
    assert_problem!(meta().section(b"FRAM", &fram(1, &[])).cut(), Problem::FrameStart { .. });
    let mut endless = meta().cut();
    endless.extend(b"zzzz\0\0\0\0");
    endless.extend(u64::MAX.to_le_bytes());
    endless.extend([0; 1000]);
    assert_problem!(endless, Problem::Truncated { .. });
}

#[test]
fn a_bomb_inflates_no_further_than_its_claim() {
    let zeros = vec![0; 64 << 20];
    assert_problem!(Forge::new().claiming(b"META", 1000, &zeros).cut(), Problem::Zstd(_));
    assert_problem!(Forge::new().claiming(b"META", zeros.len() as u32, &zeros).cut(), Problem::Length { .. });
}

#[test]
fn memory_is_taken_for_what_arrives_and_no_more_than_allowed() {
    assert_problem!(Forge::new().meta(Some(u64::MAX), None).cut(), Problem::TooManyFrames(FRAMES_MAX));
    assert_problem!(Forge::new().meta(None, Some(u64::MAX)).cut(), Problem::Length { .. });
    // 64 TiB are announced and never come: that takes no memory. Where not even all alike would fit, nothing is read.
    assert_problem!(Forge::new().meta(Some(1 << 34), None).ends(1 << 34, 0), Problem::Incomplete);
    let little = read_within(Forge::new().meta(Some(1 << 34), None).cut().as_slice(), Bytes::new(1 << 20));
    assert!(matches!(little.expect_err("refused").problem, Problem::Memory(_)));

    let mut index = vec![1; 1 << 15];
    index[0] = 0;
    let batch: [ChunkParts<'_>; 30] = [(1 << 15, &[USED, FREE], &index); 30];
    let mut file = Forge::new().meta(Some(1 << 34), None);
    for first in 0..100_u64 {
        file = file.section(b"FRAM", &fram((first * 30) << 15, &batch));
    }
    let file = file.cut();
    assert!(file.len() < 200_000, "{}", file.len());
    // What came took what was allowed, and is a sixth thousandth of what would have come.
    match problem(&file) {
        Problem::Memory(Shortage { needs, available }) => {
            assert!(available == ENOUGH && needs > Bytes::from_gib(15) && needs < Bytes::from_gib(18), "{needs:?}");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        read_within(file.as_slice(), Bytes::from_gib(1)).expect_err("cut").problem,
        Problem::Truncated { .. }
    ));
}

#[test]
fn chunks_that_contradict_themselves_are_refused() {
    let of = |frames: u64, raw: Vec<u8>| Forge::new().meta(Some(frames), None).section(b"FRAM", &raw).ends(frames, 0);
    let chunk = |file: Vec<u8>| match problem(&file) {
        Problem::Chunk { first, error } => (first.get(), error),
        other => panic!("{other:?}"),
    };
    assert_eq!(chunk(of(1, fram(0, &[(0, &[USED], &[])]))), (0, ChunkError::Length(0)));
    assert_eq!(chunk(of(9, fram(0, &[(1, &[], &[])]))), (0, ChunkError::Palette(0)));
    assert_eq!(chunk(of(9, fram(0, &[(2, &[USED, USED], &[0, 1])]))), (0, ChunkError::Palette(2)));
    assert_eq!(chunk(of(9, fram(0, &[(2, &[USED, FREE], &[1, 0])]))), (0, ChunkError::Index));
    assert_eq!(chunk(of(9, fram(0, &[(2, &[USED, FREE], &[0, 2])]))), (0, ChunkError::Index));
    assert_eq!(chunk(of(9, fram(0, &[(2, &[USED, FREE], &[0, 0])]))), (0, ChunkError::Index));
    let follows = fram(0, &[(1, &[USED], &[]), (1, &[FREE], &[])]);
    assert_eq!(chunk(of(9, follows)), (1, ChunkError::Order));
    let palette: Vec<_> = (0..40_000).map(|flags| (flags, 0)).collect();
    let wide = fram(0, &[(40_000, &palette, &[0; 80_000])]);
    assert_eq!(chunk(of(40_000, wide)), (0, ChunkError::Length(40_000)));
    assert_problem!(of(2, fram(0, &[(3, &[USED], &[])])), Problem::TooManyFrames(_));
}

#[test]
fn totals_are_compared() {
    let raw = fram(0, &[(2, &[USED], &[])]);
    let file = || Forge::new().meta(Some(2), None).section(b"FRAM", &raw);
    assert!(read(file().ends(2, 0).as_slice()).is_ok());
    assert_problem!(file().ends(1, 0), Problem::Totals { .. });
    assert_problem!(file().ends(2, 1), Problem::Totals { .. });
    assert_problem!(file().section(b"ENDS", b"short").cut(), Problem::Totals { .. });
    assert_problem!(Forge::new().meta(Some(3), None).section(b"FRAM", &raw).ends(2, 0), Problem::Incomplete);
    assert_problem!([file().ends(2, 0), vec![0]].concat(), Problem::Trailing);
}

#[test]
fn strings_that_a_terminal_would_obey_are_refused() {
    let with = |from: &str, to: &str| {
        let json = meta_json(None, None).replace(from, to);
        Forge::new().section(b"META", json.as_bytes()).ends(0, 0)
    };
    for odd in [r"\u001b[2J", r"\u0007", r"\u009b31m", r"\u007f", r"\u202e", r"\u2066", r"\u200b", r"\r", r"\u0000"] {
        for (from, to) in [
            ("\"kernel_release\":\"\"", format!("\"kernel_release\":\"{odd}\"")),
            ("\"kernel_command_line\":\"\"", format!("\"kernel_command_line\":\"{odd}\"")),
            ("\"Host\"", format!("{{\"Synthetic\":\"{odd}\"}}")),
            ("\"settings\":{}", format!("\"settings\":{{\"{odd}\":\"\"}}")),
            ("\"settings\":{}", format!("\"settings\":{{\"a\":\"{odd}\"}}")),
            ("\"vmstat\":{}", format!("\"vmstat\":{{\"{odd}\":1}}")),
            ("\"meminfo\":{}", format!("\"meminfo\":{{\"{odd}\":1}}")),
            ("\"missing\":[]", format!("\"missing\":[{{\"path\":\"{odd}\",\"reason\":\"\"}}]")),
            ("\"missing\":[]", format!("\"missing\":[{{\"path\":\"\",\"reason\":\"{odd}\"}}]")),
        ] {
            let problem = problem(&with(from, &to));
            let said = problem.to_string();
            assert!(matches!(problem, Problem::Structure(StructureError::Text { .. })), "{problem:?}");
            assert!(said.chars().all(order9_escape::is_plain), "{said:?}");
        }
    }
    let laid_out = with("\"settings\":{}", r#""settings":{"/proc/sys/vm/lowmem_reserve_ratio":"256\t256\n32"}"#);
    assert!(read(laid_out.as_slice()).is_ok());
}

#[test]
fn metadata_that_makes_no_sense_is_refused() {
    let with = |from: &str, to: &str| {
        let json = meta_json(None, None).replace(from, to);
        Forge::new().section(b"META", json.as_bytes()).ends(0, 0)
    };
    assert_problem!(with("}", ""), Problem::Meta(_));
    assert_problem!(with("4096", "\"4096\""), Problem::Meta(_));
    assert_problem!(with("\"Host\"", "\"Moon\""), Problem::Meta(_));
    assert_problem!(with("\"ram\":[]", &format!("\"ram\":{}", "[".repeat(100_000))), Problem::Meta(_));
    assert_problem!(with("4096", "16384"), Problem::Structure(StructureError::PageSize(_)));
    for order in [0, 1, 8, 10, 64, 255] {
        let file = with("\"pageblock_order\":9", &format!("\"pageblock_order\":{order}"));
        assert_problem!(file, Problem::Structure(StructureError::PageblockOrder(_)));
    }
    for cpus in [CPUS_MAX + 1, u32::MAX] {
        let file = with("\"cpus\":1,", &format!("\"cpus\":{cpus},"));
        assert_problem!(file, Problem::Structure(StructureError::Cpus(_)));
    }
    let node = |id: u16, cpus: &str| {
        let nodes = format!("\"nodes\":[{{\"id\":{id},\"distances\":[],\"cpus\":[{cpus}],\"counters\":{{}}}}]");
        with("\"nodes\":[]", &nodes)
    };
    assert!(read(node(NODES_MAX - 1, "0,8191").as_slice()).is_ok());
    assert_problem!(node(NODES_MAX, ""), Problem::Structure(StructureError::Nodes(_)));
    assert_problem!(node(0, "8192"), Problem::Structure(StructureError::Cpus(8192)));
    assert_problem!(node(0, &["7"; CPUS_MAX as usize + 1].join(",")), Problem::Structure(StructureError::Cpus(_)));
    let backwards = r#""ram":[{"start":9,"end":3}]"#;
    assert_problem!(with("\"ram\":[]", backwards), Problem::Structure(StructureError::Ranges { .. }));
    let raw = fram(0, &[(513, &[USED], &[])]);
    let types = Forge::new().meta(Some(513), Some(1)).section(b"TYPE", &[1]).section(b"FRAM", &raw).ends(513, 1);
    assert_problem!(types, Problem::Structure(StructureError::BlockTypes { found: 1, expected: 2 }));
    let price = "\"calibration\":{\"copy_page\":PRICE,\"clear_page\":PRICE,\"frame_scan\":PRICE,\"shmem_page\":null},\"ram\":[]";
    let priced = |ps: u64| {
        let price =
            price.replace("PRICE", &format!("{{\"ps\":{ps},\"lowest_ps\":1,\"highest_ps\":{ps},\"rounds\":9}}"));
        with("\"ram\":[]", &price)
    };
    assert!(read(priced(1000).as_slice()).expect("sound").calibration.is_some());
    assert_problem!(priced(0), Problem::Structure(StructureError::Price("copy_page")));
    assert_problem!(priced(u64::MAX), Problem::Structure(StructureError::Price("copy_page")));
    let odd = Forge::new().meta(None, Some(2)).section(b"TYPE", &[1, 6]).ends(0, 2);
    assert_problem!(odd, Problem::BlockType { block: 1, found: 6 });
}
