//! The built-in policies.

use std::fs;

use order9_mm::policy::{FallbackSearch, HugePlacement, PcpLists, Policy, SlabUnderBoost};
use order9_policy::{Diff, List, Loaded, Show, load, switches};

/// Every built-in policy.
fn all() -> Vec<Loaded> {
    let list = List::new().expect("the presets load");
    list.policies.iter().map(|listed| load(listed.name).expect("a preset loads")).collect()
}

#[test]
fn every_preset_says_what_it_is() {
    for preset in all() {
        assert!(!preset.summary.is_empty(), "{} has a summary", preset.name);
        assert_eq!(preset.chain.first().map(String::as_str), Some("linux-4.4"), "{}", preset.name);
        assert_eq!(preset.chain.last(), Some(&preset.name));
    }
}

#[test]
fn the_default_of_the_engine_is_linux_5_3() {
    assert_eq!(load("linux-5.3-shrinker").unwrap().policy, Policy::default());
}

#[test]
fn releases_differ_where_they_did() {
    let policy = |name| load(name).unwrap().policy;
    assert_eq!(policy("linux-4.4").frames.watermark.scale_factor, None);
    assert_eq!(policy("linux-4.19").frames.watermark.boost_factor, None);
    assert_eq!(policy("linux-5.0").frames.watermark.boost_factor, Some(15_000));
    assert!(!policy("linux-5.0").frames.fallback.nofragment && policy("linux-5.1").frames.fallback.nofragment);
    let slab = |name| policy(name).reclaim.slab_under_boost;
    assert_eq!((slab("linux-5.3-rc3"), slab("linux-5.3-shrinker")), (SlabUnderBoost::Exempt, SlabUnderBoost::Shrunk));
    let placement = |name| policy(name).thp.placement;
    assert_eq!((placement("linux-5.0"), placement("linux-5.6")), (HugePlacement::ThisNode, HugePlacement::TwoStep));
    assert_eq!(policy("linux-6.18").frames.fallback.search, FallbackSearch::ClaimThenSteal);
    assert_eq!(policy("linux-6.18").frames.pcp.lists, PcpLists::UpToCostly { huge_lists: 2 });
}

#[test]
fn presets_of_later_releases_need_mechanisms_that_are_missing() {
    let needs = |name: &str| load(name).unwrap().needs.len();
    assert_eq!(["linux-4.4", "linux-5.10", "linux-6.1", "linux-6.1-lts"].map(needs), [0; 4]);
    assert_eq!(["linux-6.6", "linux-6.12", "linux-6.12-lts", "linux-6.18", "linux-7.2"].map(needs), [0, 0, 0, 0, 1]);
}

#[test]
fn what_is_shown_is_a_policy_file_of_the_same_policy() {
    let folder = tempfile::tempdir().unwrap();
    for preset in all() {
        let path = folder.path().join(format!("{}.toml", preset.name));
        fs::write(&path, Show::new(&preset).to_string()).unwrap();
        let again = load(path.to_str().unwrap()).unwrap();
        assert_eq!((&again.policy, &again.summary), (&preset.policy, &preset.summary));
        let diff = Diff::new(&preset, &again);
        assert!(diff.differences.is_empty() && diff.not_modelled.is_empty(), "{diff}");
    }
}

#[test]
fn a_difference_is_one_line_in_words() {
    let policies = all();
    for before in &policies {
        for after in &policies {
            let diff = Diff::new(before, after);
            let heads = usize::from(!diff.not_modelled.is_empty()) + 1;
            assert_eq!(diff.to_string().lines().count(), heads + diff.differences.len() + diff.not_modelled.len());
            let differing = switches().filter(|switch| switch.get(&before.policy) != switch.get(&after.policy));
            assert_eq!(diff.differences.len(), differing.count());
        }
    }
}

#[test]
fn files_inherit_from_presets_and_from_files_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::write(folder.path().join("mine.toml"), "base = 'linux-5.0'\nwatermark.scale_factor = 100\n").unwrap();
    fs::write(folder.path().join("below/yours.toml"), "base = '../mine.toml'\nmoved_blocks = 'tail'\n").unwrap();
    let yours = load(folder.path().join("below/yours.toml").to_str().unwrap()).unwrap();
    assert_eq!(yours.policy.frames.watermark.scale_factor, Some(100));
    let scale_factor = switches().find(|switch| switch.key == "watermark.scale_factor").unwrap();
    assert!(yours.set_in(scale_factor).ends_with("below/../mine.toml"), "{}", yours.set_in(scale_factor));
    assert_eq!(yours.chain[..3], ["linux-4.4", "linux-4.19", "linux-5.0"]);
}

#[test]
fn everything_can_be_written_as_json() {
    let (before, after) = (load("linux-5.9").unwrap(), load("linux-6.18").unwrap());
    let show = serde_json::to_value(Show::new(&after)).unwrap();
    assert_eq!(show["switches"].as_array().unwrap().len(), switches().count());
    assert_eq!(show["switches"][0]["value"], "claim_then_steal");
    let scale_factor = switches().position(|switch| switch.key == "watermark.scale_factor").unwrap();
    assert_eq!(show["switches"][scale_factor]["sysctl"], "vm.watermark_scale_factor");
    let diff = serde_json::to_value(Diff::new(&before, &after)).unwrap();
    assert_eq!(diff["differences"][0]["key"], "fallback.search");
    let list = serde_json::to_value(List::new().unwrap()).unwrap();
    assert_eq!((&list[0]["name"], list[0]["base"].is_null()), (&"linux-4.4".into(), true));
}

#[test]
fn one_switch_can_be_taken_from_another_policy() {
    let switch = |key: &str| switches().find(|switch| switch.key == key).unwrap();
    let (old, new) = (load("linux-5.0").unwrap(), load("linux-6.18").unwrap());
    let capture = switch("compaction.capture");
    let with = old.with_switch_of(&new, capture, "mine".to_owned()).unwrap();
    assert_eq!(Diff::new(&old, &with).differences.len(), 1);
    assert_eq!(capture.get(&with.policy), capture.get(&new.policy));
    assert_eq!((with.set_in(capture).as_str(), with.base(), with.name.as_str()), ("mine", Some("linux-5.0"), "mine"));
    assert_eq!(with.summary, "linux-5.0 with compaction.capture of linux-6.18");
    let excluded = old.with_switch_of(&new, switch("fallback.freelist_hygiene"), "mine".to_owned()).unwrap_err();
    assert!(
        excluded.to_string().starts_with("mine: fallback.freelist_hygiene = true (set in mine) and "),
        "{excluded}"
    );
}
