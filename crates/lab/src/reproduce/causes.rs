//! Causes of statements that do not hold, as somebody has found them: `claims/reproduce/causes.toml`.

use serde::Deserialize;

use super::{Judged, Reproduction, Size, files};

/// Known causes, in the order in which they are asked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Causes {
    #[serde(default, rename = "cause")]
    causes: Vec<Cause>,
}

/// A cause, and what it explains.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    claim: String,
    /// Statements as verdicts print them; empty for all of the claim.
    #[serde(default)]
    statements: Vec<String>,
    /// Sizes of the experiments that it explains.
    #[serde(default = "full")]
    sizes: Vec<Size>,
    text: String,
}

fn full() -> Vec<Size> {
    vec![Size::Full]
}

impl Causes {
    /// The causes that are built in.
    ///
    /// # Panics
    /// Never, as long as the file is what its test saw.
    #[must_use]
    pub fn built_in() -> Self {
        toml::from_str(files::CAUSES).expect("a test reads the causes")
    }

    /// Causes of claims that `of` judges which explain no statement there, each by its claim and its text.
    #[must_use]
    pub fn idle(&self, of: &Reproduction) -> Vec<String> {
        let explains = |cause: &Cause, judged: &Judged| {
            judged.statements.iter().any(|statement| statement.cause.as_ref() == Some(&cause.text))
        };
        let judged =
            |cause: &Cause| of.claims.iter().find(|judged| judged.claim == cause.claim && judged.why.is_none());
        let at_size = self.causes.iter().filter(|cause| cause.sizes.contains(&of.size));
        let idle = at_size.filter(|cause| judged(cause).is_some_and(|judged| !explains(cause, judged)));
        idle.map(|cause| format!("{}: {}", cause.claim, cause.text)).collect()
    }

    /// The cause for which a statement does not hold in experiments of this size, where it is known.
    pub(super) fn of(&self, claim: &str, statement: &str, size: Size) -> Option<&str> {
        let explains = |cause: &&Cause| {
            let of_statement = cause.statements.is_empty() || cause.statements.iter().any(|of| of == statement);
            cause.claim == claim && of_statement && cause.sizes.contains(&size)
        };
        self.causes.iter().find(explains).map(|cause| cause.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_name_statements_that_there_are() {
        let claims = files::claims();
        for Cause { claim, statements, .. } in Causes::built_in().causes {
            let of = claims.iter().find(|of| of.id == claim).unwrap_or_else(|| panic!("no claim is called {claim}"));
            let there: Vec<String> = of.shape.iter().map(ToString::to_string).collect();
            let lost: Vec<_> = statements.iter().filter(|one| !there.contains(one)).collect();
            assert!(lost.is_empty(), "{claim} has no statement {lost:#?}: {there:#?}");
        }
    }

    #[test]
    fn causes_of_full_size_explain_no_quick_run() {
        let text = "[[cause]]\nclaim = \"a\"\nstatements = [\"x\"]\ntext = \"Large.\"\n\
                    [[cause]]\nclaim = \"a\"\nsizes = [\"quick\", \"full\"]\ntext = \"Always.\"\n";
        let causes: Causes = toml::from_str(text).unwrap();
        assert_eq!(causes.of("a", "x", Size::Full), Some("Large."));
        assert_eq!(causes.of("a", "x", Size::Quick), Some("Always."));
        assert_eq!((causes.of("a", "y", Size::Full), causes.of("b", "x", Size::Full)), (Some("Always."), None));
    }
}
