//! The parts of a value that are stored in another form than that of their `Serialize`: their
//! stored form when they are written, and where they are when they are read.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{GenericArgument, Ident, Member, PathArguments, Type};

use crate::model::{Accessor, AccessorKind, Content, Model, Newtype, Part, Place, Variant, names};

/// The parts of a struct, whose form is that of a document: methods, and the forms in its table of fields.
pub(super) fn structure(model: &Model, accessors: &[Accessor]) -> (TokenStream, TokenStream) {
    let parts: Vec<Part> = accessors.iter().filter_map(Part::of_accessor).collect();
    let (plain, parts): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| is_plain(&part.ty));
    // The fields of a type that is not written would otherwise be reported as never read.
    let unwritten = plain.iter().filter(|_| model.is_only_read || model.reads_itself);
    let raw_ids = raw_ids(&parts.iter().chain(unwritten).collect::<Vec<_>>(), accessors);
    let forms = field_forms(&parts);
    if forms.is_empty() {
        return (raw_ids, forms);
    }
    let function = quote!(__m::of_fields::<Self>);
    let form = if model.generics.is_empty() {
        form(&function)
    } else {
        quote! {
            fn form() -> __m::Form {
                __m::of_generic(#function)
            }
        }
    };
    (quote!(#raw_ids #form), forms)
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
            use __m::{IsWhole as _, IsNotWhole as _};
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
        let checks = key_checks(variant, &names);
        quote!(#pattern => { #checks #((&__m::Probe(#names)).raw_ids(__visitor);)* })
    });
    let visits: Vec<_> = visits.collect();
    let form = form(&lazily(&enum_form(variants)));
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
            use __m::{IsWhole as _, IsNotWhole as _};
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
            parts => fields(parts).as_ref().map(lazily),
        };
        let Some(content) = content else { continue };
        match &variant.place {
            Place::Keyed { tag } => keyed.push(quote!((::core::option::Option::Some(#tag), #content))),
            Place::Beside { tag_name, tag } => {
                tag_field = Some(tag_name);
                tagged.push(quote!((#tag, #content)));
            }
            Place::Within {
                tag_name,
                tag,
                content_name,
            } => {
                tag_field = Some(tag_name);
                let fields = lazily(&quote! {
                    __m::Form::Fields(const { &[(::core::option::Option::Some(#content_name), #content)] })
                });
                tagged.push(quote!((#tag, #fields)));
            }
            Place::Untagged => others.push(content),
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
    let keyed = lazily(&keyed);
    quote!(__m::Form::OneOf(const { &[#keyed, #(#others),*] }))
}

/// The lists of the names of the fields beside a flattened one: those of the struct, and those of its
/// other flattened fields.
pub(super) fn beside(accessors: &[Accessor], field: &Ident, other: Option<&str>) -> TokenStream {
    let names = names(accessors).chain(other);
    let flat = accessors
        .iter()
        .filter(|a| matches!(a.kind, AccessorKind::Flat) && a.ident != *field);
    let types = flat.map(|a| &a.ty);
    quote!(&[&[#(#names),*], #(<#types as __m::Field>::FIELDS.read),*])
}

/// The checks that the keys of maps in the document of a variant are not the names of its fields, nor
/// that of the tag. `parts`: the bindings of the parts.
fn key_checks(variant: &Variant, parts: &[Ident]) -> TokenStream {
    let tag = match &variant.place {
        Place::Beside { tag_name, .. } => Some(tag_name.as_str()),
        _ => None,
    };
    let checks = variant.parts.iter().zip(parts).filter_map(|(part, binding)| {
        let beside = match (&variant.content, &part.member) {
            (Content::Fields { accessors, .. }, Member::Named(field)) if part.name.is_none() => {
                beside(accessors, field, tag)
            }
            (Content::Newtype(_), _) => {
                let tag = tag?;
                quote!(&[&[#tag]])
            }
            _ => return None,
        };
        Some(quote! {
            if let ::core::option::Option::Some(__key) = (&__m::Probe(#binding)).key_in(#beside) {
                return __m::refuse_key(self, __key, __visitor);
            }
        })
    });
    let checks: Vec<_> = checks.collect();
    if checks.is_empty() {
        return TokenStream::new();
    }
    quote!(use __m::{HasKeys as _, HasNoKeys as _}; #(#checks)*)
}

/// The method that visits the parts of a struct.
fn raw_ids(parts: &[&Part], accessors: &[Accessor]) -> TokenStream {
    if parts.is_empty() {
        return TokenStream::new();
    }
    let members = parts.iter().map(|part| &part.member);
    // Serde writes the content of a flattened field without the encoder in between.
    let checks = parts.iter().filter(|part| part.name.is_none()).map(|part| {
        let (is_whole, member) = (is_whole(&part.ty), &part.member);
        let beside = match member {
            Member::Named(field) => beside(accessors, field, None),
            Member::Unnamed(_) => quote!(&[]),
        };
        quote! {
            if #is_whole {
                return __m::refuse_flattened(self, __visitor);
            }
            if let ::core::option::Option::Some(__key) = (&__m::Probe(&self.#member)).key_in(#beside) {
                return __m::refuse_key(self, __key, __visitor);
            }
        }
    });
    let checks: Vec<_> = checks.collect();
    let checks = (!checks.is_empty())
        .then(|| quote!(use __m::{IsWhole as _, IsNotWhole as _, HasKeys as _, HasNoKeys as _}; #(#checks)*));
    quote! {
        #[inline]
        fn raw_ids<'__a, __V: __m::RawIdVisitor<'__a>>(&'__a self, __visitor: &mut __V) {
            use __m::{HasRawIds as _, NoRawIds as _};
            #checks
            #((&__m::Probe(&self.#members)).raw_ids(__visitor);)*
        }
    }
}

/// The method that returns the form, by the function that makes it.
fn form(parts: &TokenStream) -> TokenStream {
    quote! {
        #[inline]
        fn form() -> __m::Form {
            static __FORM: __m::FormCell = __m::FormCell::new();
            __FORM.form(#parts)
        }
    }
}

/// A function that returns a form.
fn lazily(form: &TokenStream) -> TokenStream {
    quote!((|| #form) as __m::FormOf)
}

/// The form of a document with these fields; `None` if none of them can be converted.
fn fields(parts: &[Part]) -> Option<TokenStream> {
    let fields = field_forms(parts);
    (!fields.is_empty()).then(|| quote!(__m::Form::Fields(const { &[#fields] })))
}

/// The names and forms of the fields that can be converted.
fn field_forms(parts: &[Part]) -> TokenStream {
    let fields = parts.iter().filter(|part| !is_plain(&part.ty)).map(|part| {
        let name = match &part.name {
            Some(name) => quote!(::core::option::Option::Some(#name)),
            None => quote!(::core::option::Option::None),
        };
        let form = form_of(&part.ty);
        quote!((#name, #form),)
    });
    fields.collect()
}

fn is_whole(ty: &Type) -> TokenStream {
    quote!((&__m::TypeProbe::<#ty>::new()).is_whole())
}

/// The function that returns the form of a type.
fn form_of(ty: &Type) -> TokenStream {
    quote!(<__m::TypeProbe<#ty>>::FORM)
}

/// Types with typed paths that are never converted, as far as their names show, and their paths; a name in lower case is
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

pub(super) fn is_plain(ty: &Type) -> bool {
    plain(ty).is_some()
}

/// The path of a type that is never converted, as far as its name shows.
pub(super) fn canonical(ty: &Type) -> Option<TokenStream> {
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
