//! Encrypted fields: the accessor, the entry of `encryptedFields`, and the checks of the type.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericArgument, Ident, PathArguments, Type};

use crate::expand::at;
use crate::model::{Accessor, AccessorKind, Encryption};
use crate::parse::QueryKind;
use crate::symbol;

/// The type in whose form the field is stored.
fn stored(accessor: &Accessor) -> &Type {
    match &accessor.kind {
        AccessorKind::As(stored) => stored,
        _ => &accessor.ty,
    }
}

/// Type and expression of the accessor at a path.
pub(super) fn path(
    accessor: &Accessor,
    encryption: &Encryption,
    step: &TokenStream,
) -> (TokenStream, TokenStream) {
    let ty = stored(accessor);
    let kind = Ident::new(encryption.attribute.kind.name(), Span::call_site());
    (
        quote_spanned!(at(ty.span())=> __m::EncryptedPath<__R, #ty, __m::#kind, __M>),
        quote!(__m::EncryptedPath::new(&#step)),
    )
}

/// The schema of the field, with its entry of `encryptedFields`.
pub(super) fn schema(accessor: &Accessor, encryption: &Encryption) -> TokenStream {
    let ty = stored(accessor);
    let attribute = &encryption.attribute;
    let queries = attribute.queries.iter().map(|query| {
        let name = query.name;
        let name = if attribute.preview { format!("{name}Preview") } else { name.to_owned() };
        let bounds = query.bounds.iter().map(|(name, value)| {
            let value = quote_spanned!(at(value.span())=> __m::IntoValue::<<#ty as __m::EncryptedField>::Value>::into_value(#value));
            quote!(.bound(#name, #value))
        });
        let contention = attribute.contention.map(|value| ("contention", value));
        let longs = query.longs.iter().copied().chain(contention);
        let longs = longs.map(|(name, value)| quote!(.option(#name, #value)));
        let ints = query.ints.iter().map(|(name, value)| quote!(.option(#name, #value)));
        let flags = [
            ("caseSensitive", attribute.case_sensitive),
            ("diacriticSensitive", attribute.diacritic_sensitive),
        ];
        let flags = flags.into_iter().filter(|_| attribute.kind.is_of_strings());
        let flags = flags.map(|(name, value)| quote!(.option(#name, #value)));
        quote!(__m::QueryOptions::new(#name) #(#bounds)* #(#longs)* #(#ints)* #(#flags)*)
    });
    quote! {
        {
            use __m::{HasBsonType as _, HasNoBsonType as _};
            __m::encrypted((&__m::TypeProbe::<#ty>::new()).bson_type(), ::std::vec![#(#queries),*])
        }
    }
}

/// The constant that states whether the type has encrypted fields of its own.
pub(super) fn constant(accessors: &[Accessor]) -> Option<TokenStream> {
    let is_encrypted = accessors.iter().any(|a| a.encryption.is_some());
    is_encrypted.then(|| {
        quote!(
            const ENCRYPTS: bool = true;
        )
    })
}

/// The checks of the types of encrypted fields, and of arrays and maps.
pub(super) fn checks<'a>(accessors: impl Iterator<Item = &'a Accessor>) -> TokenStream {
    accessors
        .map(|accessor| match &accessor.encryption {
            Some(encryption) => check(accessor, encryption),
            None => check_elements(accessor),
        })
        .collect()
}

/// Checks that the elements of an array or a map have no encrypted fields. Not checked here are types that hide them,
/// such as a newtype of an array: a schema plan finds them.
fn check_elements(accessor: &Accessor) -> TokenStream {
    let ty = &accessor.ty;
    if !matches!(accessor.kind, AccessorKind::Typed) || !contains_structs(ty) {
        return TokenStream::new();
    }
    quote_spanned! {at(ty.span())=>
        const _: () = {
            use __m::NoElements as _;
            ::core::assert!(
                !__m::Elements::<#ty>::ENCRYPTED,
                "the elements of an array or a map cannot have encrypted fields; encrypt the whole array or map"
            );
        };
    }
}

/// Whether the type is, by its name, an array or a map of values that can be structs.
fn contains_structs(ty: &Type) -> bool {
    let Type::Path(path) = ty else {
        return matches!(ty, Type::Array(_));
    };
    let Some(last) = path.path.segments.last() else {
        return false;
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return false;
    };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    let name = last.ident.to_string();
    match name.as_str() {
        "Option" | "Box" => types.next().is_some_and(contains_structs),
        "HashMap" | "BTreeMap" => types.nth(1).is_some_and(can_be_struct),
        name if symbol::ARRAYS.contains(&name) => types.next().is_some_and(can_be_struct),
        _ => false,
    }
}

fn can_be_struct(ty: &Type) -> bool {
    !matches!(ty, Type::Path(path) if path.path.get_ident().is_some_and(|name| {
        let name = name.to_string();
        name == "String" || name.starts_with(|first: char| first.is_ascii_lowercase())
    }))
}

fn check(accessor: &Accessor, encryption: &Encryption) -> TokenStream {
    let ty = stored(accessor);
    let attribute = &encryption.attribute;
    let assert = match attribute.kind {
        QueryKind::Unindexed => quote!(assert_unindexed),
        QueryKind::Equality => quote!(assert_equality),
        QueryKind::Range => quote!(assert_range),
        _ => quote!(assert_string),
    };
    let feature = quote_spanned!(at(attribute.span)=> const _: fn() = __m::assert_encryption_feature::<()>;);
    let of_type = quote_spanned!(at(ty.span())=> const _: fn() = __m::#assert::<#ty>;);
    let null = (!encryption.omitted)
        .then(|| quote_spanned!(at(ty.span())=> const _: fn() = __m::assert_not_null::<#ty>;));
    let fraction = attribute.queries.first().and_then(|query| {
        let (condition, message) = match (query.precision, query.bounds.is_empty()) {
            (Some(_), _) => (
                quote!(__m::Fraction::<#ty>::IS_PRESENT),
                "`precision` is an option of ranges of `f64` and decimals",
            ),
            (None, false) => (
                quote!(__m::Fraction::<#ty>::IS_ABSENT),
                "a range of `f64` or decimals with `min` and `max` requires `precision`, the digits after the point that are compared",
            ),
            (None, true) => return None,
        };
        let span = query.precision.unwrap_or(attribute.span);
        Some(quote_spanned! {at(span)=>
            const _: () = {
                use __m::UnknownFraction as _;
                ::core::assert!(#condition, #message);
            };
        })
    });
    quote!(#feature #of_type #null #fraction)
}
