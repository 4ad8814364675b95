//! Every refusal is one sentence that says where and what was expected.

use std::fs;

use order9_lab::machines::load;
use proptest::prelude::*;

/// Why the file with `text` is refused, without the folder.
fn refused(text: impl AsRef<[u8]>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, text).unwrap();
    let message = load(path.to_str().unwrap()).expect_err("refused").to_string();
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", folder.path().display()), "")
}

/// Why `lines` after a base are refused.
fn based(lines: &str) -> String {
    refused(format!("base = 'epyc-vm'\n{lines}\n"))
}

/// Why one node with these lines is refused.
fn node(lines: &str) -> String {
    based(&format!("[[nodes]]\n{lines}"))
}

#[test]
fn unknown_names() {
    let refusal = |name| load(name).expect_err("refused").to_string();
    assert!(refusal("epyc-vn").starts_with("no machine is called 'epyc-vn'; did you mean epyc-vm?; `order9"));
    assert!(refusal("this-host").starts_with("no machine is called 'this-host'; did you mean epyc-vm?; `order9"));
    assert!(refusal("cray").starts_with("no machine is called 'cray'; `order9 machines list` names all"));
    assert_eq!(refusal("missing.toml"), "missing.toml: no such file or directory");
    assert_eq!(refusal("/"), "/: is a directory, expected a machine");
}

#[test]
fn unknown_keys() {
    assert_eq!(
        based("[prices.sycall]\nns = 1\nsource = 'x'"),
        "mine.toml, line 2: unknown key prices.sycall; did you mean prices.syscall?"
    );
    assert_eq!(
        based("[prices.syscall]\nnss = 1"),
        "mine.toml, line 3: unknown key prices.syscall.nss; did you mean ns?"
    );
    assert_eq!(node("cpu = 1"), "mine.toml, line 3: unknown key nodes.cpu; did you mean nodes.cpus?");
    assert_eq!(
        node("memory = '4 GiB'\ncpus = 1\ndistances = [10]\n[nodes.bandwidth]\nmb_per_s = 5"),
        "mine.toml, line 6: nodes.bandwidth needs source too"
    );
    assert_eq!(based("cpus = 4"), "mine.toml, line 2: unknown key cpus");
}

#[test]
fn machines_without_cpus_or_memory() {
    assert_eq!(
        node("memory = '4 GiB'\ncpus = 0\ndistances = [10]"),
        "mine.toml, line 2: a machine needs at least one CPU, got 0"
    );
    assert_eq!(based("nodes = []"), "mine.toml, line 2: a machine needs at least one node with memory, got none");
    assert_eq!(node("cpus = 1\ndistances = [10]"), "mine.toml, line 2: each of nodes needs memory too");
    for memory in ["0 GiB", "100 MiB", "4", "4 XB"] {
        assert_eq!(
            node(&format!("memory = '{memory}'")),
            format!(
                "mine.toml, line 3: nodes.memory is \"{memory}\", expected a multiple of 128 MiB, such as \"16 GiB\""
            )
        );
    }
    assert_eq!(
        node("memory = '9 TiB'\ncpus = 1\ndistances = [10]"),
        "mine.toml, line 2: a machine has at most 8 TiB of memory, got 9 TiB"
    );
    assert_eq!(
        node("memory = '128 MiB'\ncpus = 1\ndistances = [10]"),
        "mine.toml: node 0 has 128 MiB of memory, of which 105260 KiB would be reserved at boot; expected less than half"
    );
}

#[test]
fn distances_that_cannot_be() {
    let two = |first: &str, second: &str| {
        let node = |distances| format!("[[nodes]]\nmemory = '4 GiB'\ncpus = 1\ndistances = {distances}\n");
        based(&format!("{}{}", node(first), node(second)))
    };
    assert_eq!(two("[10]", "[21, 10]"), "mine.toml, line 2: node 0 has 1 distances, expected one to each of 2 nodes");
    assert_eq!(
        two("[10, 21]", "[20, 10]"),
        "mine.toml, line 2: the distance from node 0 to node 1 is 21, expected 20, as back"
    );
    assert_eq!(
        two("[10, 21]", "[21, 11]"),
        "mine.toml, line 6: the distance from node 1 to node 1 is 11, expected 10, since it is the same node"
    );
    assert!(two("[10, 10]", "[10, 10]").contains("expected more than 10"));
    assert!(two("[10, 255]", "[255, 10]").starts_with(
        "mine.toml, line 5: nodes.distances is an array, expected an array of whole numbers from 10 to 254"
    ));
    assert_eq!(
        two("[10, 21]", "[21, 10]"),
        "mine.toml: expected a base, or a value for every key; without value: remote.latency, remote.bandwidth, \
         remote.load_base, remote.load_huge"
    );
}

/// The disk of `epyc-vm`, with one line of its text replaced.
fn disk(from: &str, to: &str) -> String {
    let text = include_str!("../../../../machines/epyc-vm.toml");
    let disk = &text[text.find("[disks.vda.size]").expect("it has a disk")..];
    assert!(disk.contains(from), "{from}");
    based(&disk.replacen(from, to, 1))
}

