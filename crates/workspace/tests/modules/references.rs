//! Who uses whom: imports, paths, calls of methods and accesses to fields from module to module.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, FnArg, Item, Member, Pat, Token, UseTree};

use crate::source::{ModulePath, Source, is_for_tests};
use crate::types::{Kind, Types};

/// Names that a module uses of another, by both modules.
pub(crate) type References = BTreeMap<(String, String), BTreeSet<String>>;

/// All references between the modules that `owner` names.
///
/// A variable whose type is not written where it is bound counts as the engine where it is called `mm`.
pub(crate) fn references(sources: &[Source], types: &Types, owner: &dyn Fn(&[String]) -> Option<String>) -> References {
    let aliases = aliases(sources, owner);
    let mut found = References::new();
    for source in sources {
        let Some(from) = owner(&source.module) else { continue };
        let mut reader = Reader {
            module: &source.module,
            from,
            types,
            aliases: &aliases,
            owner,
            own: None,
            locals: BTreeMap::new(),
            found: &mut found,
        };
        for item in &source.items {
            reader.visit_item(item);
        }
    }
    found
}

/// What the root, and modules that only hold others, hand on under a name of their own.
fn aliases(sources: &[Source], owner: &dyn Fn(&[String]) -> Option<String>) -> BTreeMap<ModulePath, ModulePath> {
    let mut aliases = BTreeMap::new();
    for source in sources.iter().filter(|source| owner(&source.module).is_none()) {
        for item in &source.items {
            let Item::Use(item) = item else { continue };
            for path in flatten(&item.tree, &[]) {
                let name = [source.module.as_slice(), &path[path.len() - 1..]].concat();
                aliases.insert(name, absolute(&source.module, &path).unwrap_or([&source.module[..], &path].concat()));
            }
        }
    }
    aliases
}

/// Every path that a `use` brings.
fn flatten(tree: &UseTree, before: &[String]) -> Vec<ModulePath> {
    let with = |name: String| [before, &[name]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(path.ident.to_string())),
        UseTree::Name(name) => vec![with(name.ident.to_string())],
        UseTree::Rename(name) => vec![with(name.ident.to_string())],
        UseTree::Glob(_) => vec![before.to_vec()],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| flatten(tree, before)).collect(),
    }
}

/// A path of `module` from the root of the crate on, where it begins with `crate`, `super` or `self`.
fn absolute(module: &[String], path: &[String]) -> Option<ModulePath> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" if !rest.is_empty() => Some([module, rest].concat()),
        "super" => {
            let above = &module[..module.len().checked_sub(1)?];
            match rest.first().map(String::as_str) {
                Some("super") => absolute(above, rest),
                _ => Some([above, rest].concat()),
            }
        }
        _ => None,
    }
}

/// Reads one module.
struct Reader<'a> {
    module: &'a [String],
    from: String,
    types: &'a Types,
    aliases: &'a BTreeMap<ModulePath, ModulePath>,
    owner: &'a dyn Fn(&[String]) -> Option<String>,
    /// The type whose `impl` this is.
    own: Option<String>,
    /// Variables whose type is known.
    locals: BTreeMap<String, Option<Kind>>,
    found: &'a mut References,
}

