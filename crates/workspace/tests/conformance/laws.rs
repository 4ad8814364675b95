//! Laws that the engine recounts: the words that calls of `require` give them.

use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, Lit};

struct Laws(Vec<String>);

impl<'ast> Visit<'ast> for Laws {
    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let is_require = matches!(&*call.func, Expr::Path(path) if path.path.segments.last().is_some_and(|name| name.ident == "require"));
        if let Some(Expr::Lit(law)) = call.args.get(1).filter(|_| is_require)
            && let Lit::Str(law) = &law.lit
        {
            self.0.push(law.value());
        }
        visit::visit_expr_call(self, call);
    }
}

/// The laws that a source recounts, in order, each once.
pub(crate) fn in_source(path: &str, text: &str) -> Vec<String> {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut laws = Laws(Vec::new());
    laws.visit_file(&file);
    let mut once = Vec::new();
    for law in laws.0 {
        if !once.contains(&law) {
            once.push(law);
        }
    }
    once
}

#[test]
fn words_of_a_law_are_found_in_its_check() {
    let text =
        "fn check() -> Verdict { require(a == b, \"both are equal\", || format!(\"{a}\"))?; other(1, \"no law\") }";
    assert_eq!(in_source("check.rs", text), ["both are equal"]);
}
