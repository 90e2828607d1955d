//! Rejects a `uuid::Uuid` where serde would read it from its buffer.
//!
//! For flattened fields and for internally tagged and untagged enums serde copies values into a
//! buffer first. The buffer has no form for Binary subtype 4 that `uuid::Uuid` reads. Each derived
//! type has a constant that states whether it contains a UUID at any depth, and the types of
//! buffered fields are checked by it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericArgument, PathArguments, Type};

use crate::expand::at;
use crate::expand::parts::is_plain;
use crate::model::{Accessor, AccessorKind, Content, Model, Variant};

/// The depths of the checks in `__private_v1`, in the order in which the compiler must compute the
/// constants.
const DEPTHS: [&str; 8] = [
    "Depth4", "Depth8", "Depth12", "Depth16", "Depth20", "Depth24", "Depth28", "Depth32",
];

/// The constant that states whether the type contains a `uuid::Uuid`.
pub(super) fn contains_uuid(model: &Model) -> TokenStream {
    let generics = &model.generics;
    let (params, clause) = (generics.params(), generics.clause());
    let ty = generics.of(&model.ident);
    let constants = any_found(&model.read_types, &quote!(__N)).map_or_else(
        || {
            quote!(
                const FOUND: bool = false;
            )
        },
        |found| {
            quote! {
                const FOUND: bool = <__N::Of<Self> as __m::Flag>::SET;
                const IN_FIELDS: bool = #found;
            }
        },
    );
    quote! {
        impl<__N: __m::Depth, #params> __m::ContainsUuid<__N> for #ty #clause {
            #constants
        }
    }
}

/// Checks of the flattened fields.
pub(super) fn check_flattened<'a>(accessors: impl Iterator<Item = &'a Accessor>) -> TokenStream {
    let flattened = accessors.filter(|a| a.read_by_type && matches!(a.kind, AccessorKind::Flat));
    flattened.map(|a| check(&a.ty)).collect()
}

/// Checks of what serde reads from its buffer in an enum.
pub(super) fn check_variants(variants: &[Variant]) -> TokenStream {
    variants
        .iter()
        .map(|variant| match &variant.content {
            _ if variant.buffered => variant.read_types.iter().map(check).collect(),
            Content::Fields { accessors, .. } => check_flattened(accessors.iter()),
            _ => TokenStream::new(),
        })
        .collect()
}

/// Whether one of the types contains a UUID; `None` if their names show that none does. The arguments of generic types
/// of other crates are checked too.
fn any_found<'a>(types: impl IntoIterator<Item = &'a Type>, depth: &TokenStream) -> Option<TokenStream> {
    let mut parts = Vec::new();
    for ty in types {
        let first = parts.len();
        parts.push(ty);
        arguments(ty, &mut parts);
        let added = parts.split_off(first);
        for part in added {
            if !is_plain(part) && !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    (!parts.is_empty()).then(|| quote!(#(<__m::Uuids<#parts, #depth>>::FOUND)||*))
}

/// The types of which values are in a value of the type, as far as its name shows.
pub(super) fn arguments<'a>(ty: &'a Type, out: &mut Vec<&'a Type>) {
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
            // The keys of maps are stored as text, which is read from the buffer. A map of one argument has no type of keys.
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

fn check(ty: &Type) -> TokenStream {
    let depths = DEPTHS.map(|depth| syn::Ident::new(depth, Span::call_site()));
    let conditions = depths
        .iter()
        .filter_map(|depth| any_found([ty], &quote!(__m::#depth)));
    let conditions: Vec<_> = conditions.collect();
    if conditions.is_empty() {
        return TokenStream::new();
    }
    let message = message(ty);
    quote_spanned!(at(ty.span())=> const _: () = ::core::assert!(!(#(#conditions)||*), #message);)
}

/// The advice for a UUID in the field itself, or for one inside its type.
fn message(ty: &Type) -> String {
    const REASON: &str = "serde buffers the fields of internally tagged and untagged enums and of flattened types in a form that \
                          `uuid::Uuid` does not read";
    let name = |ty: &Type| {
        ty.to_token_stream()
            .to_string()
            .split_whitespace()
            .collect::<String>()
    };
    if is_uuid(ty) || optional_or_array(ty).is_some_and(is_uuid) {
        return format!(
            "{REASON}: use `marula::bson::Uuid`, or add `#[serde(with = \"marula::bson::uuid_as_binary\")]` and \
             `#[document(as = {})]` to the field",
            name(ty)
        );
    }
    let inner = innermost(ty);
    if is_uuid(inner) {
        return format!("{REASON}: use `marula::bson::Uuid`");
    }
    let inner = name(inner);
    format!(
        "`{inner}` contains a `uuid::Uuid`, and {REASON}: inside `{inner}` use `marula::bson::Uuid`, or, for a field of type `Uuid`, \
         `Option<Uuid>` or `Vec<Uuid>`, add `#[serde(with = \"marula::bson::uuid_as_binary\")]` and `#[document(as = ..)]` with its \
         type"
    )
}

/// The last type argument, of the last type argument, and so on: the type of the values in
/// containers.
fn innermost(ty: &Type) -> &Type {
    let Type::Path(path) = ty else { return ty };
    let Some(last) = path.path.segments.last() else {
        return ty;
    };
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.last() {
            Some(GenericArgument::Type(inner)) => innermost(inner),
            _ => ty,
        },
        _ => ty,
    }
}

fn is_uuid(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Uuid"))
}

/// The content of an `Option` or a `Vec`.
fn optional_or_array(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Option" && last.ident != "Vec" {
        return None;
    }
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}
