//! Metrics of a panel, as a person types them: a counter, or a few counters put together.
//!
//! ```text
//! sum    = ratio { ("+" | "-") ratio }
//! ratio  = share { "/" share | "/s" }
//! share  = atom [ "%" ]
//! atom   = NAME | "rate(" sum ")" | "(" sum ")"
//! ```
//!
//! `/s` is the growth per second of all that stands before it in its ratio, as `rate(...)` is; `%` is a share of memory.

use std::fmt;
use std::str::FromStr;

/// Longest metric, in bytes: also bounds how deep one nests.
const LONGEST: usize = 1000;

/// A metric that was read; shown as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    text: String,
    pub(super) expr: Expr,
}

/// The meaning of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    /// A counter or level, by its name.
    Counter(String),
    Sum(Box<Expr>, Box<Expr>),
    Difference(Box<Expr>, Box<Expr>),
    Ratio(Box<Expr>, Box<Expr>),
    /// Growth of a counter per second.
    Rate(Box<Expr>),
    /// Share of the memory of the machine.
    Share(Box<Expr>),
}

/// A text that is no metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("metric '{text}', character {at}: expected {expected}")]
pub struct MetricError {
    /// The text, shortened and on one line.
    text: String,
    /// Position in the text, from 1 on.
    at: usize,
    expected: &'static str,
}

impl FromStr for Metric {
    type Err = MetricError;

    /// Parses a metric. Blanks mean nothing.
    fn from_str(text: &str) -> Result<Self, MetricError> {
        let mut parser = Parser { rest: text, text };
        if text.len() > LONGEST {
            return Err(parser.expected("at most 1000 bytes"));
        }
        let expr = parser.sum()?;
        if !parser.rest.trim_start().is_empty() {
            return Err(parser.expected("+, -, /, % or the end"));
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self { text, expr })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parser of the rest of a text.
struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Expr, MetricError> {
        let mut sum = self.ratio()?;
        loop {
            if self.takes('+') {
                sum = Expr::Sum(Box::new(sum), Box::new(self.ratio()?));
            } else if self.takes('-') {
                sum = Expr::Difference(Box::new(sum), Box::new(self.ratio()?));
            } else {
                return Ok(sum);
            }
        }
    }

    fn ratio(&mut self) -> Result<Expr, MetricError> {
        let mut ratio = self.share()?;
        while self.takes('/') {
            let before = self.rest;
            ratio = if self.name() == Some("s") {
                Expr::Rate(Box::new(ratio))
            } else {
                self.rest = before;
                Expr::Ratio(Box::new(ratio), Box::new(self.share()?))
            };
        }
        Ok(ratio)
    }

    fn share(&mut self) -> Result<Expr, MetricError> {
        let atom = self.atom()?;
        Ok(if self.takes('%') { Expr::Share(Box::new(atom)) } else { atom })
    }

    fn atom(&mut self) -> Result<Expr, MetricError> {
        let name = self.name();
        if name.is_some_and(|name| name != "rate") || (name.is_some() && !self.rest.trim_start().starts_with('(')) {
            return Ok(Expr::Counter(name.unwrap_or_default().to_owned()));
        }
        if !self.takes('(') {
            return Err(self.expected("the name of a counter, or ("));
        }
        let inner = self.sum()?;
        if !self.takes(')') {
            return Err(self.expected("+, -, /, % or )"));
        }
        Ok(if name.is_some() { Expr::Rate(Box::new(inner)) } else { inner })
    }

    /// The name that comes next, if one does.
    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        if name.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(name)
    }

    fn takes(&mut self, symbol: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The error that something else stands here.
    fn expected(&self, expected: &'static str) -> MetricError {
        let shown: String = self.text.chars().take(80).collect();
        let read = self.text.len() - self.rest.trim_start().len();
        MetricError {
            text: order9_escape::line(&shown).into_owned(),
            at: self.text[..read].chars().count() + 1,
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        text.parse::<Metric>().map_or_else(|error| error.to_string(), |metric| show(&metric.expr))
    }

    /// Every pair of brackets written out.
    fn show(expr: &Expr) -> String {
        match expr {
            Expr::Counter(name) => name.clone(),
            Expr::Sum(left, right) => format!("({}+{})", show(left), show(right)),
            Expr::Difference(left, right) => format!("({}-{})", show(left), show(right)),
            Expr::Ratio(left, right) => format!("({}/{})", show(left), show(right)),
            Expr::Rate(inner) => format!("rate({})", show(inner)),
            Expr::Share(inner) => format!("({})%", show(inner)),
        }
    }

    #[test]
    fn metrics_read_as_they_look() {
        assert_eq!(written("nr_free_pages"), "nr_free_pages");
        assert_eq!(written("a + b-c"), "((a+b)-c)");
        assert_eq!(written("a+b/s"), "(a+rate(b))");
        assert_eq!(written("(a+b)/s"), "rate((a+b))");
        assert_eq!(written("rate(a+b)/c"), "(rate((a+b))/c)");
        assert_eq!(written("(a+b)/(a+b+c)"), "((a+b)/((a+b)+c))");
        assert_eq!(written("(a+b)%"), "((a+b))%");
        assert_eq!(written("rate"), "rate");
        assert_eq!(written("a/slabs"), "(a/slabs)");
    }

    #[test]
    fn what_is_no_metric_is_refused_where_it_goes_wrong() {
        let refusal = |text: &str, at: usize, expected: &str| {
            assert_eq!(written(text), format!("metric '{text}', character {at}: expected {expected}"));
        };
        refusal("", 1, "the name of a counter, or (");
        refusal("a+", 3, "the name of a counter, or (");
        refusal("a b", 3, "+, -, /, % or the end");
        refusal("(a+b", 5, "+, -, /, % or )");
        refusal("a*b", 2, "+, -, /, % or the end");
        refusal("ä", 1, "the name of a counter, or (");
        assert!(written(&"(".repeat(100_000)).ends_with("expected at most 1000 bytes"));
    }

    fn expr() -> impl Strategy<Value = Expr> {
        let leaf = "[a-q_][a-z0-9_]{0,5}".prop_map(Expr::Counter);
        leaf.prop_recursive(6, 32, 2, |inner| {
            let pair = (inner.clone(), inner.clone()).prop_map(|(left, right)| (Box::new(left), Box::new(right)));
            prop_oneof![
                pair.clone().prop_map(|(left, right)| Expr::Sum(left, right)),
                pair.clone().prop_map(|(left, right)| Expr::Difference(left, right)),
                pair.prop_map(|(left, right)| Expr::Ratio(left, right)),
                inner.clone().prop_map(|inner| Expr::Rate(Box::new(inner))),
                inner.prop_map(|inner| Expr::Share(Box::new(inner))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(expr in expr()) {
            let text = show(&expr);
            prop_assume!(text.len() <= LONGEST);
            prop_assert_eq!(text.parse::<Metric>().map(|metric| metric.expr), Ok(expr));
        }

        #[test]
        fn any_text_is_read_or_refused_in_one_line(text in "[a-z+/%() -]{0,40}|\\PC{0,40}") {
            if let Err(error) = text.parse::<Metric>() {
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
