//! The built-in machines.

use std::fs;

use order9_lab::machines::{FIGURES, Figure, List, MachineDisk, MachineSpec, Show, load};
use order9_machine::cost::{PRICES, Picos, Prices};
use order9_units::{Bytes, Nanos};

/// Every built-in machine.
pub(crate) fn all() -> Vec<MachineSpec> {
    let list = List::new().expect("the built-in machines load");
    list.machines.iter().map(|listed| load(listed.name).expect("a built-in machine loads")).collect()
}

/// What is said of each figure.
fn said(figures: &[Figure]) -> Vec<(&str, u64, &str)> {
    figures.iter().map(|figure| (figure.key.as_str(), figure.value, figure.source.as_str())).collect()
}

#[test]
fn every_machine_says_what_it_is_and_where_its_figures_are_from() {
    for machine in all() {
        assert!(!machine.summary.is_empty(), "{} has a summary", machine.name);
        for figure in &machine.figures {
            assert!(figure.source.len() > 20, "{}: {} has a source", machine.name, figure.key);
        }
        for bandwidth in machine.nodes.iter().filter_map(|node| node.bandwidth.as_ref()) {
            assert!(bandwidth.rate > 1_000_000_000 && !bandwidth.source.is_empty(), "{}: {bandwidth:?}", machine.name);
        }
    }
}

#[test]
fn machines_are_as_large_as_their_names_say() {
    let shape = |name| {
        let machine = load(name).unwrap();
        (machine.cpus().len(), machine.nodes.len(), machine.memory())
    };
    assert_eq!(shape("guest-zram"), (2, 1, Bytes::from_gib(2)));
    assert_eq!(shape("guest-disk"), (2, 1, Bytes::from_gib(2)));
    assert_eq!(shape("guest-disk-zram"), (2, 1, Bytes::from_gib(2)));
    assert_eq!(shape("guest-2n"), (2, 2, Bytes::from_gib(2)));
    assert_eq!(shape("desktop-8g"), (4, 1, Bytes::from_gib(8)));
    assert_eq!(shape("xeon-1s"), (8, 1, Bytes::from_gib(16)));
    assert_eq!(shape("epyc-vm"), (2, 1, Bytes::from_gib(24)));
    assert_eq!(shape("xeon-2s"), (48, 2, Bytes::from_gib(64)));
    assert_eq!(shape("xeon-2s-ssd"), shape("xeon-2s"));
    assert_eq!(shape("xeon-2s-8"), (8, 2, Bytes::from_gib(64)));
    assert_eq!(shape("broadwell-2s"), shape("xeon-2s"));
    assert_eq!(shape("rome-2s"), shape("xeon-2s"));
    assert_eq!(shape("threadripper-guest"), (32, 2, Bytes::from_gib(64)));
    assert_eq!(shape("threadripper-1950x"), shape("threadripper-guest"));
    assert_eq!(shape("spr-2s"), shape("xeon-2s"));
    assert_eq!(shape("spr-cxl"), (48, 3, Bytes::from_gib(96)));
    assert_eq!(shape("naples-2s"), (64, 8, Bytes::from_gib(64)));
    assert_eq!(shape("naples-2s-seek"), shape("naples-2s"));
    assert_eq!(shape("server-1t"), (80, 2, Bytes::from_gib(1024)));
}

#[test]
fn slices_follow_the_number_of_cpus() {
    for machine in all() {
        let doublings = machine.cpus().len().min(8).ilog2();
        assert_eq!(machine.slice, Nanos::new(750_000 * u64::from(1 + doublings)), "{}", machine.name);
    }
}

#[test]
fn what_is_shown_is_a_machine_file_of_the_same_machine() {
    let folder = tempfile::tempdir().unwrap();
    for machine in all() {
        let path = folder.path().join(format!("{}.toml", machine.name));
        let text = Show::new(&machine).to_string();
        assert_eq!(text.lines().find(|line| line.chars().count() > 100), None);
        fs::write(&path, text).unwrap();
        let again = load(path.to_str().unwrap()).unwrap();
        assert_eq!((&again.summary, &again.nodes), (&machine.summary, &machine.nodes));
        assert_eq!((&again.prices, again.remote), (&machine.prices, machine.remote));
        assert_eq!(again.disks, machine.disks);
        assert_eq!(said(&again.figures), said(&machine.figures));
    }
}

#[test]
fn files_inherit_from_built_in_machines_and_from_files_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let text = "base = 'epyc-vm'\n[[nodes]]\nmemory = '4 GiB'\ncpus = 1\ndistances = [10]\n";
    fs::write(file("mine.toml"), text).unwrap();
    let text = "base = 'mine.toml'\nprices.syscall = { ns = 70.25, source = 'lmbench' }\n";
    fs::write(file("yours.toml"), text).unwrap();
    let yours = load(file("yours.toml").to_str().unwrap()).unwrap();
    assert_eq!((yours.chain.len(), yours.memory(), yours.cpus().len()), (3, Bytes::from_gib(4), 1));
    assert_eq!(yours.prices.syscall.get(), 70_250);
    let syscall = yours.figures.iter().find(|figure| figure.info.key == "prices.syscall").unwrap();
    assert!(syscall.source == "lmbench" && syscall.set_in.ends_with("yours.toml"));
    let fault = yours.figures.iter().find(|figure| figure.info.key == "prices.fault").unwrap();
    assert_eq!(fault.set_in, "epyc-vm");
}