impl Reader<'_> {
    fn uses(&mut self, target: &[String], name: &str) {
        if let Some(to) = (self.owner)(target).filter(|to| *to != self.from) {
            self.found.entry((self.from.clone(), to)).or_default().insert(name.to_owned());
        }
    }

    /// A path as written.
    fn path(&mut self, path: &[String]) {
        if let Some(mut target) = absolute(self.module, path) {
            for end in 1..=target.len() {
                if let Some(alias) = self.aliases.get(&target[..end]) {
                    target = [alias.as_slice(), &target[end..]].concat();
                    break;
                }
            }
            self.uses(&target, path.last().expect("a path has parts"));
        }
        if let [.., of, name] = path {
            self.method(of, name);
        }
    }

    fn method(&mut self, of: &str, name: &str) {
        let of = if of == "Self" { self.own.clone().unwrap_or_default() } else { of.to_owned() };
        if let Some(method) = self.types.get(&of).and_then(|known| known.methods.get(name)) {
            let module = method.module.clone();
            self.uses(&module, &format!("{of}::{name}"));
        }
    }

    fn field(&mut self, of: &str, name: &str) {
        if let Some(known) = self.types.get(of).filter(|known| known.fields.contains_key(name)) {
            let module = known.module.clone();
            self.uses(&module, &format!("{of}.{name}"));
        }
    }

    fn kind(&self, expr: &Expr) -> Option<Kind> {
        match expr {
            Expr::Reference(inner) => self.kind(&inner.expr),
            Expr::Paren(inner) => self.kind(&inner.expr),
            Expr::Unary(inner) => self.kind(&inner.expr),
            Expr::Await(inner) => self.kind(&inner.base),
            Expr::Try(inner) => self.kind(&inner.expr)?.inner().cloned(),
            Expr::Index(index) => match self.kind(&index.expr)? {
                Kind::Many(inner) => Some(*inner),
                _ => None,
            },
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                match (name.as_str(), self.locals.get(&name)) {
                    ("self", _) => Some(Kind::Named(self.own.clone()?)),
                    (_, Some(Some(kind))) => Some(kind.clone()),
                    ("mm", _) => Some(Kind::Named("Mm".to_owned())),
                    _ => None,
                }
            }
            Expr::Field(field) => {
                let (Kind::Named(of), Member::Named(name)) = (self.kind(&field.base)?, &field.member) else {
                    return None;
                };
                self.types.get(&of)?.fields.get(&name.to_string())?.clone()
            }
            Expr::MethodCall(call) => {
                let on = self.kind(&call.receiver)?;
                let name = call.method.to_string();
                match (&on, name.as_str()) {
                    (Kind::Named(of), _) if self.types.get(of)?.methods.contains_key(&name) => {
                        self.types.get(of)?.methods.get(&name)?.returns.clone()
                    }
                    (
                        _,
                        "as_ref" | "as_mut" | "as_deref" | "as_deref_mut" | "iter" | "iter_mut" | "clone" | "copied",
                    ) => Some(on),
                    (Kind::Maybe(inner), "expect" | "unwrap") => Some((**inner).clone()),
                    (Kind::Many(inner), "get" | "get_mut" | "first" | "last") => Some(Kind::Maybe(inner.clone())),
                    _ => None,
                }
            }
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else { return None };
                let segments: Vec<String> = path.path.segments.iter().map(|part| part.ident.to_string()).collect();
                let [.., of, name] = segments.as_slice() else { return None };
                self.types.get(of)?.methods.get(name)?.returns.clone()
            }
            _ => None,
        }
    }

    /// Gives the variables of a pattern their types.
    fn bind(&mut self, pattern: &Pat, kind: Option<Kind>) {
        match (pattern, kind) {
            (Pat::Ident(name), kind) => {
                self.locals.insert(name.ident.to_string(), kind);
            }
            (Pat::Reference(inner), kind) => self.bind(&inner.pat, kind),
            (Pat::Type(typed), _) => self.bind(&typed.pat, Kind::of(&typed.ty, self.own.as_deref())),
            (Pat::TupleStruct(of), Some(Kind::Maybe(inner))) if of.elems.len() == 1 => {
                self.bind(&of.elems[0], Some(*inner));
            }
            (Pat::Struct(of), Some(Kind::Named(name))) => {
                for field in &of.fields {
                    let Member::Named(member) = &field.member else { continue };
                    let member = member.to_string();
                    self.field(&name, &member);
                    let kind = self.types.get(&name).and_then(|known| known.fields.get(&member)?.clone());
                    self.bind(&field.pat, kind);
                }
            }
            _ => {}
        }
    }

    fn bind_arguments<'a>(&mut self, arguments: impl Iterator<Item = &'a FnArg>) {
        for argument in arguments {
            if let FnArg::Typed(typed) = argument {
                self.bind(&typed.pat, Kind::of(&typed.ty, self.own.as_deref()));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for path in flatten(&item.tree, &[]) {
            self.path(&path);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        self.own = match Kind::of(&block.self_ty, None) {
            Some(Kind::Named(name)) => Some(name),
            _ => None,
        };
        visit::visit_item_impl(self, block);
        self.own = None;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.attrs.iter().any(is_for_tests) {
            return;
        }
        self.locals.clear();
        self.bind_arguments(function.sig.inputs.iter());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.locals.clear();
        self.bind_arguments(function.sig.inputs.iter());
        visit::visit_item_fn(self, function);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let before = self.locals.clone();
        for input in &closure.inputs {
            self.bind(input, None);
        }
        visit::visit_expr_closure(self, closure);
        self.locals = before;
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        let before = self.locals.clone();
        visit::visit_block(self, block);
        self.locals = before;
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        let kind = local.init.as_ref().and_then(|init| self.kind(&init.expr));
        self.bind(&local.pat, kind);
    }

    fn visit_expr_let(&mut self, condition: &'ast syn::ExprLet) {
        visit::visit_expr_let(self, condition);
        let kind = self.kind(&condition.expr);
        self.bind(&condition.pat, kind);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        let kind = self.kind(&matched.expr);
        self.visit_expr(&matched.expr);
        for arm in &matched.arms {
            self.bind(&arm.pat, kind.clone());
            self.visit_arm(arm);
        }
    }

    fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
        let kind = self.kind(&each.expr).and_then(|kind| kind.inner().cloned());
        self.bind(&each.pat, kind);
        visit::visit_expr_for_loop(self, each);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some(Kind::Named(of)) = self.kind(&call.receiver) {
            self.method(&of, &call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_field(&mut self, access: &'ast syn::ExprField) {
        if let (Some(Kind::Named(of)), Member::Named(name)) = (self.kind(&access.base), &access.member) {
            self.field(&of, &name.to_string());
        }
        visit::visit_expr_field(self, access);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.path(&segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        if let Ok(arguments) = called.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            for argument in &arguments {
                // Lives shorter than the file, so that the reader visits it as if it were another.
                Visit::visit_expr(self, argument);
            }
        }
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}
