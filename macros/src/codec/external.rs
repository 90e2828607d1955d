//! Enums without an attribute: a string, or a document with one field.

use proc_macro2::TokenStream;
use quote::quote;

use crate::codec::{
    Context,
    variants::{Kind, Variant, match_self, or_untagged, tagged, unknown, write_arm},
};

pub(super) fn expand(cx: &Context<'_>, variants: &[Variant<'_>]) -> TokenStream {
    let arms: Vec<TokenStream> = variants.iter().map(|v| write_arm(cx, v, &write(cx, v))).collect();
    let encode = cx.encode(&match_self(&arms));
    let reads = tagged(variants).map(|v| {
        let tags = v.tags();
        if v.kind == Kind::Unit && v.function_of_read().is_none() {
            let unit = v.unit(cx);
            quote!(#tags => __m::codec::read::no_content(__content).map(|()| #unit),)
        } else {
            let read = v.read_content(cx);
            quote!(#tags => __m::codec::read::content(__content)?.read(#read),)
        }
    });
    let unknown = unknown(cx, variants);
    let read = quote! {
        let (__name, __content) = __m::codec::read::variant(__value)?;
        match __name { #(#reads)* _ => #unknown }
    };
    let decode = cx.decode(&or_untagged(cx, variants, &read), &TokenStream::new());
    let are_units = variants.iter().all(|v| v.kind == Kind::Unit);
    let key = are_units.then(|| key(cx, variants));
    let is_never_flat = variants.is_empty() || variants.iter().any(Variant::is_untagged);
    let flattened = (!is_never_flat).then(|| {
        let (write, read) = (encode_fields(cx, variants), decode_fields(cx, variants));
        quote!(#write #read)
    });
    quote!(#encode #decode #key #flattened)
}

fn write(cx: &Context<'_>, variant: &Variant<'_>) -> TokenStream {
    let (name, content) = (&variant.name, variant.write_content(cx));
    if variant.is_untagged() {
        content
    } else if variant.kind == Kind::Unit && variant.function_of_write().is_none() {
        quote!(__out.string(#name))
    } else {
        quote!(__m::codec::write::variant(__out, #name, |__out| #content))
    }
}

/// An enum without contents is a key of maps.
fn key(cx: &Context<'_>, variants: &[Variant<'_>]) -> TokenStream {
    let generics = &cx.parsed.generics;
    let is_key = |v: &Variant<'_>| !v.is_untagged() && v.is_written() && v.is_read();
    let are_keys = !variants.is_empty() && variants.iter().all(is_key);
    if !cx.is_written || !cx.is_read() || !generics.params.is_empty() || !are_keys {
        return TokenStream::new();
    }
    let own = cx.own();
    let names = variants.iter().map(|v| {
        let (pattern, name) = (v.pattern(cx), &v.name);
        quote!(#pattern => #name,)
    });
    let reads = tagged(variants).map(|v| {
        let (tags, unit) = (v.tags(), v.unit(cx));
        quote!(#tags => ::core::result::Result::Ok(#unit),)
    });
    let unknown = unknown(cx, variants);
    quote! {
        impl __m::codec::MapKey for #own {
            fn key(&self) -> ::std::borrow::Cow<'_, str> {
                ::std::borrow::Cow::Borrowed(match self { #(#names)* })
            }
            fn from_key(__key: &str) -> ::core::result::Result<Self, __m::codec::DecodeError> {
                match __key { #(#reads)* _ => #unknown }
            }
        }
    }
}

/// Flattened: one field with the name of the variant.
fn encode_fields(cx: &Context<'_>, variants: &[Variant<'_>]) -> TokenStream {
    if !cx.is_written {
        return TokenStream::new();
    }
    let (own, (params, _, clause)) = (cx.own(), cx.write.split_for_impl());
    let names = variants.iter().flat_map(Variant::all_names);
    let arms: Vec<TokenStream> = variants
        .iter()
        .map(|v| {
            let (name, content) = (&v.name, v.write_content(cx));
            write_arm(cx, v, &quote!(__out.field(#name, |__out| #content)))
        })
        .collect();
    let write = match_self(&arms);
    quote! {
        impl #params __m::codec::EncodeFields for #own #clause {
            const NAMES: __m::codec::Names = __m::codec::Names::of(&[#(#names),*]);
            fn encode_fields(
                &self,
                __out: &mut __m::codec::Writer<'_>,
            ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                #write
            }
        }
    }
}

fn decode_fields(cx: &Context<'_>, variants: &[Variant<'_>]) -> TokenStream {
    if !cx.is_read() {
        return TokenStream::new();
    }
    let own = cx.own();
    let (params, clause) = cx.read_generics();
    let names = cx.names();
    let keys = tagged(variants).flat_map(Variant::all_names);
    let mut next = 0_usize;
    let arms = tagged(variants).map(|v| {
        let first = next;
        next += v.all_names().count();
        let (indexes, read) = (first..next, v.read_content(cx));
        quote!(#(#indexes)|* => __field.read(&mut __partial.0, #read),)
    });
    quote! {
        pub struct __Partial<#params>(
            ::core::option::Option<#own>,
            ::core::marker::PhantomData<&'de ()>,
        ) #clause;
        impl<#params> __m::codec::DecodeFields<'de> for #own #clause {
            type Out = #own;
            type Partial = __Partial<'de, #names>;
            const KEYS: &'static [&'static str] = &[#(#keys),*];
            fn begin(
                _: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<Self::Partial, __m::codec::DecodeError> {
                ::core::result::Result::Ok(__Partial(::core::option::Option::None, ::core::marker::PhantomData))
            }
            fn take(
                __partial: &mut Self::Partial,
                __index: usize,
                __field: &__m::codec::Fields<'de>,
            ) -> ::core::result::Result<bool, __m::codec::DecodeError> {
                match __index {
                    #(#arms)*
                    _ => ::core::result::Result::Ok(false),
                }
            }
            fn finish(
                __partial: Self::Partial,
            ) -> ::core::result::Result<Self::Out, __m::codec::DecodeError> {
                __partial.0.ok_or_else(__m::codec::read::no_variant_beside)
            }
        }
    }
}