#[test]
fn disks_are_what_the_experiments_had() {
    let disk = |machine| load(machine).unwrap().disks.remove(0);
    let (ssd, rotating, host) = (disk("xeon-1s"), disk("desktop-8g"), disk("epyc-vm"));
    let page =
        |disk: &MachineDisk| disk.spec.read.latency.get() + 4096 * 1_000_000_000 / disk.spec.read.bandwidth.get();
    assert_eq!(page(&ssd).div_ceil(1000), 100, "us, or 10,000 reads per second");
    assert!(ssd.spec.write_cache.is_some() && ssd.spec.rotating.is_none());
    assert_eq!(rotating.spec.rotating.map(|arm| arm.seek), Some(Nanos::new(8_500_000)));
    assert_eq!((ssd.swap.bytes(), rotating.swap.bytes()), (Bytes::from_gib(4), Bytes::from_gib(8)));
    assert_eq!((host.name.as_str(), host.spec.size.bytes(), host.swap.get()), ("vda", Bytes::from_gib(256), 0));
    assert!(load("xeon-2s").unwrap().disks.is_empty());
    let swapping = disk("xeon-2s-ssd");
    assert_eq!((swapping.spec, swapping.swap.bytes()), (ssd.spec, Bytes::from_gib(32)));
}

#[test]
fn disks_are_inherited_all_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "base = 'desktop-8g'\n").unwrap();
    assert_eq!(load(path.to_str().unwrap()).unwrap().disks, load("desktop-8g").unwrap().disks);
    let ssd = Show::new(&load("xeon-1s").unwrap()).to_string();
    let disks = &ssd[ssd.find("[disks.").unwrap()..].replace("disks.sda", "disks.nvme0n1");
    fs::write(&path, format!("base = 'desktop-8g'\n{disks}")).unwrap();
    let mine = load(path.to_str().unwrap()).unwrap();
    assert_eq!(mine.disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["nvme0n1"]);
    assert_eq!(mine.disks[0].spec, load("xeon-1s").unwrap().disks[0].spec);
    assert!(mine.figures.iter().all(|figure| !figure.key.starts_with("disks.sda")));
}

#[test]
fn everything_can_be_written_as_json() {
    let machine = load("epyc-vm").unwrap();
    let show = serde_json::to_value(Show::new(&machine)).unwrap();
    let (figures, of_disks) = (show["figures"].as_array().unwrap(), ["vda"].len() * 9);
    assert_eq!(
        figures.len(),
        FIGURES.len() - 6 - 6 + of_disks,
        "nothing of other nodes where there is one, no tick, and none of the five prices that others stand for"
    );
    assert_eq!((&show["figures"][0]["key"], &show["figures"][0]["unit"]), (&"slice".into(), &"ns".into()));
    assert_eq!(show["nodes"][0]["memory"], Bytes::from_gib(24).get());
    let list = serde_json::to_value(List::new().unwrap()).unwrap();
    assert!(list.as_array().unwrap().iter().any(|machine| machine["name"] == "epyc-vm"));
}

/// Work without a price is free, and nobody sees it: only prices that say what stands for them may be missing, that of memory which
/// hypervisors take back, and that of moving a part of a huge page into another one, which was lost in the noise.
#[test]
fn no_work_is_free() {
    let may_be_missing = |key: &str, meaning: &str| {
        meaning.contains("here it was not measured") || ["hypervisor_fault", "collapse_part"].contains(&key)
    };
    for mut machine in all() {
        for price in PRICES.iter().filter(|price| !may_be_missing(price.key, price.meaning)) {
            assert!(*(price.field)(&mut machine.prices) > Picos::ZERO, "{}: {}", machine.name, price.key);
        }
    }
}

/// What the machine pays for a load from a page of another kind, as a multiple of one from a local base page.
#[test]
fn loads_cost_what_was_published_for_their_processor() {
    let Prices { load_base, load_huge, access, .. } = load("xeon-2s").unwrap().prices;
    let ratio = |price: Picos| price.get() as f64 / load_base.get() as f64;
    let near = |value: f64, expected: f64| (value - expected).abs() < 0.001;
    assert!(near(ratio(access.near.load_huge), 1.139), "remote huge against local base pages, Haswell");
    let remote = access.near.load_huge.get() as f64 / access.near.load_base.get() as f64;
    assert!(near(remote, 0.95), "remote huge against remote base pages, Broadwell");
    assert!(near(ratio(load_huge), 0.66), "local huge against local base pages, Broadwell and Naples");
}

