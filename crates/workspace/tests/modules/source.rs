//! Sources of a crate as syntax trees, without its tests.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item};

/// Names from the root of a crate down to a module: `["thp", "placement"]`.
pub(crate) type ModulePath = Vec<String>;

/// The items of one module that are written in one place.
pub(crate) struct Source {
    /// Where the module stands in its crate; empty for the root.
    pub(crate) module: ModulePath,
    /// Its items, tests taken out.
    pub(crate) items: Vec<Item>,
}

/// The folder of a crate of this workspace.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// All modules of a crate, found from its `lib.rs` on.
pub(crate) fn read_crate(name: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let src = folder(name).join("src");
    read_file(&src.join("lib.rs"), &src, Vec::new(), &mut sources);
    sources
}

/// Reads the module in `file`, whose children lie in `children`.
fn read_file(file: &Path, children: &Path, module: ModulePath, sources: &mut Vec<Source>) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    read_items(parsed.items, children, module, sources);
}

fn read_items(items: Vec<Item>, children: &Path, module: ModulePath, sources: &mut Vec<Source>) {
    let mut kept = Vec::new();
    for item in items.into_iter().filter(|item| !attributes(item).iter().any(is_for_tests)) {
        let Item::Mod(inner) = item else {
            kept.push(item);
            continue;
        };
        let name = inner.ident.to_string();
        let folder = children.join(&name);
        let path = [module.as_slice(), &[name]].concat();
        match inner.content {
            Some((_, items)) => read_items(items, &folder, path, sources),
            None => {
                let beside = folder.with_extension("rs");
                let file = if beside.exists() { beside } else { folder.join("mod.rs") };
                read_file(&file, &folder, path, sources);
            }
        }
    }
    sources.push(Source { module, items: kept });
}

/// Attributes of the items that may be kept from a build.
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]` and whatever else holds only where tests are built.
pub(crate) fn is_for_tests(attribute: &Attribute) -> bool {
    let Ok(condition) = attribute.meta.require_list() else { return false };
    let words = condition.tokens.to_string();
    condition.path.is_ident("cfg") && words.split_whitespace().any(|word| word == "test") && !words.contains("not")
}
