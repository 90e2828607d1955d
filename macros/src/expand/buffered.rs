//! Types that serde cannot read from its buffer: refused at compile time where they would be read from it.
//!
//! For flattened fields, internally tagged and untagged enums serde copies values into a buffer first. The buffer has no form for
//! Binary subtype 4 that `uuid::Uuid` reads.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use crate::expand::at;
use crate::model::{Accessor, AccessorKind, Content, Place, Variant};

const MESSAGE: &str = "a `uuid::Uuid` cannot be read here, since serde buffers the fields of tagged and untagged enums and of \
                       flattened structs: use `marula::bson::Uuid`, or add `#[serde(with = \"marula::bson::uuid_as_binary\")]` and \
                       `#[document(as = Uuid)]` to the field";

/// The constant that states whether one of the fields is read from plain bytes.
pub(super) fn constant<'a>(accessors: impl IntoIterator<Item = &'a Accessor>) -> TokenStream {
    let conditions = accessors.into_iter().filter_map(condition);
    quote! {
        const HAS_FIELD_READ_FROM_BYTES: bool = false #(|| #conditions)*;
    }
}

/// The constant of an enum: that of all its variants.
pub(super) fn constant_of_variants(variants: &[Variant]) -> TokenStream {
    let conditions = variants.iter().flat_map(|variant| match &variant.content {
        Content::Fields { accessors, .. } => accessors.iter().filter_map(condition).collect(),
        Content::Newtype {
            ty,
            stored_by_type: true,
        } => vec![of_value(ty)],
        _ => Vec::new(),
    });
    quote! {
        const HAS_FIELD_READ_FROM_BYTES: bool = false #(|| #conditions)*;
    }
}

/// Checks of the flattened fields of a struct.
pub(super) fn check_flattened(accessors: &[Accessor]) -> TokenStream {
    let flattened = accessors.iter().filter(|a| matches!(a.kind, AccessorKind::Flat));
    flattened.map(|a| check(&a.ty, &of_fields(&a.ty))).collect()
}

/// Checks of the variants that serde reads from its buffer.
pub(super) fn check_variants(variants: &[Variant]) -> TokenStream {
    let buffered = variants
        .iter()
        .filter(|v| matches!(v.place, Place::Beside { .. } | Place::Untagged));
    buffered
        .flat_map(|variant| match &variant.content {
            Content::Fields { accessors, .. } => accessors
                .iter()
                .filter_map(|a| Some(check(&a.ty, &condition(a)?)))
                .collect(),
            Content::Newtype {
                ty,
                stored_by_type: true,
            } => vec![check(ty, &of_value(ty)), check(ty, &of_fields(ty))],
            _ => Vec::new(),
        })
        .collect()
}

fn condition(accessor: &Accessor) -> Option<TokenStream> {
    match accessor.kind {
        AccessorKind::Typed => Some(of_value(&accessor.ty)),
        AccessorKind::Flat => Some(of_fields(&accessor.ty)),
        AccessorKind::As(_) | AccessorKind::Opaque => None,
    }
}

fn of_value(ty: &Type) -> TokenStream {
    quote!(<__m::Constants<#ty>>::READ_FROM_BYTES)
}

fn of_fields(ty: &Type) -> TokenStream {
    quote!(<__m::Constants<#ty>>::HAS_FIELD_READ_FROM_BYTES)
}

fn check(ty: &Type, condition: &TokenStream) -> TokenStream {
    quote_spanned!(at(ty.span())=> const _: () = ::core::assert!(!#condition, #MESSAGE);)
}
