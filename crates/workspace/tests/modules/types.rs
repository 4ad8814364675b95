//! Types of a crate with their fields and methods: enough to know on what a method is called.

use std::collections::BTreeMap;

use syn::{Fields, GenericArgument, ImplItem, Item, PathArguments, ReturnType, Type};

use crate::source::{ModulePath, Source, is_for_tests};

/// A type as far as calls need to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A type by its name; references and boxes are looked through.
    Named(String),
    /// A vector, slice or array.
    Many(Box<Kind>),
    /// An option.
    Maybe(Box<Kind>),
}

impl Kind {
    /// The kind of `ty`, where `Self` is `own`.
    pub(crate) fn of(ty: &Type, own: Option<&str>) -> Option<Self> {
        match ty {
            Type::Reference(inner) => Self::of(&inner.elem, own),
            Type::Paren(inner) => Self::of(&inner.elem, own),
            Type::Slice(inner) => Some(Self::Many(Box::new(Self::of(&inner.elem, own)?))),
            Type::Array(inner) => Some(Self::Many(Box::new(Self::of(&inner.elem, own)?))),
            Type::Path(path) => {
                let last = path.path.segments.last()?;
                let inner = || match &last.arguments {
                    PathArguments::AngleBracketed(list) => list.args.iter().find_map(|argument| match argument {
                        GenericArgument::Type(ty) => Self::of(ty, own),
                        _ => None,
                    }),
                    _ => None,
                };
                match last.ident.to_string().as_str() {
                    "Self" => own.map(|name| Self::Named(name.to_owned())),
                    "Box" => inner(),
                    "Vec" => Some(Self::Many(Box::new(inner()?))),
                    "Option" | "Result" => Some(Self::Maybe(Box::new(inner()?))),
                    name => Some(Self::Named(name.to_owned())),
                }
            }
            _ => None,
        }
    }

    /// What an element, or what an option may hold, is.
    pub(crate) fn inner(&self) -> Option<&Self> {
        match self {
            Self::Named(_) => None,
            Self::Many(inner) | Self::Maybe(inner) => Some(inner),
        }
    }
}

/// A method: the module that defines it, and what it returns.
pub(crate) struct Method {
    pub(crate) module: ModulePath,
    pub(crate) returns: Option<Kind>,
}

/// A struct or enum.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) module: ModulePath,
    pub(crate) fields: BTreeMap<String, Option<Kind>>,
    pub(crate) methods: BTreeMap<String, Method>,
}

/// All types of a crate whose names are told apart by the name alone.
#[derive(Default)]
pub(crate) struct Types(BTreeMap<String, Known>);

impl Types {
    pub(crate) fn of(sources: &[Source]) -> Self {
        let mut types = Self::default();
        let mut twice = Vec::new();
        for source in sources {
            for item in &source.items {
                let (name, fields) = match item {
                    Item::Struct(item) => (item.ident.to_string(), named(&item.fields)),
                    Item::Enum(item) => (item.ident.to_string(), BTreeMap::new()),
                    _ => continue,
                };
                let known = Known { module: source.module.clone(), fields, methods: BTreeMap::new() };
                if types.0.insert(name.clone(), known).is_some() {
                    twice.push(name);
                }
            }
        }
        for name in twice {
            types.0.remove(&name);
        }
        for source in sources {
            types.add_methods(source);
        }
        types
    }

    fn add_methods(&mut self, source: &Source) {
        for item in &source.items {
            let Item::Impl(block) = item else { continue };
            let Some(Kind::Named(own)) = Kind::of(&block.self_ty, None) else { continue };
            let Some(known) = self.0.get_mut(&own).filter(|_| block.trait_.is_none()) else { continue };
            for item in &block.items {
                let ImplItem::Fn(method) = item else { continue };
                if method.attrs.iter().any(is_for_tests) {
                    continue;
                }
                let returns = match &method.sig.output {
                    ReturnType::Type(_, ty) => Kind::of(ty, Some(&own)),
                    ReturnType::Default => None,
                };
                let found = Method { module: source.module.clone(), returns };
                known.methods.insert(method.sig.ident.to_string(), found);
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Known> {
        self.0.get(name)
    }
}

fn named(fields: &Fields) -> BTreeMap<String, Option<Kind>> {
    let named = fields.iter().filter_map(|field| Some((field.ident.as_ref()?.to_string(), Kind::of(&field.ty, None))));
    named.collect()
}
