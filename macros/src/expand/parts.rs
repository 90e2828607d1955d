//! The parts of a value that are stored in another form than that of their `Serialize`: their
//! stored form when they are written, and where they are when they are read.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{GenericArgument, Ident, Member, PathArguments, Type};

use crate::model::{Accessor, Generics, Newtype, Part, Place, Variant};

/// The parts of a struct, whose form is that of a document.
pub(super) fn structure(generics: &Generics, accessors: &[Accessor]) -> TokenStream {
    let parts: Vec<Part> = accessors.iter().filter_map(Part::of_accessor).collect();
    let raw_ids = raw_ids(&parts);
    let fields = fields(&parts);
    let form = fields.map(|fields| {
        if generics.is_empty() {
            return form(&fields);
        }
        quote! {
            fn form() -> __m::Form {
                use __m::{HasForm as _, HasNoForm as _};
                __m::of_generic(|| #fields)
            }
        }
    });
    quote!(#raw_ids #form)
}

/// The parts of a newtype. It is stored as its content.
pub(super) fn newtype(newtype: &Newtype) -> TokenStream {
    let Newtype {
        ty,
        member: Some(member),
        ..
    } = newtype
    else {
        return TokenStream::new();
    };
    if is_plain(ty) {
        return TokenStream::new();
    }
    let form = form(&form_of(ty));
    let is_whole = is_whole(ty);
    quote! {
        #[inline]
        fn raw_ids<'__a, __V: __m::RawIdVisitor<'__a>>(&'__a self, __visitor: &mut __V) {
            use __m::{HasRawIds as _, NoRawIds as _};
            if let ::core::option::Option::Some(__stored) = __m::Field::stored(self) {
                __m::visit_stored(self, __stored, __visitor);
            }
            (&__m::Probe(&self.#member)).raw_ids(__visitor);
        }
        #[inline]
        fn is_whole() -> bool {
            use __m::{HasForm as _, HasNoForm as _};
            #is_whole
        }
        #[inline]
        fn stored(&self) -> ::core::option::Option<::core::result::Result<__m::Bson, __m::ValueError>> {
            use __m::{HasRawIds as _, NoRawIds as _};
            (&__m::Probe(&self.#member)).stored()
        }
        #form
    }
}

/// The parts of an enum.
pub(super) fn enumeration(ident: &Ident, variants: &[Variant]) -> TokenStream {
    if variants
        .iter()
        .all(|v| v.parts.iter().all(|part| is_plain(&part.ty)))
    {
        return TokenStream::new();
    }
    let visits = variants.iter().filter(|v| !v.parts.is_empty()).map(|variant| {
        let (pattern, names) = pattern(ident, variant);
        quote!(#pattern => { #((&__m::Probe(#names)).raw_ids(__visitor);)* })
    });
    let visits: Vec<_> = visits.collect();
    let form = form(&enum_form(variants));
    let whole = whole_variants(ident, variants);
    if whole.is_empty() {
        return quote! {
            fn raw_ids<'__a, __V: __m::RawIdVisitor<'__a>>(&'__a self, __visitor: &mut __V) {
                use __m::{HasRawIds as _, NoRawIds as _};
                match self {
                    #(#visits)*
                    _ => {}
                }
            }
            #form
        };
    }
    let (contents, whole): (Vec<_>, Vec<_>) = whole.into_iter().unzip();
    quote! {
        fn parts<'__a, __V: __m::RawIdVisitor<'__a>>(&'__a self, __visitor: &mut __V) {
            use __m::{HasRawIds as _, NoRawIds as _};
            match self {
                #(#visits)*
                _ => {}
            }
        }
        fn raw_ids<'__a, __V: __m::RawIdVisitor<'__a>>(&'__a self, __visitor: &mut __V) {
            match __m::Field::stored(self) {
                ::core::option::Option::Some(__stored) => __m::visit_stored(self, __stored, __visitor),
                ::core::option::Option::None => __m::Field::parts(self, __visitor),
            }
        }
        fn is_whole() -> bool {
            use __m::{HasForm as _, HasNoForm as _};
            static __WHOLE: __m::WholeCell = __m::WholeCell::new();
            __WHOLE.is_whole(const { &[#((|| #contents) as fn() -> bool),*] })
        }
        fn stored(&self) -> ::core::option::Option<::core::result::Result<__m::Bson, __m::ValueError>> {
            use __m::{HasRawIds as _, NoRawIds as _};
            if !<Self as __m::Field>::is_whole() {
                return ::core::option::Option::None;
            }
            let __whole = match self {
                #(#whole,)*
                _ => ::core::option::Option::None,
            };
            match __whole {
                ::core::option::Option::None => __m::stored_by_parts(self),
                __whole => __whole,
            }
        }
        #form
    }
}

/// The variants whose `Serialize` calls that of their content without the encoder in between: whether
/// the content is whole, and an arm with its stored form.
fn whole_variants(ident: &Ident, variants: &[Variant]) -> Vec<(TokenStream, TokenStream)> {
    let whole = variants.iter().filter_map(|variant| {
        let [part] = &variant.parts[..] else { return None };
        if !matches!(part.member, Member::Unnamed(_)) || variant.is_tuple || is_plain(&part.ty) {
            return None;
        }
        let (pattern, names) = pattern(ident, variant);
        let stored = quote!(#((&__m::Probe(#names)).stored())*);
        let arm = match &variant.place {
            Place::Untagged => quote!(#pattern => #stored),
            Place::Within {
                tag_name,
                tag,
                content_name,
            } => quote!(#pattern => __m::within(#tag_name, #tag, #content_name, #stored)),
            Place::Keyed { .. } | Place::Beside { .. } => return None,
        };
        Some((is_whole(&part.ty), arm))
    });
    whole.collect()
}

/// The pattern of a variant, and the names that it gives to the parts.
fn pattern(ident: &Ident, variant: &Variant) -> (TokenStream, Vec<Ident>) {
    let name = &variant.ident;
    let members = variant.parts.iter().map(|part| &part.member);
    let names: Vec<Ident> = (0..variant.parts.len())
        .map(|n| format_ident!("__part{n}"))
        .collect();
    (quote!(#ident::#name { #(#members: #names,)* .. }), names)
}

/// The form of a value by the place of its variants.
fn enum_form(variants: &[Variant]) -> TokenStream {
    let mut keyed = Vec::new();
    let mut tagged = Vec::new();
    let mut others = Vec::new();
    let mut tag_field = None;
    for variant in variants {
        let content = match &variant.parts[..] {
            [] => continue,
            [part] if matches!(part.member, Member::Unnamed(_)) && !variant.is_tuple => {
                (!is_plain(&part.ty)).then(|| form_of(&part.ty))
            }
            parts => fields(parts),
        };
        let Some(content) = content else { continue };
        match &variant.place {
            Place::Keyed { tag } => keyed.push(quote! {
                (::core::option::Option::Some(#tag), (|| #content) as __m::FormOf)
            }),
            Place::Beside { tag_name, tag } => {
                tag_field = Some(tag_name);
                tagged.push(quote!((#tag, (|| #content) as __m::FormOf)));
            }
            Place::Within {
                tag_name,
                tag,
                content_name,
            } => {
                tag_field = Some(tag_name);
                tagged.push(quote! {
                    (#tag, (|| __m::Form::Fields(const {
                        &[(::core::option::Option::Some(#content_name), (|| #content) as __m::FormOf)]
                    })) as __m::FormOf)
                });
            }
            Place::Untagged => others.push(quote!((|| #content) as __m::FormOf)),
        }
    }
    if let Some(tag) = tag_field {
        return quote!(__m::Form::Tagged {
            tag: #tag,
            variants: const { &[#(#tagged),*] },
            others: const { &[#(#others),*] },
        });
    }
    let keyed = quote!(__m::Form::Fields(const { &[#(#keyed),*] }));
    if others.is_empty() {
        return keyed;
    }
    quote!(__m::Form::OneOf(const { &[(|| #keyed) as __m::FormOf, #(#others),*] }))
}

/// The method that visits the parts of a struct.
fn raw_ids(parts: &[Part]) -> TokenStream {
    let members = parts.iter().map(|part| &part.member);
    // Serde writes the content of a flattened field without the encoder in between.
    let checks = parts.iter().filter(|part| part.name.is_none()).map(|part| {
        let is_whole = is_whole(&part.ty);
        quote! {
            if #is_whole {
                return __m::refuse_flattened(self, __visitor);
            }
        }
    });
    quote! {
        #[inline]
        fn raw_ids<'__a, __V: __m::RawIdVisitor<'__a>>(&'__a self, __visitor: &mut __V) {
            use __m::{HasForm as _, HasNoForm as _, HasRawIds as _, NoRawIds as _};
            #(#checks)*
            #((&__m::Probe(&self.#members)).raw_ids(__visitor);)*
        }
    }
}

/// The method that returns the form.
fn form(parts: &TokenStream) -> TokenStream {
    quote! {
        #[inline]
        fn form() -> __m::Form {
            use __m::{HasForm as _, HasNoForm as _};
            static __FORM: __m::FormCell = __m::FormCell::new();
            __FORM.form(|| #parts)
        }
    }
}

/// The form of a document with these fields; `None` if none of them can be converted.
fn fields(parts: &[Part]) -> Option<TokenStream> {
    let fields = parts.iter().filter(|part| !is_plain(&part.ty)).map(|part| {
        let name = match &part.name {
            Some(name) => quote!(::core::option::Option::Some(#name)),
            None => quote!(::core::option::Option::None),
        };
        let form = form_of(&part.ty);
        quote!((#name, (|| #form) as __m::FormOf))
    });
    let fields: Vec<_> = fields.collect();
    (!fields.is_empty()).then(|| quote!(__m::Form::Fields(const { &[#(#fields),*] })))
}

fn is_whole(ty: &Type) -> TokenStream {
    quote!((&__m::TypeProbe::<#ty>::new()).is_whole())
}

fn form_of(ty: &Type) -> TokenStream {
    quote!((&__m::TypeProbe::<#ty>::new()).form())
}

/// Types that are never converted, as far as their names show; a name in lower case is that of the
/// primitive type.
const PLAIN: [&str; 16] = [
    "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "u128", "u16", "u32", "u64", "u8",
    "usize", "String",
];
/// Types with the form of their parameter.
const CONTAINERS: [&str; 3] = ["Box", "Option", "Vec"];

fn is_plain(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.get_ident().or_else(|| {
        let only = path
            .path
            .segments
            .first()
            .filter(|_| path.path.segments.len() == 1);
        only.map(|segment| &segment.ident)
    }) else {
        return false;
    };
    match path.path.segments.first().map(|segment| &segment.arguments) {
        Some(PathArguments::None) => PLAIN.iter().any(|plain| last == plain),
        Some(PathArguments::AngleBracketed(arguments)) if CONTAINERS.iter().any(|c| last == c) => {
            arguments.args.iter().all(|argument| match argument {
                GenericArgument::Type(inner) => is_plain(inner),
                _ => false,
            })
        }
        _ => false,
    }
}
