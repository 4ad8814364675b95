//! The tables of verdicts in docs/results.md and docs/results/*.md are those of docs/results/results.json, which is the
//! `reproduce.json` of a reproduction at full size.
//!
//! After a new reproduction: `UPDATE_GOLDEN=1 cargo test -p order9-lab --test claims documents`, then read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use order9_lab::reproduce::{Causes, Judged, Reproduction, Size, Table, claim_table};

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

/// The verdicts on a claim.
fn verdicts<'a>(claim: &str, results: &'a Reproduction) -> &'a Judged {
    let found = results.claims.iter().find(|of| of.claim == claim);
    found.unwrap_or_else(|| panic!("{claim} is not in docs/results/results.json"))
}

/// A row for each claim.
fn overview(results: &Reproduction) -> String {
    let mut text = "| experiment | claim | published | statements that hold |\n|---|---|---|---|\n".to_owned();
    let table = Table::built_in();
    for entry in &table.experiments {
        for of in &entry.claims {
            let of = verdicts(&of.claim, results);
            let input = if entry.input { ", an input of the model" } else { "" };
            let (title, page, claim, headline) = (&entry.title, &entry.page, &of.claim, &of.headline);
            let (hold, all) = (of.score().hold, of.score().all());
            text += &format!("| [{title}](results/{page}) | `{claim}`{input} | {headline} | {hold} of {all} |\n");
        }
    }
    for not in &table.not_judged {
        text += &format!("| none | `{}` | {} | not judged: {} |\n", not.claim, headline(&not.claim), not.why);
    }
    let (of_results, inputs) = (results.score(), results.inputs());
    text + &format!(
        "\n{} of {} statements hold. Statements about what the model is given are not among them; of these {} of {} hold.\n",
        of_results.hold,
        of_results.hold + of_results.fail,
        inputs.hold,
        inputs.all()
    )
}

fn headline(claim: &str) -> String {
    let claims = order9_lab::reproduce::claims();
    claims.into_iter().find(|of| of.id == claim).expect("a claim").headline
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
    let results = results();
    let mut pages: Vec<PathBuf> = fs::read_dir(docs().join("results")).unwrap().map(|of| of.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    pages.push(docs().join("results.md"));
    let mut all = String::new();
    for path in pages {
        let text = read(&path);
        let made = |name: &str| match name {
            "overview" => overview(&results),
            claim => claim_table(verdicts(claim, &results)),
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
    let table = Table::built_in();
    let is_judged = |claim: &Judged| claim.why.is_none() || table.not_judged.iter().any(|not| not.claim == claim.claim);
    assert!(results.claims.iter().all(is_judged), "every claim that runs can judge was judged");
    let idle = Causes::built_in().idle(&results);
    assert!(idle.is_empty(), "claims/reproduce/causes.toml explains statements that hold: {idle:#?}");
}
