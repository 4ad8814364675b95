//! The file: what it says, what it refuses, and that it says what it means.

use order9_guard::{Config, Goal, GuardFile, KEYS, Listen, Share};
use order9_units::{Nanos, NodeId};
use proptest::prelude::*;

fn refusal(text: &str) -> String {
    GuardFile::parse("guard.toml", text).expect_err("it is refused").to_string()
}

#[test]
fn the_template_is_the_default_and_names_every_key() {
    let template = GuardFile::template();
    assert_eq!(GuardFile::parse("template", &template).expect("it is good"), GuardFile::default());
    for key in KEYS {
        let name = key.name.rsplit('.').next().expect("a name");
        assert!(template.contains(&format!("{name} = ")), "{name}");
    }
    let all: String = template
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")).unwrap_or(line))
        .flat_map(|line| [line, "\n"])
        .collect();
    let file = GuardFile::parse("all", &all).expect("examples are good");
    assert!(file.textfile.is_some() && file.listen.is_some() && file.config.nodes.contains_key(&NodeId(0)));
}

#[test]
fn what_is_shown_is_what_was_read() {
    let text = "goal = 700\nactions = [\"collapse\"]\n[nodes]\n1 = \"12.5%\"\n[budget]\nstep_max = \"1s 200ms\"\n\
                [metrics]\ntextfile = \"/a \\\"b\\\".prom\"\nlisten = \"unix:/run/order9/guard.sock\"\n";
    let file = GuardFile::parse("guard.toml", text).expect("it is good");
    assert_eq!(file.config.goal, Goal::Count(700));
    assert_eq!(file.config.nodes[&NodeId(1)], Goal::Share(Share::percent(12.5)));
    assert_eq!(file.config.step_max, Nanos::new(1_200_000_000));
    assert!(!file.config.may_compact && file.config.may_collapse);
    assert_eq!(file.listen, Some(Listen::Unix("/run/order9/guard.sock".into())));
    assert_eq!(GuardFile::parse("shown", &file.show()).expect("it is good"), file);
    assert_eq!(GuardFile::parse("empty", "").expect("all has a default").config, Config::default());
}

#[test]
fn mistakes_are_named_with_their_line_and_what_was_expected() {
    for (text, says) in [
        ("goal = \"lots\"", "guard.toml, line 1: goal is \"lots\", expected a number of huge pages such as 512"),
        ("goal = -1", "goal is -1, expected a number of huge pages"),
        ("goal = \"101%\"", "goal is \"101%\", expected"),
        ("\ngaol = 5", "line 2: unknown key gaol; did you mean goal?"),
        ("[budget]\ncpus = \"5%\"", "line 2: unknown key budget.cpus; did you mean budget.cpu?"),
        ("period = \"0s\"", "period is \"0s\", expected a time of 1ms or more"),
        ("period = \"soon\"", "expected a time such as \"500ms\""),
        ("period = \"99years\"", "10 years at most"),
        (
            "[vain]\nback_off = \"2s\"\nback_off_max = \"1s\"",
            "vain.back_off_max is \"1s\", expected at least vain.back_off, which is 2s",
        ),
        ("[nodes]\nfirst = 5", "expected the number of a node as key"),
        ("nodes = 5", "nodes is 5, expected a table"),
        ("actions = [\"reboot\"]", "expected a list of the words \"compact\" and \"collapse\""),
        ("[metrics]\ntextfile = \"x.prom\"", "expected a path from / on that ends in .prom"),
        ("[metrics]\nlisten = \"localhost\"", "expected an address such as \"127.0.0.1:9409\""),
        ("goal = ", "line 1: "),
    ] {
        let error = refusal(text);
        assert!(error.contains(says), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z_\\[\\]=\"%0-9. \n-]{0,80}") {
        if let Ok(file) = GuardFile::parse("any", &text) {
            prop_assert_eq!(GuardFile::parse("shown", &file.show()).expect("it is good"), file);
        }
    }
}