#[test]
fn nearer_memory_and_larger_pages_are_never_slower() {
    for machine in all() {
        let Prices { load: held, load_base, load_huge, access, .. } = machine.prices;
        assert!(held <= load_huge && load_huge <= load_base, "{}", machine.name);
        assert!(access.near.load_huge <= access.near.load_base, "{}", machine.name);
        assert!(
            load_huge <= access.near.load_huge && access.near.load_huge <= access.far.load_huge,
            "{}",
            machine.name
        );
    }
}

#[test]
fn rows_of_the_discussion_have_its_ratios() {
    // Local huge pages; then huge and base pages of the nearest other nodes, and of others: all by local base pages.
    let rows = [
        ("broadwell-2s", 0.66, [1.064, 1.12], [1.064, 1.12]),
        ("naples-2s", 0.66, [1.137, 1.16], [1.38, 1.38]),
        ("naples-2s-seek", 0.70, [1.01, 1.44], [1.62, 2.27]),
        ("threadripper-guest", 0.50, [0.79, 1.60], [0.79, 1.60]),
    ];
    for (name, huge, near, far) in rows {
        let Prices { load, load_base, load_huge, access, .. } = load(name).unwrap().prices;
        let ratio = |price: Picos| price.get() as f64 / load_base.get() as f64;
        let found =
            [load_huge, access.near.load_huge, access.near.load_base, access.far.load_huge, access.far.load_base];
        let expected = [&[huge][..], &near, &far].concat();
        for (found, expected) in found.map(ratio).into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.01, "{name}: {found} where {expected} was published");
        }
        let walks =
            [(load, load_huge), (access.near.load, access.near.load_huge), (access.far.load, access.far.load_huge)];
        assert!(walks.into_iter().all(|(held, walks)| held <= walks), "{name}: nobody gains by a walk");
    }
    let Prices { load_huge, access, .. } = load("rome-2s").unwrap().prices;
    assert!((access.near.load_huge.get() as f64 / load_huge.get() as f64 - 1.535).abs() < 0.01);
}

#[test]
fn prices_by_distance_go_before_those_of_near_and_far() {
    let cxl = load("spr-cxl").unwrap();
    let prices = cxl.prices.access;
    let apart: Vec<_> = prices.apart.iter().flatten().map(|(distance, of)| (*distance, of.load_huge.get())).collect();
    assert_eq!(apart, [(14, 395_600), (24, 566_300)]);
    assert_eq!((prices.near.load_huge.get(), prices.far), (190_600, prices.near));
    let keys: Vec<_> =
        cxl.figures.iter().map(|figure| figure.key.as_str()).filter(|key| key.starts_with("dist")).collect();
    assert_eq!(keys[..2], ["distance.14.latency", "distance.14.bandwidth"]);
    assert!(cxl.figures.iter().all(|figure| !figure.source.is_empty()));
}

#[test]
fn whoever_replaces_the_nodes_loses_prices_of_distances_that_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let node = |distances| format!("[[nodes]]\nmemory = '4 GiB'\ncpus = 1\ndistances = {distances}\n");
    let mine = |more: &str| {
        let nodes = [node("[10, 24]"), node("[24, 10]")].concat();
        fs::write(&path, format!("base = 'spr-cxl'\n{nodes}{more}")).unwrap();
        load(path.to_str().unwrap())
    };
    let apart = |machine: MachineSpec| -> Vec<u32> {
        machine.prices.access.apart.iter().flatten().map(|(distance, _)| *distance).collect()
    };
    assert_eq!(apart(mine("").unwrap()), [24]);
    let keys = ["latency = { factor = 2", "bandwidth = { factor = 2", "load_base = { ns = 2", "load_huge = { ns = 2"];
    let of = |distance: u32, keys: &[&str]| -> String {
        keys.iter().map(|key| format!("distance.{distance}.{key}, source = 'x' }}\n")).collect()
    };
    let refused = |more: &str| {
        let message = mine_of(&path, more);
        message.replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(refused(&of(14, &keys)), "mine.toml, line 2: no two nodes have the distance 14, expected one of 10, 21");
    assert_eq!(refused(&of(21, &keys[1..])), "mine.toml, line 2: distance.21 needs latency too");
    assert_eq!(
        refused("distance.10.latency = 1\n"),
        "mine.toml, line 2: distance \"10\": expected a distance between two nodes, from 11 to 254"
    );
    assert_eq!(
        refused("distance.21.loadbase = 1\n"),
        "mine.toml, line 2: unknown key distance.21.loadbase; did you mean load_base?"
    );
}

/// Why a file based on spr-2s with these lines is refused.
fn mine_of(path: &std::path::Path, lines: &str) -> String {
    fs::write(path, format!("base = 'spr-2s'\n{lines}")).unwrap();
    load(path.to_str().unwrap()).expect_err("refused").to_string()
}
