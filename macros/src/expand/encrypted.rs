//! Encrypted fields: the accessor, the entry of `encryptedFields`, and the checks of the type.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericArgument, Ident, PathArguments, Type};

use crate::{
    code::at,
    model::{Accessor, AccessorKind, Encryption},
    parse::QueryKind,
    plain::{arguments, canonical, is_plain},
    symbol,
};

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
        .map(|accessor| match (&accessor.encryption, &accessor.kind) {
            (Some(encryption), _) => check(accessor, encryption),
            (None, AccessorKind::Typed) => check_elements(accessor),
            (None, AccessorKind::Opaque) => check_opaque(&accessor.ty),
            (None, AccessorKind::As(stored)) if is_plain(stored) => TokenStream::new(),
            (None, AccessorKind::As(stored)) => check_stated(&accessor.ty, stored),
            (None, AccessorKind::Flat) if accessor.by_function => check_hidden(
                &accessor.ty,
                "the function of a flattened field hides the encrypted fields of the value, which would be stored as they are; flatten \
                 the field without `with`",
            ),
            (None, AccessorKind::Flat) => TokenStream::new(),
        })
        .collect()
}

/// The types with the encrypted fields of a type that may have no typed paths: those of the type, and those of the values
/// in it as far as its name shows.
pub(super) fn contents(ty: &Type) -> Vec<TokenStream> {
    let mut types = vec![ty];
    arguments(ty, &mut types);
    let probes = types.into_iter().flat_map(|ty| {
        let mut inner = Vec::new();
        arguments(ty, &mut inner);
        let mut names = vec!["Contents"];
        // The arguments of a type are checked. A type without any can be an alias.
        if inner.is_empty() {
            names.extend([
                "Inside",
                "Entries",
                "Pointee",
                "PointeesInside",
                "PointeesOfEntries",
            ]);
        }
        let probes = names.into_iter().map(|name| Ident::new(name, Span::call_site()));
        probes
            .map(move |probe| quote!(<__m::#probe<#ty>>))
            .collect::<Vec<_>>()
    });
    probes.collect()
}

/// Checks that an opaque value, or one in a value of an opaque type, has no encrypted fields.
pub(super) fn check_opaque(ty: &Type) -> TokenStream {
    check_hidden(
        ty,
        "`opaque` hides the encrypted fields of the value, which would be stored as they are; state its stored type with \
         `#[document(as = Type)]`, or encrypt the whole value",
    )
}

/// Checks that the value of a field, which is stored in its own form, has no encrypted fields. Not checked here are types that
/// contain a type with encrypted fields: a schema plan finds them.
fn check_hidden(ty: &Type, message: &str) -> TokenStream {
    let hidden = contents(ty);
    quote_spanned! {at(ty.span())=>
        const _: () = ::core::assert!(!(#(#hidden::ENCRYPTED)||*), #message);
    }
}

/// As [`check_hidden`], unless the type `stored`, in whose form the value is stored, has the encrypted fields. If it can
/// contain them, a schema plan compares them. A conversion can make a document without them: not checked is a type with known fields.
fn check_stated(ty: &Type, stored: &Type) -> TokenStream {
    let hidden = contents(ty);
    let innermost = innermost(stored);
    let stated = quote!(<__m::Contents<#stored>>::ENCRYPTED || <__m::Scalar<#innermost>>::CAN_CONTAIN);
    // A conversion can make a scalar of a value, such as its hash.
    let scalar = quote!(<__m::Scalar<#innermost>>::IS_ONE);
    let condition = quote!(#scalar || <__m::Scalar<#innermost>>::IS_DESCRIBED || !(#(#hidden::ENCRYPTED)||*));
    let message = "the conversion can store the encrypted fields of the value as they are, and the fields of the type of `as` are not \
                   known; state a type with `#[derive(Embedded)]`, or encrypt the whole value";
    quote_spanned! {at(ty.span())=>
        const _: () = ::core::assert!(#stated || #condition, #message);
    }
}

/// The type of the values in optional values, arrays and maps.
fn innermost(ty: &Type) -> &Type {
    let Type::Path(path) = ty else { return ty };
    let Some(last) = path.path.segments.last() else {
        return ty;
    };
    match &last.arguments {
        PathArguments::AngleBracketed(arguments)
            if ["Vec", "Option", "Box", "HashMap", "BTreeMap"].contains(&&*last.ident.to_string()) =>
        {
            let is_map = usize::from(last.ident.to_string().ends_with("Map"));
            match arguments.args.iter().nth(is_map) {
                Some(GenericArgument::Type(inner)) => innermost(inner),
                _ => ty,
            }
        }
        _ => ty,
    }
}

/// Checks that the elements of an array or a map have no encrypted fields. Not checked here are types that hide them,
/// such as a newtype of an array: a schema plan finds them.
fn check_elements(accessor: &Accessor) -> TokenStream {
    let ty = &accessor.ty;
    if !contains_structs(ty) {
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
        return matches!(ty, Type::Array(_) | Type::Tuple(_));
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
        "Option" | "Box" | "Rc" | "Arc" => types.next().is_some_and(contains_structs),
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
    // The derive generates code for these types by their names.
    let named = canonical(ty)
        .map(|named| quote_spanned!(at(ty.span())=> const _: fn() = __m::assert_named::<#named, #ty>;));
    quote!(#feature #of_type #null #fraction #named)
}
