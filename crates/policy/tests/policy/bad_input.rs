//! Every refusal is one sentence that says where and what was expected.

use std::fs;
use std::path::Path;

use order9_policy::load;
use proptest::prelude::*;

/// Why the file with `text` is refused, from the line number on.
fn refused(text: impl AsRef<[u8]>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, text).unwrap();
    let message = load(path.to_str().unwrap()).expect_err("refused").to_string();
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn unknown_presets() {
    let refusal = |name| load(name).expect_err("refused").to_string();
    assert!(refusal("linux-5.03").starts_with("no policy is called 'linux-5.03'; did you mean linux-5.0?"));
    assert!(refusal("windows").starts_with("no policy is called 'windows'; `order9 policies list` names all"));
    assert_eq!(refusal("missing.toml"), "missing.toml: no such file or directory");
    assert_eq!(refusal("/"), "/: is a directory, expected a policy");
}

#[test]
fn unknown_keys() {
    let unknown = refused("base = 'linux-5.0'\n\n[watermark]\nboost_facter = 1\n");
    let expected = "mine.toml, line 4: unknown key watermark.boost_facter; did you mean watermark.boost_factor?";
    assert_eq!(unknown, expected);
    assert_eq!(
        refused("boost_factor = 1"),
        "mine.toml, line 1: unknown key boost_factor; did you mean \
                                             watermark.boost_factor?"
    );
    assert_eq!(refused("[colours]\nred = 1"), "mine.toml, line 1: unknown key colours");
    assert_eq!(refused("bse = 'linux-5.0'"), "mine.toml, line 1: unknown key bse; did you mean base?");
    assert_eq!(
        refused("pcp.high.x = 1"),
        "mine.toml, line 1: pcp.high is a table, expected \"six_batches\" or \
                                           \"low_mark\" or \"auto_tuned\""
    );
}

#[test]
fn wrong_values() {
    let of = |line: &str| refused(format!("base = 'linux-5.0'\n{line}\n"));
    assert_eq!(of("fallback.nofragment = 1"), "mine.toml, line 2: fallback.nofragment is 1, expected true or false");
    assert_eq!(
        of("moved_blocks = 'middle'"),
        "mine.toml, line 2: moved_blocks is \"middle\", expected \"head\" or \
                                               \"tail\""
    );
    let factor = |found: &str| {
        let expected = "expected a whole number from 1 to 3000 or \"absent\"";
        format!("mine.toml, line 2: watermark.scale_factor is {found}, {expected}")
    };
    for found in ["0", "3001", "-1", "99999999999999999999", "1.5", "true", "\"none\""] {
        assert_eq!(of(&format!("watermark.scale_factor = {found}")), factor(found));
    }
    assert_eq!(of("watermark.scale_factor = []"), factor("an array"));
    assert_eq!(refused("summary = 3"), "mine.toml, line 1: summary is 3, expected one line of text");
}

#[test]
fn needs_name_what_is_planned() {
    let of = |entries: &str| refused(format!("base = 'linux-5.0'\nneeds = [\n{entries}\n]\n"));
    assert_eq!(
        of("'pcp.high = low_mark'"),
        "mine.toml, line 3: pcp.high is modelled: set it instead of naming it in \
                                             `needs`"
    );
    let refusal = of("'slow_path.compact_only = true'");
    assert!(refusal.starts_with("mine.toml, line 3: unknown key slow_path.compact_only"), "{refusal}");
    assert_eq!(of("3"), "mine.toml, line 3: an entry of needs is 3, expected \"switch = value\"");
    assert_eq!(refused("needs = 'x'"), "mine.toml, line 1: needs is \"x\", expected an array of \"switch = value\"");
}

#[test]
fn text_that_is_no_policy() {
    assert!(refused("base = 'linux-5.0'\nbase = 'linux-5.1'").starts_with("mine.toml, line 2: duplicate key"));
    assert!(refused("[[[").starts_with("mine.toml, line 1: "));
    assert_eq!(refused([0xff, 0xfe]), "mine.toml: is not UTF-8 text, expected a policy");
    assert!(refused(vec![b'#'; 2 << 20]).starts_with("mine.toml: longer than "));
    assert!(load("/dev/zero").expect_err("refused").to_string().starts_with("/dev/zero: "));
}

#[test]
fn policies_that_stand_on_nothing() {
    let refusal = refused("[pcp]\nhigh = 'low_mark'\n");
    assert!(refusal.starts_with("mine.toml: expected a base, or a value for every switch; without value: "));
    assert!(refusal.contains("fallback.search") && !refusal.contains("pcp.high"), "{refusal}");
    assert!(refused("").contains("expected a base"));
}

#[test]
fn bases_that_cannot_be_loaded() {
    let none = refused("summary = 'x'\nbase = 'linux-5.03'");
    assert!(none.starts_with("mine.toml, line 2: base: no policy is called 'linux-5.03'; did you mean linux-5.0?"));
    assert_eq!(refused("base = 'gone.toml'"), "mine.toml, line 1: base: gone.toml: no such file or directory");
    assert_eq!(
        refused("base = 'mine.toml'"),
        "policies must not be based on each other in a circle: mine.toml -> \
                                               mine.toml"
    );
}

#[test]
fn circles_of_bases_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, base) in [("a", "b"), ("b", "c"), ("c", "./b")] {
        fs::write(path(&format!("{name}.toml")), format!("base = '{base}.toml'")).unwrap();
    }
    let message = load(path("a.toml").to_str().unwrap()).expect_err("refused").to_string();
    let message = message.replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(message, "policies must not be based on each other in a circle: b.toml -> c.toml -> b.toml");
}

#[test]
fn values_that_exclude_each_other() {
    assert_eq!(
        refused("base = 'linux-6.18'\npcp.keeps_cached_type = true"),
        "mine.toml: fallback.freelist_hygiene = true (set in linux-6.12) and pcp.keeps_cached_type = true (set in \
         mine.toml) exclude each other: pages would come back with an older type than their pageblock's, and lists \
         would disagree with pageblocks"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_loaded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        fs::write(file.path(), bytes).unwrap();
        let _ = load(file.path().to_str().unwrap());
    }

    #[test]
    fn any_name_is_loaded_or_refused(name in "[^/]*") {
        prop_assume!(!Path::new(&name).exists());
        prop_assert!(load(&name).is_err() || name.starts_with("linux-"));
    }
}
