//! Enums with `untagged`: the content alone.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    code::at,
    codec::{
        Context, document,
        field::Form,
        variants::{Kind, Variant, match_self, write_arm},
    },
};

pub(super) fn expand(cx: &Context<'_>, variants: &[Variant<'_>]) -> TokenStream {
    let arms: Vec<TokenStream> = variants
        .iter()
        .map(|v| write_arm(cx, v, &v.write_content(cx)))
        .collect();
    let encode = cx.encode(&match_self(&arms));
    let reads = variants
        .iter()
        .filter(|v| v.is_read())
        .map(|v| v.read_content(cx));
    let decode = cx.decode(
        &quote! {
            __m::codec::read::first_variant(__value, &[#(#reads),*])
                .ok_or_else(|| __m::codec::read::no_variant(__value))
        },
        &TokenStream::new(),
    );
    let is_document = |v: &Variant<'_>| {
        let is_plain = v.function_of_write().is_none() && v.function_of_read().is_none();
        let is_typed = match &v.fields[..] {
            [field] => matches!(
                (field.written_form(), field.read_form()),
                (Form::Typed, Form::Typed)
            ),
            _ => false,
        };
        is_plain && (v.kind == Kind::Unit || v.kind == Kind::Named || (v.kind == Kind::Newtype && is_typed))
    };
    let can_be_flat = cx.is_written && cx.is_read() && variants.iter().all(is_document);
    let flattened = can_be_flat.then(|| flattened(cx, variants));
    quote!(#encode #decode #flattened)
}

/// Flattened: the fields of the content, if all variants are documents. With a higher-ranked bound, a bound that is not
/// satisfied is not reported.
fn flattened(cx: &Context<'_>, variants: &[Variant<'_>]) -> TokenStream {
    let contents: Vec<_> = variants
        .iter()
        .filter(|v| v.kind == Kind::Newtype)
        .flat_map(|v| v.fields.iter().map(|f| f.ty))
        .collect();
    let (mut write, mut read) = (cx.write.clone(), cx.read.clone());
    for ty in &contents {
        let encode: syn::WherePredicate = syn::parse_quote!(for<'__a> #ty: __m::codec::EncodeFields);
        let decode: syn::WherePredicate =
            syn::parse_quote!(for<'__a> #ty: __m::codec::DecodeFields<'de, Out = #ty>);
        write.make_where_clause().predicates.push(encode.clone());
        read.make_where_clause().predicates.extend([encode, decode]);
    }
    let own = cx.own();
    let (params, _, clause) = write.split_for_impl();
    let arms: Vec<TokenStream> = variants
        .iter()
        .map(|v| write_arm(cx, v, &write_fields(cx, v)))
        .collect();
    let write_all = match_self(&arms);
    let all_names = variants.iter().map(names);
    let decode = decode_fields(cx, variants, &read);
    quote! {
        impl #params __m::codec::EncodeFields for #own #clause {
            const NAMES: __m::codec::Names = __m::codec::Names {
                alternatives: &[#(&#all_names),*],
                ..__m::codec::Names::NONE
            };
            fn encode_fields(
                &self,
                __out: &mut __m::codec::Writer<'_>,
            ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                #write_all
            }
        }
        #decode
    }
}

/// Writes the fields of a variant. An expression of a `Result`.
fn write_fields(cx: &Context<'_>, variant: &Variant<'_>) -> TokenStream {
    match (variant.kind, &variant.fields[..]) {
        (Kind::Newtype, [field]) => {
            let ty = field.ty;
            quote_spanned!(at(ty.span())=> <#ty as __m::codec::EncodeFields>::encode_fields(__f0, __out))
        }
        _ => {
            let write = variant.write_fields(cx);
            quote! {{
                #write
                ::core::result::Result::Ok(())
            }}
        }
    }
}

fn names(variant: &Variant<'_>) -> TokenStream {
    match (variant.kind, &variant.fields[..]) {
        (Kind::Newtype, [field]) => {
            let ty = field.ty;
            quote_spanned!(at(ty.span())=> <#ty as __m::codec::EncodeFields>::NAMES)
        }
        (_, fields) => document::names(fields, None),
    }
}

/// The variants are tried on the whole document; the keys that belong to the variant are then taken.
fn decode_fields(cx: &Context<'_>, variants: &[Variant<'_>], generics: &syn::Generics) -> TokenStream {
    let own = cx.own();
    let (params, clause) = (&generics.params, &generics.where_clause);
    let names_ = cx.names();
    let (owner, mut readers, mut reads, mut all_names) = (cx.ident, Vec::new(), Vec::new(), Vec::new());
    for variant in variants.iter().filter(|v| v.is_read()) {
        let ident = variant.ident;
        let (reader, made) = match (variant.kind, &variant.fields[..]) {
            (Kind::Named, _) => (variant.reader(cx), quote!(|__content| __content)),
            (Kind::Newtype, [field]) => {
                let ty = field.ty;
                (quote!(#ty), quote!(#owner::#ident))
            }
            // No fields show a unit.
            _ => continue,
        };
        let names = names(variant);
        readers.push(reader.clone());
        all_names.push(names.clone());
        reads.push(quote! {
            |__elements| {
                let __names: &'static __m::codec::Names = const { &#names };
                __m::codec::read::beside::<#reader>(__elements).map(#made).map(|__value| (__value, __names))
            }
        });
    }
    quote! {
        pub struct __Partial<#params>(
            #own,
            &'static __m::codec::Names,
            ::core::marker::PhantomData<&'de ()>,
        ) #clause;
        impl<#params> __m::codec::DecodeFields<'de> for #own #clause {
            type Out = #own;
            type Partial = __Partial<'de, #names_>;
            const KEYS: &'static [&'static str] = &[];
            // A variant is chosen by reading it from the whole document.
            const READS_ALL: bool = false #(|| <#readers as __m::codec::DecodeFields<'de>>::IS_MAP)*;
            fn begin(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<Self::Partial, __m::codec::DecodeError> {
                Self::begin_optional(__elements)?.ok_or_else(__m::codec::read::no_variant_beside)
            }
            fn begin_optional(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<::core::option::Option<Self::Partial>, __m::codec::DecodeError> {
                let __found = __m::codec::read::first_variant_beside(__elements, &[#(#reads),*]);
                if __found.is_none() && __m::codec::read::names_any(__elements, &[#(const { &#all_names }),*])? {
                    return ::core::result::Result::Err(__m::codec::read::no_variant_beside());
                }
                ::core::result::Result::Ok(__found.map(|(__value, __names)| {
                    __Partial(__value, __names, ::core::marker::PhantomData)
                }))
            }
            fn take(
                __partial: &mut Self::Partial,
                _: usize,
                __field: &__m::codec::Fields<'de>,
            ) -> ::core::result::Result<bool, __m::codec::DecodeError> {
                ::core::result::Result::Ok(__partial.1.contains(__field.key()))
            }
            fn finish(
                __partial: Self::Partial,
            ) -> ::core::result::Result<Self::Out, __m::codec::DecodeError> {
                ::core::result::Result::Ok(__partial.0)
            }
        }
    }
}
