//! The name that was probably meant, and words of a user made fit for a message.

/// Longest part of a user's word that is compared or shown, in characters.
const SHOWN: usize = 60;

/// The name most like `word`, where one is like enough to be worth proposing; of names equally like, the one that begins more alike.
#[must_use]
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(SHOWN).collect();
    let likeness = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or(name);
        let own = word.rsplit('.').next().unwrap_or(&word);
        // A key in the wrong table is as near as a misspelt one.
        let whole = strsim::normalized_damerau_levenshtein(&word, name);
        whole.max(0.9 * strsim::normalized_damerau_levenshtein(own, last))
    };
    let rated = names.into_iter().map(|name| (likeness(name), name));
    let alike = |name: &str| word.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    let best = rated.max_by(|one, other| one.0.total_cmp(&other.0).then_with(|| alike(one.1).cmp(&alike(other.1))))?;
    (best.0 >= 0.6).then_some(best.1)
}

/// `; did you mean NAME?`, or nothing.
#[must_use]
pub fn proposal(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// `text` on one line and not too long.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut line: String =
        text.chars().take(SHOWN).map(|c| if !order9_escape::is_plain(c) { '?' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["watermark.boost_factor", "pcp.high", "moved_blocks"];

    #[test]
    fn misspelt_and_misplaced_keys_are_found() {
        assert_eq!(nearest("watermark.boost_facter", NAMES), Some("watermark.boost_factor"));
        assert_eq!(nearest("boost_factor", NAMES), Some("watermark.boost_factor"));
        assert_eq!(nearest("pcp.moved_blocks", NAMES), Some("moved_blocks"));
        assert_eq!(nearest("linux-5.00", ["linux-5.0", "linux-5.10"]), Some("linux-5.0"));
        assert_eq!(nearest("colour", NAMES), None);
        assert_eq!(nearest("", []), None);
    }

    #[test]
    fn long_and_odd_words_fit_on_a_line() {
        assert_eq!(shown("a\nb"), "a?b");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), SHOWN + 1);
        assert_eq!(nearest(&"x".repeat(1_000_000), NAMES), None);
    }
}
