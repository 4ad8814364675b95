//! Forms of values: a file whose content has another form is not what its name says, and is left out.
//!
//! A bundle of copies can hold anything under the name of a setting. What is kept of it is what a kernel can have written.

/// Form of the text that the kernel writes into a file of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A whole number, maybe negative.
    Number,
    /// Whole numbers, separated by blanks.
    Numbers,
    /// A number in hexadecimal, as `0x0007`.
    Mask,
    /// Several of these words, one of them in brackets.
    Choice(&'static [&'static str]),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A size, as `2048kB`.
    Size,
}

/// Digits of a 64-bit number.
const DIGITS_MAX: usize = 20;
/// More numbers than a kernel prints in one setting: a ratio per zone.
const NUMBERS_MAX: usize = 8;

impl Form {
    /// Whether `value` has this form.
    pub(crate) fn fits(self, value: &str) -> bool {
        match self {
            Self::Number => is_number(value),
            Self::Numbers => {
                let mut numbers = value.split_whitespace();
                (1..=NUMBERS_MAX).contains(&numbers.clone().count()) && numbers.all(is_number)
            }
            Self::Mask => value.strip_prefix("0x").is_some_and(|digits| {
                (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            }),
            Self::Choice(known) => is_choice(value, known),
            Self::Word(known) => known.contains(&value),
            Self::Size => value.strip_suffix("kB").is_some_and(is_digits),
        }
    }

    /// The expected text, for messages.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Number => "a number".to_owned(),
            Self::Numbers => "numbers".to_owned(),
            Self::Mask => "a number in hexadecimal".to_owned(),
            Self::Choice(known) => format!("some of the words {}, one of them in brackets", known.join(", ")),
            Self::Word(known) => format!("one of {}", known.join(", ")),
            Self::Size => "a size in kB".to_owned(),
        }
    }
}

fn is_digits(word: &str) -> bool {
    (1..=DIGITS_MAX).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_number(word: &str) -> bool {
    is_digits(word.strip_prefix('-').unwrap_or(word))
}

/// Each word at most once, exactly one in brackets.
fn is_choice(value: &str, known: &[&str]) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut chosen = 0;
    for word in value.split_whitespace() {
        let bare = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        chosen += usize::from(bare.is_some());
        let word = bare.unwrap_or(word);
        if !known.contains(&word) || seen.contains(&word) {
            return false;
        }
        seen.push(word);
    }
    chosen == 1
}

/// Whether `name` is what the kernel calls a counter: `nr_free_pages`, `Active(anon)`.
pub(crate) fn is_counter(name: &str) -> bool {
    const NAME_MAX: usize = 64;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'(' | b')');
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_kernels_fit() {
        const WORDS: &[&str] = &["always", "defer+madvise", "never"];
        let cases = [
            (Form::Number, "60"),
            (Form::Number, "-1"),
            (Form::Number, "18446744073709551615"),
            (Form::Numbers, "256\t256\t32\t0\t0"),
            (Form::Mask, "0x0007"),
            (Form::Choice(WORDS), "always [defer+madvise] never"),
            (Form::Word(WORDS), "never"),
            (Form::Size, "2048kB"),
        ];
        for (form, value) in cases {
            assert!(form.fits(value), "{form:?}: {value}");
        }
    }

    #[test]
    fn other_texts_do_not() {
        const WORDS: &[&str] = &["always", "never"];
        let all = [Form::Number, Form::Numbers, Form::Mask, Form::Choice(WORDS), Form::Word(WORDS), Form::Size];
        let texts = [
            "",
            "root:$6$x:19000:0:99999:7:::",
            "hunter2",
            "60\nsecret",
            "60 secret",
            "[secret] always never",
            "[always] [never]",
            "always never",
            "[always] always",
            "0xsecret",
            "secretkB",
            "--1",
            "123456789012345678901",
            "1 2 3 4 5 6 7 8 9",
        ];
        for (form, text) in all.iter().flat_map(|form| texts.map(|text| (form, text))) {
            assert!(!form.fits(text), "{form:?}: {text}");
        }
    }

    #[test]
    fn counters_have_plain_names() {
        assert!(["nr_free_pages", "Active(anon)", "DirectMap2M", "Hugepagesize"].into_iter().all(is_counter));
        assert!(!["", "root:x", "a b", "\u{1b}[2J", &"n".repeat(65)].into_iter().any(is_counter));
    }
}
