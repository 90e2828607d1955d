//! Types of which the derives know by their names that they have typed paths, and that they contain no other types of the application.

use proc_macro2::TokenStream;
use syn::{GenericArgument, PathArguments, Type};

/// Types with typed paths and one form, as far as their names show, and their paths; a name in lower case is
/// that of the primitive type.
const PLAIN: [(&str, &str); 14] = [
    ("bool", "::core::primitive::bool"),
    ("char", "::core::primitive::char"),
    ("f32", "::core::primitive::f32"),
    ("f64", "::core::primitive::f64"),
    ("i16", "::core::primitive::i16"),
    ("i32", "::core::primitive::i32"),
    ("i64", "::core::primitive::i64"),
    ("i8", "::core::primitive::i8"),
    ("u16", "::core::primitive::u16"),
    ("u32", "::core::primitive::u32"),
    ("u64", "::core::primitive::u64"),
    ("u8", "::core::primitive::u8"),
    ("usize", "::core::primitive::usize"),
    ("String", "::std::string::String"),
];
/// Types with the form of their parameter.
const CONTAINERS: [(&str, &str); 3] = [
    ("Box", "::std::boxed::Box"),
    ("Option", "::core::option::Option"),
    ("Vec", "::std::vec::Vec"),
];

/// Whether the type is one of this module, so that code for it needs no check of what it is.
pub(crate) fn is_plain(ty: &Type) -> bool {
    plain(ty).is_some()
}

/// The path of a type of this module, as far as its name shows.
pub(crate) fn canonical(ty: &Type) -> Option<TokenStream> {
    plain(ty)?.parse().ok()
}

/// The path as text.
fn plain(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let only = path.path.segments.first()?;
    if path.path.segments.len() != 1 || path.path.leading_colon.is_some() || path.qself.is_some() {
        return None;
    }
    let of = |known: &[(&str, &str)]| {
        let found = known.iter().find(|(name, _)| only.ident == name);
        found.map(|(_, path)| (*path).to_owned())
    };
    match &only.arguments {
        PathArguments::None => of(&PLAIN),
        PathArguments::AngleBracketed(arguments) => {
            let container = of(&CONTAINERS)?;
            let inner = arguments.args.iter().map(|argument| match argument {
                GenericArgument::Type(inner) => plain(inner),
                _ => None,
            });
            let inner: Vec<String> = inner.collect::<Option<_>>()?;
            Some(format!("{container}<{}>", inner.join(", ")))
        }
        PathArguments::Parenthesized(_) => None,
    }
}

/// The types of which values are in a value of the type, as far as its name shows.
pub(crate) fn arguments<'a>(ty: &'a Type, out: &mut Vec<&'a Type>) {
    let mut add = |inner: &'a Type| {
        out.push(inner);
        arguments(inner, out);
    };
    match ty {
        Type::Array(array) => add(&array.elem),
        Type::Group(group) => arguments(&group.elem, out),
        Type::Paren(paren) => arguments(&paren.elem, out),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(add),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return;
            };
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return;
            };
            let name = last.ident.to_string();
            if name == "PhantomData" {
                return;
            }
            let types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            let types: Vec<&Type> = types.collect();
            // The keys of maps are stored as text. A map of one argument has no type of keys.
            let keys = usize::from(types.len() > 1 && name.ends_with("Map"));
            // An unsized type is the content of a pointer to a slice.
            for ty in types.into_iter().skip(keys) {
                match ty {
                    Type::Slice(slice) => add(&slice.elem),
                    Type::TraitObject(_) | Type::Infer(_) => {}
                    Type::Path(path) if path.path.is_ident("str") => {}
                    _ => add(ty),
                }
            }
        }
        _ => {}
    }
}