#[test]
fn disks_that_cannot_be() {
    assert_eq!(based("disks = 1"), "mine.toml, line 2: disks is 1, expected a table [disks.NAME] for each disk");
    assert_eq!(based("disks.sda = 1"), "mine.toml, line 2: disks.sda is 1, expected a table of figures");
    assert_eq!(
        based("[disks.'s d']"),
        "mine.toml, line 2: a disk is called \"s d\", expected letters, digits, - and _, at most 31"
    );
    assert_eq!(based("[disks.sda]"), "mine.toml, line 2: disks.sda needs size too");
    assert_eq!(
        based("[disks.zram0.size]\nsize = '1 GiB'\nsource = 'x'\n[disks.zram0.seek]\nns = 1\nsource = 'x'"),
        "mine.toml, line 5: disks.zram0.seek: compressed memory has a size and swap alone; its speed is \
         prices.compress_page and prices.decompress_page"
    );
    assert_eq!(
        based("[disks.sda.seeks]\nns = 1"),
        "mine.toml, line 2: unknown key disks.sda.seeks; did you mean seek?"
    );
    assert_eq!(disk("queue_depth", "seek"), "mine.toml, line 31: unknown key disks.vda.seek.count");
    assert_eq!(
        disk("count = 256", "count = 3"),
        "mine.toml, line 2: disks.vda: nr_requests of a disk is at least 4, got 3"
    );
    assert_eq!(
        disk("mb_per_s = 876", "mb_per_s = 0"),
        "mine.toml, line 19: disks.vda.read_bandwidth.mb_per_s is 0, expected megabytes per second from 0.001 to \
         1000000, with at most three decimals"
    );
    assert_eq!(
        disk("count = 5", "count = 65537"),
        "mine.toml, line 31: disks.vda.queue_depth.count is 65537, expected a whole number from 1 to 65536"
    );
    let swap = "[disks.vda.swap]\nsize = '257 GiB'\nsource = 'x'\n[disks.vda.size]";
    assert_eq!(
        disk("[disks.vda.size]", swap),
        "mine.toml, line 2: disks.vda has 257 GiB of swap, expected at most its size, 256 GiB"
    );
    let rotation = "[disks.vda.rotation]\nns = 1\nsource = 'x'\n[disks.vda.size]";
    assert_eq!(disk("[disks.vda.size]", rotation), "mine.toml, line 2: disks.vda needs seek_track too");
}

#[test]
fn figures_without_value_or_source() {
    let price = |lines: &str| based(&format!("[prices.syscall]\n{lines}"));
    assert_eq!(price("ns = 1"), "mine.toml, line 2: prices.syscall needs source too");
    assert_eq!(price("source = 'x'"), "mine.toml, line 2: prices.syscall needs ns too");
    assert_eq!(
        price("ns = 1\nsource = ' '"),
        "mine.toml, line 4: prices.syscall.source is \" \", expected text that says where the figure is from"
    );
    for found in ["0", "-1", "0.0001", "1000000001", "1e3", "inf", "true"] {
        assert_eq!(
            price(&format!("ns = {found}")),
            format!(
                "mine.toml, line 3: prices.syscall.ns is {found}, expected nanoseconds from 0.001 to 1000000000, with \
                 at most three decimals"
            )
        );
    }
    assert_eq!(
        based("prices.syscall = 5"),
        "mine.toml, line 2: prices.syscall is 5, expected a table with ns and source"
    );
}

#[test]
fn machines_that_stand_on_nothing() {
    let refusal = refused("summary = 'x'\n");
    assert!(refusal.starts_with("mine.toml: expected a base, or a value for every key; without value: nodes, slice, "));
    assert!(refusal.contains("prices.fault") && !refusal.contains("prices.move_page"), "{refusal}");
    assert!(!refusal.contains("remote"), "{refusal}");
}

#[test]
fn bases_that_cannot_be_loaded() {
    let none = refused("base = 'epyc-vn'");
    assert!(none.starts_with("mine.toml, line 1: base: no machine is called 'epyc-vn'; did you mean epyc-vm?"));
    assert_eq!(
        refused("base = './mine.toml'"),
        "machines must not be based on each other in a circle: mine.toml -> mine.toml"
    );
}

#[test]
fn text_that_is_no_machine() {
    assert!(refused("summary = 'x'\nsummary = 'y'").starts_with("mine.toml, line 2: duplicate key"));
    assert_eq!(refused([0xff, 0xfe]), "mine.toml: is not UTF-8 text, expected a machine");
}

/// Lines that are nearly right, to get past the parser of TOML.
fn line() -> impl Strategy<Value = String> {
    let keys =
        ["base", "summary", "[[nodes]]\nmemory", "cpus", "[slice]\nns", "source", "prices.syscall", "nodes", "x"];
    let values = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        "'[0-9]{0,22} ?([KMGT]iB)?'",
        "\\[([0-9]{1,3},? ?){0,3}\\]",
        "\\{(ns|source) = [0-9]{1,5}\\}",
        Just("'epyc-vm'".to_owned()),
    ];
    (proptest::sample::select(keys.to_vec()), values).prop_map(|(key, value)| format!("{key} = {value}"))
}

proptest! {
    #[test]
    fn any_likely_text_is_loaded_or_refused_in_one_line(lines in prop::collection::vec(line(), 0..6)) {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        fs::write(file.path(), lines.join("\n")).unwrap();
        if let Err(error) = load(file.path().to_str().unwrap()) {
            let message = error.to_string();
            prop_assert!(!message.chars().any(char::is_control) && message.chars().count() < 2000, "{}", message);
        }
    }
}
