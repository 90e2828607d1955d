//! Fields that are stored as a document, or as fields of another document.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Index, Type};

use crate::{
    code::at,
    codec::{Context, field::Field},
};

/// The statements that write fields. `place`: an expression of a reference to a field.
pub(super) fn write(
    cx: &Context<'_>,
    fields: &[Field<'_>],
    place: impl Fn(usize, &Field<'_>) -> TokenStream,
) -> TokenStream {
    let written = fields.iter().enumerate().filter(|(_, f)| f.is_written());
    let statements = written.map(|(index, field)| {
        let (ty, value) = (field.ty, place(index, field));
        let write = if field.is_flat_by_function() {
            let write = field.write(cx, &value);
            quote!(__m::codec::serde::write_fields(__out, |__out| #write)?;)
        } else if field.is_flat() {
            quote_spanned! {at(ty.span())=>
                <#ty as __m::codec::EncodeFields>::encode_fields(#value, __out)?;
            }
        } else {
            let write = field.write_named(cx, &value);
            quote!(if let __m::Err(__error) = #write { return __m::Err(__error); })
        };
        match &field.serde().functions.omit_if {
            Some(condition) => quote!(if !#condition(#value) { #write }),
            None => write,
        }
    });
    statements.collect()
}

/// The names of fields. `beside`: the names of a tag and of a kind beside them.
pub(super) fn names<'a>(fields: &'a [Field<'_>], beside: impl IntoIterator<Item = &'a str>) -> TokenStream {
    let own = fields.iter().filter(|f| !f.is_flat() && f.is_stored());
    let own = own.flat_map(|f| std::iter::once(f.name.as_str()).chain(aliases(f)));
    let own = beside.into_iter().chain(own);
    let flat = fields
        .iter()
        .filter(|f| f.is_flat() && f.is_written() && !f.is_flat_by_function());
    let flat = flat.map(|f| {
        let ty = f.ty;
        quote_spanned!(at(ty.span())=> &<#ty as __m::codec::EncodeFields>::NAMES)
    });
    quote! {
        __m::codec::Names {
            own: &[#(#own),*],
            flat: &[#(#flat),*],
            ..__m::codec::Names::NONE
        }
    }
}

/// The check that no two fields of the document have the same name. Those of a flattened type with parameters are not known.
pub(super) fn distinct_names(
    cx: &Context<'_>,
    fields: &[Field<'_>],
    names: &TokenStream,
) -> Option<TokenStream> {
    const REASON: &str = "two fields of the document can have the same name, one of them in a flattened type: rename one with \
                          `#[serde(rename = \"…\")]`, or do not flatten the type";
    let mut flat = fields.iter().filter(|f| f.is_flat() && !f.is_flat_by_function());
    let last = flat.clone().next_back()?;
    if flat.any(|f| cx.is_generic(f.ty)) {
        return None;
    }
    Some(quote_spanned! {at(last.ty.span())=>
        const _: () = ::core::assert!(!#names.has_duplicates(), #REASON);
    })
}

fn aliases<'a>(field: &Field<'a>) -> impl Iterator<Item = &'a str> {
    field.serde().aliases.iter().map(String::as_str)
}

/// The type whose `DecodeFields` reads fields, and what it makes of them.
pub(super) struct Reader<'a> {
    /// The type with its parameters.
    pub(super) owner: TokenStream,
    /// The type of the value.
    pub(super) out: TokenStream,
    /// The path before the braces of the value.
    pub(super) constructor: TokenStream,
    /// The name of the type of the fields read so far.
    pub(super) partial: Ident,
    /// Whether other keys are errors.
    pub(super) is_strict: bool,
    /// The default of all fields, an expression.
    pub(super) default: Option<TokenStream>,
    /// A key that is known and not read.
    pub(super) ignored: Option<&'a str>,
    /// A field that has this value, and is not a field of the value.
    pub(super) kind: Option<(String, String)>,
    pub(super) fields: &'a [Field<'a>],
}

/// The parts of the code of `DecodeFields` that come from the fields.
#[derive(Default)]
struct Parts {
    /// The types of the parts of `Partial`, and the values with which they begin.
    types: Vec<TokenStream>,
    begins: Vec<TokenStream>,
    /// The name of each key in the table, the aliases at the end.
    keys: Vec<String>,
    arms: Vec<TokenStream>,
    /// The expressions that offer a field to a flattened type.
    offers: Vec<TokenStream>,
    /// The expressions that copy a field for a function.
    copies: Vec<TokenStream>,
    /// The flattened types.
    flat: Vec<TokenStream>,
    /// The fields of the value.
    values: Vec<TokenStream>,
    /// The statements before the value is made.
    checks: Vec<TokenStream>,
}

impl Reader<'_> {
    /// `impl DecodeFields`, with the type of `Partial`.
    pub(super) fn decode_fields(&self, cx: &Context<'_>) -> TokenStream {
        let Reader {
            owner, out, partial, ..
        } = self;
        let parts = self.parts(cx);
        let (params, clause) = cx.read_generics();
        let (names, own) = (cx.names(), cx.own());
        let Parts {
            types,
            begins,
            keys,
            arms,
            flat,
            values,
            checks,
            ..
        } = &parts;
        let offers = offers(&parts);
        let take = if arms.is_empty() {
            quote!(::core::result::Result::Ok(#offers))
        } else {
            quote! {
                match __index {
                    #(#arms)*
                    _ => __m::Ok(#offers),
                }
            }
        };
        let is_strict = self.is_strict && parts.copies.is_empty();
        let strict = is_strict.then(|| {
            quote!(
                const DENY_UNKNOWN: bool = true;
            )
        });
        let is_map = (!flat.is_empty())
            .then(|| quote!(const IS_MAP: bool = #(<#flat as __m::codec::DecodeFields<'de>>::IS_MAP)||*;));
        let default = self
            .default
            .as_ref()
            .map(|default| quote!(let __default: #out = #default;));
        let constructor = &self.constructor;
        let (one_map, one_map_of_parameters) = self.one_map(cx);
        quote! {
            pub struct #partial<#params>(
                #(#types,)*
                ::core::marker::PhantomData<(&'de (), fn() -> #own)>,
            ) #clause;
            #one_map
            impl<#params> __m::codec::DecodeFields<'de> for #owner #clause {
                type Out = #out;
                type Partial = #partial<'de, #names>;
                const KEYS: &'static [&'static str] = &[#(#keys),*];
                #strict
                #is_map
                #[inline]
                fn begin(
                    __elements: __m::codec::Elements<'de>,
                ) -> ::core::result::Result<Self::Partial, __m::codec::DecodeError> {
                    #one_map_of_parameters
                    ::core::result::Result::Ok(#partial(#(#begins,)* ::core::marker::PhantomData))
                }
                #[inline]
                fn take(
                    __partial: &mut Self::Partial,
                    __index: usize,
                    __field: &__m::codec::Fields<'de>,
                ) -> ::core::result::Result<bool, __m::codec::DecodeError> {
                    #take
                }
                #[inline]
                fn finish(
                    __partial: Self::Partial,
                ) -> ::core::result::Result<Self::Out, __m::codec::DecodeError> {
                    #(#checks)*
                    #default
                    ::core::result::Result::Ok(#constructor { #(#values),* })
                }
            }
        }
    }

    fn parts(&self, cx: &Context<'_>) -> Parts {
        let mut parts = Parts::default();
        let has_flat = self.fields.iter().any(Field::is_flat);
        // A flattened map does not read a key that is another field's, even if that field is not read.
        let is_known = |f: &&Field<'_>| !f.is_flat() && (f.is_read() || (f.is_written() && has_flat));
        let known: Vec<&Field<'_>> = self.fields.iter().filter(is_known).collect();
        parts.keys = known.iter().map(|f| f.name.clone()).collect();
        let mut indexes: Vec<Vec<usize>> = (0..known.len()).map(|index| vec![index]).collect();
        for (field, indexes) in known.iter().zip(&mut indexes) {
            for alias in aliases(field) {
                indexes.push(parts.keys.len());
                parts.keys.push(alias.to_owned());
            }
        }
        for field in self.fields {
            let member = &field.member;
            let value = if field.is_read() {
                let index = Index::from(parts.types.len());
                let slot = quote!(__partial.#index);
                if field.is_flat_by_function() {
                    flat_by_function(cx, field, &slot, &mut parts)
                } else if field.is_flat() {
                    flat(field, &slot, &mut parts)
                } else {
                    self.named(cx, field, &slot, &mut parts)
                }
            } else {
                self.unread(field)
            };
            parts.values.push(quote!(#member: #value));
        }
        for (field, indexes) in known.iter().zip(&indexes) {
            let action = if field.is_read() {
                let before = self.fields.iter().filter(|f| f.is_read());
                let slot = Index::from(before.take_while(|f| f.member != field.member).count());
                field.read_into(cx, &quote!(__partial.#slot))
            } else {
                quote!(__m::Ok(true))
            };
            parts.arms.push(quote!(#(#indexes)|* => #action,));
        }
        if let Some((name, value)) = &self.kind {
            let (key, slot) = (parts.keys.len(), Index::from(parts.types.len()));
            parts.keys.push(name.clone());
            parts.types.push(quote!(::core::option::Option<()>));
            parts.begins.push(quote!(::core::option::Option::None));
            parts.arms.push(quote! {
                #key => __field.read(&mut __partial.#slot, |__value| __m::codec::read::kind(__value, #value)),
            });
            parts
                .checks
                .push(quote!(__m::codec::read::present(__partial.#slot, #name)?;));
        }
        if let Some(ignored) = self.ignored {
            let index = parts.keys.len();
            parts.keys.push(ignored.to_owned());
            parts.arms.push(quote!(#index => __m::Ok(true),));
        }
        parts
    }

    /// The value of a field with a name.
    fn named(
        &self,
        cx: &Context<'_>,
        field: &Field<'_>,
        slot: &TokenStream,
        parts: &mut Parts,
    ) -> TokenStream {
        let (ty, member) = (field.ty, &field.member);
        parts.types.push(quote!(::core::option::Option<#ty>));
        parts.begins.push(quote!(::core::option::Option::None));
        let serde = field.serde();
        let default = match &serde.functions.default {
            // It was left out.
            _ if serde.skips_none => quote!(::core::option::Option::None),
            Some(path) => quote!(#path()),
            None if serde.default => default_of(field),
            None if self.default.is_some() => quote!(__default.#member),
            None => return or_return(&field.required(cx, slot)),
        };
        quote! {
            match #slot {
                ::core::option::Option::Some(__value) => __value,
                ::core::option::Option::None => #default,
            }
        }
    }

    /// The value of a field that is not read.
    fn unread(&self, field: &Field<'_>) -> TokenStream {
        let member = &field.member;
        match &field.serde().functions.default {
            _ if field.is_phantom() => quote!(::core::marker::PhantomData),
            Some(path) => quote!(#path()),
            None if self.default.is_some() && !field.serde().default => quote!(__default.#member),
            None => default_of(field),
        }
    }

    /// The checks that at most one flattened field has the keys that no field has, and that none has those of fields.
    /// The second part has the checks of types with parameters, which are compiled with their arguments.
    fn one_map(&self, cx: &Context<'_>) -> (Option<TokenStream>, Option<TokenStream>) {
        let (by_function, flat): (Vec<_>, Vec<_>) = self
            .fields
            .iter()
            .filter(|f| f.is_flat() && f.is_read())
            .partition(|f| f.is_flat_by_function());
        const TWO: &str = "two flattened fields are maps, or fields with functions: a key that is not the name of a field could be in either";
        const ALL: &str = "a flattened enum without tags has a variant with a map, which would contain the fields beside it: give the enum a \
                           tag, or the field a name";
        let functions = by_function.len();
        let checks = |types: &[&Type], lifetime: &TokenStream| {
            let span = types.last().map_or_else(Span::call_site, |last| at(last.span()));
            let maps =
                quote!(#functions #(+ (<#types as __m::codec::DecodeFields<#lifetime>>::IS_MAP as usize))*);
            let reads_all = quote!(false #(|| <#types as __m::codec::DecodeFields<#lifetime>>::READS_ALL)*);
            quote_spanned! {span=>
                ::core::assert!(#maps < 2 || #maps == #functions, #TWO);
                ::core::assert!(!(#reads_all), #ALL);
            }
        };
        let all: Vec<&Type> = flat.iter().map(|f| f.ty).collect();
        let concrete: Vec<&Type> = all.iter().copied().filter(|ty| !cx.is_generic(ty)).collect();
        let of_concrete = concrete.last().map(|last| {
            let checks = checks(&concrete, &quote!('static));
            quote_spanned!(at(last.span())=> const _: () = { #checks };)
        });
        let of_parameters = (all.len() > concrete.len()).then(|| {
            let checks = checks(&all, &quote!('de));
            quote!(const { #checks })
        });
        (of_concrete, of_parameters)
    }
}

/// The value of a flattened field.
fn flat(field: &Field<'_>, slot: &TokenStream, parts: &mut Parts) -> TokenStream {
    let ty = field.ty;
    let codec = quote_spanned!(at(ty.span())=> <#ty as __m::codec::DecodeFields<'de>>);
    parts.types.push(quote!(#codec::Partial));
    parts.begins.push(quote!(#codec::begin(__elements)?));
    parts
        .offers
        .push(quote!(__m::codec::read::offer::<#ty>(&mut #slot, __field)?));
    parts.flat.push(quote!(#ty));
    quote!(#codec::finish(#slot)?)
}

/// The value of a flattened field that a function reads, from a document with all keys that are not those of fields.
fn flat_by_function(
    cx: &Context<'_>,
    field: &Field<'_>,
    slot: &TokenStream,
    parts: &mut Parts,
) -> TokenStream {
    let read = field.read(cx);
    parts.types.push(quote!(__m::BsonDocument));
    parts.begins.push(quote!(__m::BsonDocument::new()));
    parts
        .copies
        .push(quote!(__m::codec::serde::copy(&mut #slot, __field)?));
    quote!(__m::codec::serde::read_fields(&#slot, #read)?)
}

/// The default of a field's type.
fn default_of(field: &Field<'_>) -> TokenStream {
    let ty = field.ty;
    quote_spanned!(at(ty.span())=> <#ty as ::core::default::Default>::default())
}

/// Offers a field to the flattened types, and then to those that take all keys.
fn offers(parts: &Parts) -> TokenStream {
    let (flat, offers, copies) = (&parts.flat, &parts.offers, &parts.copies);
    let offered = match &offers[..] {
        [] => quote!(false),
        [one] => one.clone(),
        _ => quote! {
            #((!<#flat as __m::codec::DecodeFields<'de>>::IS_MAP && #offers))||*
            || #((<#flat as __m::codec::DecodeFields<'de>>::IS_MAP && #offers))||*
        },
    };
    if copies.is_empty() {
        offered
    } else {
        quote!({ #(#copies;)* #offered })
    }
}

/// The value of a `Result`, whose error the function returns. The compiler checks this in half of the time of `?`.
fn or_return(result: &TokenStream) -> TokenStream {
    quote! {
        match #result {
            __m::Ok(__value) => __value,
            __m::Err(__error) => return __m::Err(__error),
        }
    }
}

/// A name of a generated type.
pub(super) fn generated(prefix: &str, index: usize) -> Ident {
    Ident::new(&format!("{prefix}{index}"), Span::call_site())
}
