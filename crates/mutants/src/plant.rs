//! Planting: the text of a source file with a switch at the place of each defect.
//!
//! `a < b` becomes `(if crate::planted::is(17) { a <= b } else { a < b })`, a statement the same without parentheses.
//! Several defects may have one place, or one inside that of another. Constants cannot be switched: a defect stands where
//! they are used, and a `const fn` that holds one is no longer `const` in the copy.

use std::ops::Range;

use crate::error::Error;
use crate::list::Mutant;

/// The module that tells which defect is on, or, with `ORDER9_MUTANT_REACHED`, writes down which ones a process comes by. The
/// copy has it in every crate that a defect is planted in.
pub(crate) const MODULE: &str = include_str!("planted.rs");

const SWITCH: &str = "crate::planted::is(";

/// A place in a file and what may stand there instead, by number of the defect.
struct Site<'a> {
    range: Range<usize>,
    defects: Vec<(usize, &'a Mutant)>,
}

/// The text of a file with all its defects, each with its number.
///
/// # Errors
/// All defects whose text is not found, or not clear.
pub(crate) fn plant(text: &str, defects: &[(usize, &Mutant)]) -> Result<String, Error> {
    let mut sites: Vec<Site<'_>> = Vec::new();
    let mut lost = Vec::new();
    for &(number, mutant) in defects {
        let range = match find(text, mutant) {
            Ok(range) => range,
            Err(error) => {
                lost.push(error);
                continue;
            }
        };
        match sites.iter_mut().find(|site| site.range == range) {
            Some(site) => site.defects.push((number, mutant)),
            None => sites.push(Site { range, defects: vec![(number, mutant)] }),
        }
    }
    if !lost.is_empty() {
        return Err(Error::Several(lost));
    }
    // An outer place comes before those inside it.
    sites.sort_by_key(|site| (site.range.start, std::cmp::Reverse(site.range.end)));
    for (at, site) in sites.iter().enumerate() {
        let cut = |other: &&Site<'_>| other.range.start < site.range.end && other.range.end > site.range.end;
        if let Some(other) = sites[at + 1..].iter().find(cut) {
            let [id, other] = [site, other].map(|site| site.defects[0].1.id.clone());
            return Err(Error::Overlap { id, other, file: site.defects[0].1.file.clone() });
        }
    }
    let planted = render(text, 0..text.len(), &sites);
    Ok(without_const(&planted))
}

/// Place of the text that a defect replaces.
fn find(text: &str, mutant: &Mutant) -> Result<Range<usize>, Error> {
    let Mutant { id, file, after, find, replace, .. } = mutant;
    let lost = |text: &str, within: String| Error::NotFound {
        id: id.clone(),
        file: file.clone(),
        text: text.to_owned(),
        within,
    };
    let unique = |part: &str| match places(text, part).count() {
        0 => Err(lost(part, String::new())),
        1 => Ok(places(text, part).next().expect("it is there once")),
        times => Err(Error::NotUnique { id: id.clone(), file: file.clone(), text: part.to_owned(), times }),
    };
    if find == replace {
        return Err(Error::Same { id: id.clone() });
    }
    let start = match after {
        None => unique(find)?,
        Some(after) => {
            let from = unique(after)?;
            let at = places(text, find).find(|&at| at >= from);
            at.ok_or_else(|| lost(find, format!(" after {after:?}")))?
        }
    };
    Ok(start..start + find.len())
}

/// Places of `part` in the text. A part of a longer word does not count.
fn places<'a>(text: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let whole = move |&at: &usize| {
        let (before, behind) = (&text[..at], &text[at + part.len()..]);
        let cuts_start = is_word(before.chars().next_back()) && is_word(part.chars().next());
        let cuts_end = is_word(part.chars().next_back()) && is_word(behind.chars().next());
        !cuts_start && !cuts_end
    };
    text.match_indices(part).map(|(at, _)| at).filter(whole)
}

