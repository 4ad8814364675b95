//! Figures that tell how open the engine is inside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{ImplItem, Item, Visibility};

use crate::source::{self, Source, is_for_tests};

/// Counts of one crate, tests left out.
#[derive(Default)]
pub(crate) struct Counts {
    /// Lines of all sources in `src/`, tests included.
    lines: usize,
    /// Type with the most methods, with their number and the number of modules that define them.
    largest: (String, usize, usize),
    /// Named fields that other modules of the crate may change.
    shared_fields: usize,
    /// Named fields that everybody may change.
    public_fields: usize,
    /// Public items, and those of them whose name no other crate of the workspace mentions.
    public: usize,
    unused: Vec<String>,
}

impl Counts {
    pub(crate) fn of(name: &str, sources: &[Source]) -> Self {
        let mut counts = Self { lines: lines(&source::folder(name).join("src")), ..Self::default() };
        let mut methods: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
        let mut surface = Surface::default();
        for source in sources {
            for item in &source.items {
                surface.visit_item(item);
                let Item::Impl(block) = item else { continue };
                let syn::Type::Path(of) = &*block.self_ty else { continue };
                let Some(of) = of.path.segments.last().filter(|_| block.trait_.is_none()) else { continue };
                let (number, modules) = methods.entry(of.ident.to_string()).or_default();
                *number += block.items.iter().filter(|item| matches!(item, ImplItem::Fn(_))).count();
                modules.insert(source.module.join("::"));
            }
        }
        let largest = methods.into_iter().max_by_key(|(_, (number, _))| *number);
        counts.largest = largest.map(|(name, (number, modules))| (name, number, modules.len())).unwrap_or_default();
        counts.shared_fields = surface.shared_fields;
        counts.public_fields = surface.public_fields;
        counts.public = surface.public.len();
        let mentioned = words_of_other_crates(name);
        counts.unused = surface.public.into_iter().filter(|name| !mentioned.contains(name)).collect();
        counts
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, methods, modules) = &self.largest;
        writeln!(f, "methods of the largest type: {methods} ({name}, in {modules} modules)")?;
        writeln!(f, "fields reachable outside their module: {}, public: {}", self.shared_fields, self.public_fields)?;
        writeln!(f, "lines: {}", self.lines)?;
        write!(f, "public items: {}, not used outside: {}", self.public, self.unused.len())
    }
}

/// Fields and public items.
#[derive(Default)]
struct Surface {
    shared_fields: usize,
    public_fields: usize,
    public: Vec<String>,
}

impl Surface {
    fn item(&mut self, visibility: &Visibility, name: &syn::Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.public.push(name.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Surface {
    fn visit_field(&mut self, field: &'ast syn::Field) {
        let Some(name) = &field.ident else { return };
        self.item(&field.vis, name);
        match field.vis {
            Visibility::Restricted(_) => self.shared_fields += 1,
            Visibility::Public(_) => self.public_fields += 1,
            Visibility::Inherited => {}
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.item(&item.vis, &item.sig.ident);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            self.item(&item.vis, &item.sig.ident);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.item(&item.vis, &item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.item(&item.vis, &item.ident);
        visit::visit_item_enum(self, item);
        if matches!(item.vis, Visibility::Public(_)) {
            self.public.extend(item.variants.iter().map(|variant| variant.ident.to_string()));
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.item(&item.vis, &item.ident);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.item(&item.vis, &item.ident);
    }
}

/// Runs `read` on every file of Rust below `folder`.
fn each_file(folder: &Path, read: &mut impl FnMut(&str)) {
    let list = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in list.map(|entry| entry.expect("a readable folder").path()) {
        if path.is_dir() {
            each_file(&path, read);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            read(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }
}

fn lines(folder: &Path) -> usize {
    let mut lines = 0;
    each_file(folder, &mut |text| lines += text.lines().count());
    lines
}

/// Every word that occurs in the other crates, their tests and benches included.
fn words_of_other_crates(name: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let all = fs::read_dir(source::folder(".")).expect("the crates lie in one folder");
    for folder in all.map(|entry| entry.expect("a readable folder").path()) {
        if folder.is_dir() && folder.file_name().is_some_and(|own| own != name) {
            each_file(&folder, &mut |text| {
                words.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
            });
        }
    }
    words
}
