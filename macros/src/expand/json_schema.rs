//! The `$jsonSchema` of a type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Type;

use crate::{
    expand::encrypted,
    model::{Accessor, AccessorKind, Content, ModelKind, Newtype, Place, Variant},
    plain::is_plain,
};

/// The method of `Field`. `body` uses `__outer`.
fn method(body: &TokenStream) -> TokenStream {
    quote! {
        fn json_schema(__outer: &mut __m::OuterTypes) -> __m::BsonDocument {
            #body
        }
    }
}

/// The function that returns the schema of a type. A type without typed paths, which is an error at its field, has none.
fn function(ty: &Type) -> TokenStream {
    if is_plain(ty) {
        return quote!(<#ty as __m::Field>::json_schema);
    }
    quote!(<__m::TypeProbe<#ty>>::SCHEMA)
}

/// The schema of a type.
fn of(ty: &Type) -> TokenStream {
    let function = function(ty);
    quote!(#function(__outer))
}

/// Makes the schema unless the type is inside of itself.
fn within(body: &TokenStream) -> TokenStream {
    method(&quote!(__outer.enter(__m::SchemaType::of::<Self>(), |__outer| #body)))
}

/// The entries of the table of a struct's fields.
pub(super) fn entries(accessors: &[Accessor]) -> impl Iterator<Item = TokenStream> {
    accessors.iter().map(|accessor| {
        let Accessor { name, required, .. } = accessor;
        let constraint = if *required {
            quote!(RequiredField)
        } else {
            quote!(OptionalField)
        };
        if let Some(encryption) = &accessor.encryption {
            let schema = encrypted::schema(accessor, encryption);
            return quote!((#name, |_| #schema, __m::#constraint));
        }
        let (schema, constraint) = match &accessor.kind {
            AccessorKind::Typed => (function(&accessor.ty), constraint),
            AccessorKind::As(stored) if is_plain(stored) => (function(stored), constraint),
            AccessorKind::As(stored) => {
                let schema = stored_as(stored, [&accessor.ty]);
                (quote!(|__outer| #schema), constraint)
            }
            AccessorKind::Flat => (function(&accessor.ty), quote!(FlattenedField)),
            AccessorKind::Opaque => {
                let schema = unknown([&accessor.ty]);
                (quote!(|__outer| #schema), quote!(OpaqueField))
            }
        };
        quote!((#name, #schema, __m::#constraint))
    })
}

/// The entry of the field with the kind of the documents.
pub(super) fn kind(kind: &ModelKind) -> TokenStream {
    let ModelKind { field, value } = kind;
    quote!((#field, |_| __m::any_of(&[#value], ::std::vec::Vec::new()), __m::RequiredField))
}

fn fields(object: &TokenStream, accessors: &[Accessor]) -> TokenStream {
    let calls = accessors.iter().map(|accessor| {
        let Accessor { name, required, .. } = accessor;
        if let Some(encryption) = &accessor.encryption {
            let schema = encrypted::schema(accessor, encryption);
            return quote!(.field(#name, #schema, #required));
        }
        match &accessor.kind {
            AccessorKind::Typed => {
                let schema = of(&accessor.ty);
                quote!(.field(#name, #schema, #required))
            }
            AccessorKind::As(stored) => {
                let schema = stored_as(stored, [&accessor.ty]);
                quote!(.field(#name, #schema, #required))
            }
            AccessorKind::Flat => {
                let schema = of(&accessor.ty);
                quote!(.flattened(#schema))
            }
            AccessorKind::Opaque => {
                let schema = unknown([&accessor.ty]);
                quote!(.opaque(#name, #schema))
            }
        }
    });
    quote!(#object #(#calls)*)
}

/// A newtype has the schema of its content.
pub(super) fn newtype(newtype: &Newtype) -> TokenStream {
    match &newtype.converted {
        None => method(&of(&newtype.ty)),
        Some(converted) => within(&stored_as(&newtype.ty, [converted])),
    }
}

/// A value whose stored form is not known: that of one of the types, or of a value in them.
pub(super) fn opaque(types: &[Type]) -> TokenStream {
    within(&unknown(types))
}

/// No constraint, but encrypted fields of the values are found.
fn unknown<'a>(types: impl IntoIterator<Item = &'a Type>) -> TokenStream {
    let schemas = contents(types);
    quote!(__m::unknown(__outer, &[#(#schemas),*]))
}

/// The schema of a value of one of the types that is stored in the form of another.
fn stored_as<'a>(stored: &Type, types: impl IntoIterator<Item = &'a Type>) -> TokenStream {
    if is_plain(stored) {
        return of(stored);
    }
    let (stored, schemas) = (function(stored), contents(types));
    quote!(__m::converted_as(__outer, #stored, &[#(#schemas),*]))
}

/// The functions that return the schemas of types that may have no typed paths, whatever their names are.
fn contents<'a>(types: impl IntoIterator<Item = &'a Type>) -> Vec<TokenStream> {
    let probes = types.into_iter().flat_map(encrypted::contents);
    probes.map(|probe| quote!(#probe::SCHEMA)).collect()
}

/// An enum of unit variants.
pub(super) fn names(names: &[String]) -> TokenStream {
    method(&quote!(__m::any_of(&[#(#names),*], ::std::vec::Vec::new())))
}

/// An enum with data.
pub(super) fn enumeration(variants: &[Variant]) -> TokenStream {
    let mut names = Vec::new();
    let mut schemas = Vec::new();
    for variant in variants {
        match (&variant.place, &variant.content) {
            (Place::Keyed { tag }, Content::Unit) => names.push(tag),
            _ => schemas.push(self::variant(variant)),
        }
    }
    within(&quote!(__m::any_of(&[#(#names),*], ::std::vec![#(#schemas),*])))
}

fn variant(variant: &Variant) -> TokenStream {
    let object = quote!(<__m::ObjectSchema as ::core::default::Default>::default());
    let content = match &variant.content {
        Content::None if variant.contents.is_empty() => quote!(__m::BsonDocument::new()),
        Content::None => unknown(&variant.contents),
        Content::Unit => quote!(__m::types(&["null"])),
        Content::Fields { accessors, .. } => {
            let object = fields(&object, accessors);
            quote!(#object.finish())
        }
        Content::Newtype(ty) if !variant.is_converted => of(ty),
        Content::Newtype(ty) => stored_as(ty, &variant.contents),
    };
    let tag_field =
        |name: &str, tag: &str| quote!(.field(#name, __m::any_of(&[#tag], ::std::vec::Vec::new()), true));
    match &variant.place {
        Place::Keyed { tag } => quote!(#object.field(#tag, #content, true).finish()),
        Place::Beside { tag_name, tag } => {
            let tagged = tag_field(tag_name, tag);
            match &variant.content {
                Content::Fields { accessors, .. } => {
                    let object = fields(&quote!(#object #tagged), accessors);
                    quote!(#object.finish())
                }
                Content::Newtype(_) | Content::None => quote!(#object #tagged.flattened(#content).finish()),
                Content::Unit => quote!(#object #tagged.finish()),
            }
        }
        Place::Within {
            tag_name,
            tag,
            content_name,
        } => {
            let tagged = tag_field(tag_name, tag);
            match &variant.content {
                Content::Unit => quote!(#object #tagged.finish()),
                _ => quote!(#object #tagged.field(#content_name, #content, true).finish()),
            }
        }
        Place::Untagged => content,
    }
}
