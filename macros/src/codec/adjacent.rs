//! Enums with `tag` and `content`: two fields of one document.

use proc_macro2::TokenStream;
use quote::quote;

use crate::codec::{
    Context,
    variants::{Kind, Variant, match_self, or_untagged, tagged, unknown, write_arm},
};

pub(super) fn expand(cx: &Context<'_>, variants: &[Variant<'_>], tag: &str, content: &str) -> TokenStream {
    let arms: Vec<TokenStream> = variants
        .iter()
        .map(|v| {
            let write = if v.is_untagged() {
                v.write_content(cx)
            } else {
                let write = write(cx, v, tag, content);
                quote! {
                    __m::codec::write::fields(
                        __out,
                        const { &__m::codec::Names::of(&[#tag, #content]) },
                        |__out| #write,
                    )
                }
            };
            write_arm(cx, v, &write)
        })
        .collect();
    let encode = cx.encode(&match_self(&arms));
    let is_strict = cx.parsed.serde.deny_unknown.is_some();
    let (select, unknown) = (select(cx, variants, content), unknown(cx, variants));
    let read = quote! {
        let (__name, __content) = __m::codec::read::tag_and_content(__value, #tag, #content, #is_strict)?;
        match __name {
            #select
            _ => (#unknown).map_err(|__error| match __value.document() {
                ::core::result::Result::Ok(__elements) => __m::codec::read::at_tag(__elements, #tag, __error),
                ::core::result::Result::Err(__error) => __error,
            }),
        }
    };
    let decode = cx.decode(&or_untagged(cx, variants, &read), &TokenStream::new());
    let flattened = (!variants.iter().any(Variant::is_untagged)).then(|| {
        let (write, read) = (
            encode_fields(cx, variants, tag, content),
            decode_fields(cx, variants, tag, content),
        );
        quote!(#write #read)
    });
    quote!(#encode #decode #flattened)
}

/// Writes the tag and the content. An expression of a `Result`.
fn write(cx: &Context<'_>, variant: &Variant<'_>, tag: &str, content: &str) -> TokenStream {
    let name = &variant.name;
    let content = (variant.kind != Kind::Unit || variant.function_of_write().is_some()).then(|| {
        let write = variant.write_content(cx);
        quote!(__out.field(#content, |__out| #write)?;)
    });
    quote! {{
        __out.string_field(#tag, #name)?;
        #content
        ::core::result::Result::Ok(())
    }}
}

/// The arms of the variants, by the name of the tag and with the content.
fn select(cx: &Context<'_>, variants: &[Variant<'_>], content: &str) -> TokenStream {
    let arms = tagged(variants).map(|v| {
        let tags = v.tags();
        if v.kind == Kind::Unit && v.function_of_read().is_none() {
            let unit = v.unit(cx);
            quote!(#tags => __m::codec::read::no_content(__content).map(|()| #unit),)
        } else {
            let (missing, read) = (v.missing(cx), v.read_content(cx));
            quote!(#tags => __m::codec::read::content_beside(__content, #content, #missing, #read),)
        }
    });
    arms.collect()
}

fn encode_fields(cx: &Context<'_>, variants: &[Variant<'_>], tag: &str, content: &str) -> TokenStream {
    if !cx.is_written {
        return TokenStream::new();
    }
    let (own, (params, _, clause)) = (cx.own(), cx.write.split_for_impl());
    let arms: Vec<TokenStream> = variants
        .iter()
        .map(|v| write_arm(cx, v, &write(cx, v, tag, content)))
        .collect();
    let write = match_self(&arms);
    quote! {
        impl #params __m::codec::EncodeFields for #own #clause {
            const NAMES: __m::codec::Names = __m::codec::Names::of(&[#tag, #content]);
            fn encode_fields(
                &self,
                __out: &mut __m::codec::Writer<'_>,
            ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                #write
            }
        }
    }
}

fn decode_fields(cx: &Context<'_>, variants: &[Variant<'_>], tag: &str, content: &str) -> TokenStream {
    if !cx.is_read() {
        return TokenStream::new();
    }
    let own = cx.own();
    let (params, clause) = cx.read_generics();
    let names = cx.names();
    let (select, unknown) = (select(cx, variants, content), unknown(cx, variants));
    quote! {
        pub struct __Partial<#params>(
            &'de str,
            ::core::option::Option<__m::codec::read::Content<'de>>,
            ::core::marker::PhantomData<fn() -> #own>,
        ) #clause;
        impl<#params> __m::codec::DecodeFields<'de> for #own #clause {
            type Out = #own;
            type Partial = __Partial<'de, #names>;
            const KEYS: &'static [&'static str] = &[#tag, #content];
            fn begin(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<Self::Partial, __m::codec::DecodeError> {
                let (__name, __content) =
                    __m::codec::read::tag_and_content_of(__elements, #tag, #content, false)?;
                ::core::result::Result::Ok(__Partial(__name, __content, ::core::marker::PhantomData))
            }
            fn begin_optional(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<::core::option::Option<Self::Partial>, __m::codec::DecodeError> {
                let (__name, __content) =
                    __m::codec::read::tag_and_content_if_any(__elements, #tag, #content, false)?;
                ::core::result::Result::Ok(
                    __name.map(|__name| __Partial(__name, __content, ::core::marker::PhantomData)),
                )
            }
            fn take(
                _: &mut Self::Partial,
                __index: usize,
                _: &__m::codec::Fields<'de>,
            ) -> ::core::result::Result<bool, __m::codec::DecodeError> {
                ::core::result::Result::Ok(__index < 2)
            }
            fn finish(
                __partial: Self::Partial,
            ) -> ::core::result::Result<Self::Out, __m::codec::DecodeError> {
                let __Partial(__name, __content, _) = __partial;
                match __name {
                    #select
                    _ => #unknown,
                }
            }
        }
    }
}
