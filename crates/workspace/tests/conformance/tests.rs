//! Names of tests, as sentences.

/// Names of the tests in a source, those in macros included.
pub(crate) fn in_source(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        is_test |= line == "#[test]";
        let name = line.strip_prefix("fn ").filter(|_| is_test)?.split('(').next()?;
        is_test = false;
        Some(name)
    })
}

/// A name in words: blanks stand between words, dots between the numbers of a release.
pub(crate) fn sentence(name: &str) -> String {
    let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let mut words = name.split('_');
    let mut sentence = words.next().unwrap_or_default().to_owned();
    let mut before = sentence.clone();
    for word in words {
        sentence.push(if is_number(&before) && is_number(word) { '.' } else { ' ' });
        sentence.push_str(word);
        before = word.to_owned();
    }
    sentence
}

#[test]
fn names_become_sentences_with_releases() {
    assert_eq!(sentence("from_4_5_to_4_11_they_stay"), "from 4.5 to 4.11 they stay");
    let text = "#[test]\n#[should_panic]\nfn it_ends() {}\nfn helper() {}\n";
    assert_eq!(in_source(text).collect::<Vec<_>>(), ["it_ends"]);
}
