//! A capture of copies with a secret in every file that it reads: nothing of the secrets is in the snapshot, byte by byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{bundled, order9};

/// Begins every secret. No kernel writes it.
const MARK: &str = "hunter2";
/// The mark as a word of a map of frames.
const WORD: u64 = u64::from_le_bytes(*b"hunter2!");

const THP: &str = "sys/kernel/mm/transparent_hugepage";

/// Everything that a capture reads, with contents as a kernel writes them.
fn files() -> BTreeMap<String, Vec<u8>> {
    let zoneinfo = "Node 0, zone   Normal\n  per-node stats\n      nr_anon_pages 7\n  pages free     960\n        boost    0\n        \
                    min      10\n        low      12\n        high     15\n        spanned  1024\n        present  1024\n        \
                    managed  1024\n        cma      0\n        protection: (0, 0)\n      nr_free_pages 960\n  pagesets\n    cpu: 0\n              \
                    count:    3\n              high:     186\n              batch:    31\n  vm stats threshold: 4\n  \
                    node_unreclaimable:  0\n  start_pfn:           0\n";
    let texts = [
        ("proc/zoneinfo", zoneinfo),
        ("proc/buddyinfo", "Node 0, zone   Normal 60 60 60 60 0 0 0 0 0 0 0\n"),
        (
            "proc/pagetypeinfo",
            "Page block order: 9\nPages per block:  512\n\nFree pages count per migrate type at order 0 1 2 3 4 5 6 7 8 9 10\n\
             Node    0, zone   Normal, type      Movable 60 60 60 60 0 0 0 0 0 0 0\n\n\
             Number of blocks type      Movable\nNode 0, zone   Normal           2\n",
        ),
        ("proc/vmstat", "nr_free_pages 960\ncompact_stall 12\n"),
        ("proc/meminfo", "MemTotal: 4096 kB\nHugePages_Total: 0\n"),
        ("proc/uptime", "7261.50 60.00\n"),
        ("proc/cmdline", "transparent_hugepage=always\n"),
        ("proc/iomem", "00000000-003fffff : System RAM\n"),
        ("proc/pressure/memory", "some avg10=0.00 total=17\nfull avg10=0.00 total=5\n"),
        ("proc/sys/kernel/osrelease", "6.12.3\n"),
        ("proc/sys/kernel/numa_balancing", "1\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("proc/sys/vm/lowmem_reserve_ratio", "256\t256\t32\t0\t0\n"),
        ("proc/sys/vm/numa_zonelist_order", "Node\n"),
        ("sys/kernel/mm/lru_gen/enabled", "0x0007\n"),
        ("sys/kernel/mm/numa/demotion_enabled", "false\n"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "3\n"),
        ("sys/kernel/mm/hugepages/hugepages-1048576kB/demote_size", "2048kB\n"),
        ("sys/devices/system/cpu/online", "0\n"),
        ("sys/devices/system/node/node0/cpulist", "0\n"),
        ("sys/devices/system/node/node0/distance", "10\n"),
        ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n"),
        ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
        ("sys/devices/system/memory/memory0/state", "online\n"),
    ];
    let mut files: BTreeMap<String, Vec<u8>> =
        texts.iter().map(|&(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect();
    for (name, text) in [
        ("enabled", "always [madvise] never\n"),
        ("hpage_pmd_size", "2097152\n"),
        ("khugepaged/max_ptes_none", "511\n"),
        ("hugepages-64kB/enabled", "always inherit madvise [never]\n"),
        ("hugepages-64kB/stats/swpout", "9\n"),
    ] {
        files.insert(format!("{THP}/{name}"), text.as_bytes().to_vec());
    }
    let words = |of: &dyn Fn(u64) -> u64| (0..1024).flat_map(|pfn| of(pfn).to_le_bytes()).collect();
    const BUDDY: u64 = 1 << 10;
    files.insert("proc/kpageflags".to_owned(), words(&|pfn| if pfn % 16 == 0 { 0x1820 } else { BUDDY }));
    files.insert("proc/kpagecount".to_owned(), words(&|pfn| u64::from(pfn % 16 == 0)));
    files
}

/// Contents with a secret: in the place of everything, as a line of its own, before and behind the first line, and as a word.
fn planted(path: &str, content: &[u8]) -> Vec<Vec<u8>> {
    let secret = format!("{MARK}@{}:/home/{MARK}", path.replace('/', "-"));
    if path.ends_with("kpageflags") || path.ends_with("kpagecount") {
        let mut words = content.to_vec();
        words[8 * 100..8 * 101].copy_from_slice(&WORD.to_le_bytes());
        return vec![words, secret.repeat(64).into_bytes()];
    }
    let text = String::from_utf8(content.to_vec()).expect("it is a text");
    let (first, rest) = text.split_once('\n').expect("it has a line");
    [
        format!("{secret}\n"),
        format!("{text}{secret}\n"),
        format!("{secret}\n{text}"),
        format!("{first} {secret}\n{rest}"),
        format!("{secret} {first}\n{rest}"),
        format!("{text}{secret} 5\n{secret}: 5 kB\n"),
        format!("{first}-{secret}\n{rest}"),
        format!("{first} {secret}={MARK} -- {MARK}\n{rest}"),
    ]
    .map(String::into_bytes)
    .into()
}

/// Files beside those that are read: what else is in such directories.
const BESIDE: [&str; 8] = [
    "proc/1/cmdline",
    "proc/1/environ",
    "proc/mounts",
    "proc/sys/kernel/hostname",
    "proc/sys/vm/hugetlb_shm_group",
    "proc/slabinfo",
    "sys/kernel/mm/transparent_hugepage/khugepaged/notes",
    "sys/devices/system/node/node0/meminfo",
];

fn write(root: &Path, path: &str, content: &[u8]) {
    let place = root.join(path);
    fs::create_dir_all(place.parent().expect("it is in a directory")).expect("its directory");
    fs::write(place, content).expect("a file");
}

/// All bytes of a snapshot file: as they are stored, and unpacked.
fn bytes(file: &[u8]) -> Vec<u8> {
    let (mut all, mut rest) = (file.to_vec(), &file[24..]);
    while !rest.is_empty() {
        let raw = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        let stored = u64::from_le_bytes(rest[8..16].try_into().unwrap()) as usize;
        all.extend(zstd::bulk::decompress(&rest[24..24 + stored], raw).expect("a sound section"));
        rest = &rest[24 + stored..];
    }
    all
}

/// Places of the mark in `bytes`, with what stands around it.
fn found(bytes: &[u8]) -> Option<String> {
    let at = bytes.windows(MARK.len()).position(|window| window == MARK.as_bytes())?;
    Some(String::from_utf8_lossy(&bytes[at.saturating_sub(80)..(at + 80).min(bytes.len())]).into_owned())
}

#[test]
fn no_secret_of_any_file_gets_into_a_snapshot() {
    let files = files();
    let folder = tempfile::tempdir().expect("a directory");
    let (root, out) = (folder.path().join("root"), folder.path().join("out.o9snap"));
    files.iter().for_each(|(path, content)| write(&root, path, content));
    BESIDE.iter().for_each(|path| write(&root, path, MARK.as_bytes()));
    let mut captured = 0;
    for (path, content) in &files {
        for planted in planted(path, content) {
            write(&root, path, &planted);
            let _ = fs::remove_file(&out);
            let ran = order9(["capture", "-o", out.to_str().unwrap(), "--root", root.to_str().unwrap()]);
            for said in [&ran.stdout, &ran.stderr] {
                assert_eq!(found(said.as_bytes()), None, "{path}: a message");
            }
            if let Ok(file) = fs::read(&out) {
                assert_eq!(found(&bytes(&file)), None, "{path} with {}", String::from_utf8_lossy(&planted));
                captured += 1;
            }
        }
        write(&root, path, content);
    }
    assert!(captured > 150, "only {captured} captures: the secrets were not looked for");
}

/// The one kind of text of a host's files that is kept without a list: names of counters. docs/snapshot.md says so.
#[test]
fn names_of_counters_are_kept_as_documented() {
    let folder = tempfile::tempdir().expect("a directory");
    let (root, out) = (folder.path().join("root"), folder.path().join("out.o9snap"));
    files().iter().for_each(|(path, content)| write(&root, path, content));
    write(&root, "proc/vmstat", b"nr_free_pages 960\nnr_hunter2 5\n");
    order9(["capture", "-o", out.to_str().unwrap(), "--root", root.to_str().unwrap()]).success();
    assert!(found(&bytes(&fs::read(&out).unwrap())).is_some());
    let anonymous = folder.path().join("anonymous.o9snap");
    order9(["snapshot", "anonymise", out.to_str().unwrap(), anonymous.to_str().unwrap()]).success();
    assert_eq!(found(&bytes(&fs::read(&anonymous).unwrap())), None);
}

#[test]
fn an_anonymous_snapshot_inspects_to_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a directory");
    for name in ["captures/numa-6.1.o9snap", "captures/hugetlb-6.12.o9snap", "captures/zram-6.1.o9snap"] {
        let out = folder.path().join("anonymous.o9snap");
        order9([Path::new("snapshot"), Path::new("anonymise"), &bundled(name), &out]).success();
        let inspect = |path: &Path| -> serde_json::Value {
            let text = order9([Path::new("inspect"), Path::new("--json"), path]).success();
            serde_json::from_str(&text).expect("JSON")
        };
        let (before, after) = (inspect(&bundled(name)), inspect(&out));
        for part in ["total", "nodes", "settings", "counters", "prices", "inconsistencies"] {
            assert_eq!(after[part], before[part], "{name}: {part}");
        }
        assert_eq!(after["machine"]["uptime"], serde_json::Value::Null);
        let release = after["machine"]["kernel_release"].as_str().expect("a release");
        assert!(before["machine"]["kernel_release"].as_str().unwrap().starts_with(&format!("{release}.")), "{release}");
        let file = String::from_utf8_lossy(&bytes(&fs::read(&out).unwrap())).into_owned();
        assert!(file.contains(r#""kernel_command_line":"""#) && !file.contains("pgfault"));
    }
}
