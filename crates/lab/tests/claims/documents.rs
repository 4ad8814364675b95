//! The tables of verdicts in docs/results.md and docs/results/*.md are those of docs/results/results.json, which is the
//! `reproduce.json` of a reproduction at full size. What was measured earlier, by hand, stands in docs/results/earlier.toml and
//! is marked so in every table.
//!
//! After a new reproduction: `UPDATE_GOLDEN=1 cargo test -p order9-lab --test claims documents`, then read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use order9_lab::reproduce::{Causes, Judged, Reproduction, Size, Table, claim_table};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Earlier {
    #[serde(default)]
    earlier: Vec<Count>,
}

/// Statements of a claim that held when it was measured by hand.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    claim: String,
    hold: usize,
    of: usize,
}

/// Source of the verdicts on a claim.
enum Source<'a> {
    Results(&'a Judged),
    Earlier(&'a Count),
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn results() -> Reproduction {
    let results = Reproduction::parse(&read(&docs().join("results/results.json")));
    results.expect("docs/results/results.json is a reproduction").with_causes(&Causes::built_in())
}

fn earlier() -> Vec<Count> {
    toml::from_str::<Earlier>(&read(&docs().join("results/earlier.toml"))).expect("docs/results/earlier.toml").earlier
}

/// The source of a claim: one, and not both.
fn source<'a>(claim: &str, results: &'a Reproduction, earlier: &'a [Count]) -> Source<'a> {
    let judged = results.claims.iter().find(|of| of.claim == claim);
    match (judged, earlier.iter().find(|of| of.claim == claim)) {
        (Some(judged), None) => Source::Results(judged),
        (None, Some(count)) => Source::Earlier(count),
        (Some(_), Some(_)) => {
            panic!("{claim} stands in docs/results/results.json and in earlier.toml: take it out there")
        }
        (None, None) => panic!("{claim} stands neither in docs/results/results.json nor in earlier.toml"),
    }
}

/// A row for each claim.
fn overview(results: &Reproduction, earlier: &[Count]) -> String {
    let mut text =
        "| experiment | claim | published | statements that hold | from |\n|---|---|---|---|---|\n".to_owned();
    let table = Table::built_in();
    for entry in &table.experiments {
        for of in &entry.claims {
            let (headline, hold, all, from) = match source(&of.claim, results, earlier) {
                Source::Results(of) => (of.headline.clone(), of.score().hold, of.score().all(), "results.json"),
                Source::Earlier(count) => (headline(&of.claim), count.hold, count.of, "earlier, by hand"),
            };
            let input = if entry.input { ", an input of the model" } else { "" };
            let (title, page, claim) = (&entry.title, &entry.page, &of.claim);
            text +=
                &format!("| [{title}](results/{page}) | `{claim}`{input} | {headline} | {hold} of {all} | {from} |\n");
        }
    }
    for not in &table.not_judged {
        text += &format!("| none | `{}` | {} | not judged: {} | |\n", not.claim, headline(&not.claim), not.why);
    }
    let of_results = results.score();
    let (hold, all) = earlier
        .iter()
        .fold((of_results.hold, of_results.all()), |(hold, all), count| (hold + count.hold, all + count.of));
    let inputs = results.inputs();
    text + &format!(
        "\n{hold} of {all} statements hold, {} of {} of them from results.json. Statements about what the model is given are not among \
         them; of these {} of {} hold.\n",
        of_results.hold,
        of_results.all(),
        inputs.hold,
        inputs.all()
    )
}

fn headline(claim: &str) -> String {
    let claims = order9_lab::reproduce::claims();
    claims.into_iter().find(|of| of.id == claim).expect("a claim").headline
}

/// The part of a page about a claim.
fn part(claim: &str, results: &Reproduction, earlier: &[Count]) -> String {
    match source(claim, results, earlier) {
        Source::Results(of) => claim_table(of),
        Source::Earlier(Count { hold, of, .. }) => format!(
            "`{claim}`: {hold} of {of} statements held when this page was measured by hand. `order9 reproduce {claim}` gives \
             every verdict.\n"
        ),
    }
}

/// The text with every generated part as it should be: between `<!-- reproduce: NAME -->` and `<!-- end -->`.
fn regenerated(text: &str, made: impl Fn(&str) -> String) -> String {
    const BEGIN: &str = "<!-- reproduce: ";
    const END: &str = "<!-- end -->";
    let mut parts = text.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").expect("a marker ends");
        let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("{name}: no {END}"));
        out += &format!("{BEGIN}{name} -->\n{}{END}{after}", made(name));
    }
    out
}

#[test]
fn tables_of_verdicts_are_those_of_the_results() {
    let (results, earlier) = (results(), earlier());
    let mut pages: Vec<PathBuf> = fs::read_dir(docs().join("results")).unwrap().map(|of| of.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    pages.push(docs().join("results.md"));
    let mut all = String::new();
    for path in pages {
        let text = read(&path);
        let made = |name: &str| match name {
            "overview" => overview(&results, &earlier),
            claim => part(claim, &results, &earlier),
        };
        let expected = regenerated(&text, made);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &expected).expect("the page can be written");
        } else {
            assert!(text == expected, "{} differs from docs/results/results.json: UPDATE_GOLDEN=1", path.display());
        }
        all += &expected;
    }
    for entry in Table::built_in().experiments {
        for of in entry.claims {
            assert!(
                all.contains(&format!("<!-- reproduce: {} -->", of.claim)),
                "no page has the table of {}",
                of.claim
            );
        }
    }
}

#[test]
fn results_are_of_full_size_and_every_cause_explains_a_statement() {
    let results = results();
    assert_eq!(results.size, Size::Full);
    assert!(results.claims.iter().all(|claim| claim.why.is_none()), "claims that were not judged are no results");
    let idle = Causes::built_in().idle(&results);
    assert!(idle.is_empty(), "claims/reproduce/causes.toml explains statements that hold: {idle:#?}");
}