/// The text of `range` with the switches of `sites`, which lie in it in the order of their starts.
fn render(text: &str, range: Range<usize>, sites: &[Site<'_>]) -> String {
    let (mut out, mut at, mut rest) = (String::new(), range.start, sites);
    while let Some((site, others)) = rest.split_first() {
        let inside = others.iter().take_while(|other| other.range.start < site.range.end).count();
        let (inside, behind) = others.split_at(inside);
        out += &text[at..site.range.start];
        out += &switch(site, &render(text, site.range.clone(), inside));
        (at, rest) = (site.range.end, behind);
    }
    out + &text[at..range.end]
}

/// A place with what may stand there, `original` where no defect of it is on.
fn switch(site: &Site<'_>, original: &str) -> String {
    let chain: String = site
        .defects
        .iter()
        .map(|(number, mutant)| format!("if {SWITCH}{number}) {{ {} }} else ", mutant.replace))
        .collect();
    let is_statement = original.trim_end().ends_with([';', '}']);
    if is_statement { format!("{chain}{{ {original} }}") } else { format!("({chain}{{ {original} }})") }
}

/// The text with the functions that hold a switch no longer `const`.
fn without_const(planted: &str) -> String {
    let mut out = planted.to_owned();
    let mut from = 0;
    while let Some(at) = out[from..].find(SWITCH).map(|at| from + at) {
        let function = out[..at].rfind("fn ");
        let modifier = function.map(|function| out[..function].trim_end()).filter(|before| before.ends_with("const"));
        from = at + SWITCH.len();
        if let Some(start) = modifier.map(|before| before.len() - "const".len()) {
            let end = function.unwrap_or(start);
            out.replace_range(start..end, "");
            from -= end - start;
        }
    }
    out
}

#[cfg(test)]
#[path = "planted.rs"]
#[allow(unused_extern_crates, reason = "crates that have no std need it")]
mod planted;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn mutant(find: &str, replace: &str) -> Mutant {
        let [id, file, why] = ["a", "b.rs", "c"].map(str::to_owned);
        Mutant { id, file, after: None, find: find.to_owned(), replace: replace.to_owned(), why }
    }

    fn planted(text: &str, mutants: &[Mutant]) -> String {
        let numbered: Vec<_> = mutants.iter().enumerate().map(|(at, mutant)| (at + 1, mutant)).collect();
        plant(text, &numbered).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn expressions_and_statements_are_switched() {
        let text = "let x = a < b;\nc += 1;";
        assert_eq!(
            planted(text, &[mutant("a < b", "a <= b"), mutant("c += 1;", "")]),
            "let x = (if crate::planted::is(1) { a <= b } else { a < b });\n\
             if crate::planted::is(2) {  } else { c += 1; }"
        );
    }

    #[test]
    fn one_place_has_several_defects_and_one_may_lie_in_another() {
        assert_eq!(
            planted(
                "f(a + 1)",
                &[mutant("a + 1", "a"), mutant("a + 1", "a + 2"), mutant("1", "3"), mutant("f(a + 1)", "0")]
            ),
            "(if crate::planted::is(4) { 0 } else { f((if crate::planted::is(1) { a } else \
             if crate::planted::is(2) { a + 2 } else { a + (if crate::planted::is(3) { 3 } else { 1 }) })) })"
        );
    }

    #[test]
    fn places_are_written_down_the_first_time() {
        const FILE: &str = "ORDER9_MUTANT_REACHED";
        if std::env::var_os(FILE).is_some() {
            assert!([7, 3, 7].map(planted::is).iter().all(|&is_on| !is_on), "no defect is on");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("reached");
        let mut again = Command::new(std::env::current_exe().expect("a test binary"));
        let test = "plant::tests::places_are_written_down_the_first_time";
        assert!(again.args(["--exact", test]).env(FILE, &file).status().expect("it runs").success());
        assert_eq!(std::fs::read_to_string(file).expect("written"), "7\n3\n");
    }

    #[test]
    fn a_function_that_is_switched_is_no_constant() {
        let text = "pub const fn f() -> u8 { 1 }\nconst fn g() {}";
        let out = planted(text, &[mutant("1", "2")]);
        assert_eq!(out, "pub fn f() -> u8 { (if crate::planted::is(1) { 2 } else { 1 }) }\nconst fn g() {}");
    }

    #[test]
    fn texts_that_are_gone_or_not_clear_are_named() {
        let fails = |text: &str, mutant: &Mutant| plant(text, &[(1, mutant)]).expect_err("refused").to_string();
        assert_eq!(fails("x", &mutant("a", "b")), r#"a: b.rs no longer holds "a""#);
        assert_eq!(fails("ab _a", &mutant("a", "b")), r#"a: b.rs no longer holds "a""#, "a part of a word");
        assert_eq!(fails("a a", &mutant("a", "b")), r#"a: b.rs holds "a" 2 times; say with `after` where it is meant"#);
        let placed = Mutant { after: Some("fn g".to_owned()), ..mutant("a", "b") };
        assert_eq!(
            planted("a fn g a", std::slice::from_ref(&placed)),
            "a fn g (if crate::planted::is(1) { b } else { a })"
        );
        assert_eq!(fails("a fn g x", &placed), r#"a: b.rs no longer holds "a" after "fn g""#);
        assert_eq!(fails("a", &mutant("a", "a")), "a: the replacement is the text itself");
        let crossed = [mutant("a b", "x"), mutant("b c", "y")];
        let crossed = plant("a b c", &[(1, &crossed[0]), (2, &crossed[1])]);
        assert!(matches!(crossed, Err(Error::Overlap { .. })));
    }
}
