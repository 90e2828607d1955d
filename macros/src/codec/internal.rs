//! Enums with `tag`: the tag is a field of the document of the variant.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    code::at,
    codec::{
        Context, document,
        field::Form,
        variants::{Kind, Variant, match_self, or_untagged, tagged, unknown, write_arm},
    },
};

pub(super) fn expand(cx: &Context<'_>, variants: &[Variant<'_>], tag: &str) -> TokenStream {
    let arms: Vec<TokenStream> = variants
        .iter()
        .map(|v| {
            let write = if v.is_untagged() {
                v.write_content(cx)
            } else {
                let (names, write) = (names(v, tag), write(cx, v, tag));
                quote!(__m::codec::write::fields(__out, const { #names.assert_distinct(); &#names }, |__out| #write))
            };
            write_arm(cx, v, &write)
        })
        .collect();
    let encode = cx.encode(&match_self(&arms));
    let reads = tagged(variants).map(|v| {
        let tags = v.tags();
        let read = match content(cx, v) {
            Content::None => {
                let unit = v.unit(cx);
                quote!(::core::result::Result::Ok(#unit))
            }
            Content::Fields { reader, made } => quote! {
                __m::codec::read::tagged::<#reader>(__value, ::core::option::Option::Some(#tag)).map(#made)
            },
            Content::Value => {
                let read = v.read_content(cx);
                quote!(__m::codec::serde::read_beside(__value, #tag, |__value| __m::codec::read::by(__value, #read)))
            }
        };
        quote!(#tags => #read,)
    });
    let unknown = unknown(cx, variants);
    let read = quote! {
        let __elements = __value.document()?;
        match __m::codec::read::tag(__elements, #tag)? {
            #(#reads)*
            _ => (#unknown).map_err(|__error| __m::codec::read::at_tag(__elements, #tag, __error)),
        }
    };
    let decode = cx.decode(&or_untagged(cx, variants, &read), &TokenStream::new());
    let flattened = (!variants.iter().any(Variant::is_untagged)).then(|| {
        let (write, read) = (encode_fields(cx, variants, tag), decode_fields(cx, variants, tag));
        quote!(#write #read)
    });
    quote!(#encode #decode #flattened)
}

/// How the content of a variant is read.
enum Content {
    /// There is none.
    None,
    /// Field by field. `made`: a function of what the reader makes.
    Fields { reader: TokenStream, made: TokenStream },
    /// As one value, from a document without the tag.
    Value,
}

fn content(cx: &Context<'_>, variant: &Variant<'_>) -> Content {
    let (owner, ident) = (cx.ident, variant.ident);
    match (variant.kind, &variant.fields[..]) {
        _ if variant.function_of_read().is_some() => Content::Value,
        (Kind::Named, _) => Content::Fields {
            reader: variant.reader(cx),
            made: quote!(|__content| __content),
        },
        (Kind::Newtype, [field]) if matches!(field.read_form(), Form::Typed) => {
            let ty = field.ty;
            Content::Fields {
                reader: quote_spanned!(at(ty.span())=> #ty),
                made: quote!(#owner::#ident),
            }
        }
        // Serde refuses the content of an array.
        (Kind::Newtype | Kind::Array, _) => Content::Value,
        (Kind::Unit, _) => Content::None,
    }
}

/// Writes the tag and the fields of the content. An expression of a `Result`.
fn write(cx: &Context<'_>, variant: &Variant<'_>, tag: &str) -> TokenStream {
    let name = &variant.name;
    let content = match (variant.kind, &variant.fields[..]) {
        _ if variant.function_of_write().is_some() => by_serde(cx, variant),
        (Kind::Unit, _) => TokenStream::new(),
        (Kind::Named, _) => variant.write_fields(cx),
        (Kind::Newtype, [field]) if matches!(field.written_form(), Form::Typed) => {
            let ty = field.ty;
            quote_spanned! {at(ty.span())=>
                <#ty as __m::codec::EncodeFields>::encode_fields(__f0, __out)?;
            }
        }
        (Kind::Newtype | Kind::Array, _) => by_serde(cx, variant),
    };
    quote! {{
        __out.string_field(#tag, #name)?;
        #content
        ::core::result::Result::Ok(())
    }}
}

/// Writes the fields of a content that serde writes.
fn by_serde(cx: &Context<'_>, variant: &Variant<'_>) -> TokenStream {
    let write = variant.write_content(cx);
    quote!(__m::codec::serde::write_fields(__out, |__out| #write)?;)
}

/// The names in the document of a variant.
fn names(variant: &Variant<'_>, tag: &str) -> TokenStream {
    match (variant.kind, &variant.fields[..]) {
        (Kind::Named, fields) if variant.function_of_write().is_none() => document::names(fields, Some(tag)),
        (Kind::Newtype, [field])
            if matches!(field.written_form(), Form::Typed) && variant.function_of_write().is_none() =>
        {
            let ty = field.ty;
            quote_spanned! {at(ty.span())=>
                __m::codec::Names {
                    own: &[#tag],
                    flat: &[&<#ty as __m::codec::EncodeFields>::NAMES],
                    ..__m::codec::Names::NONE
                }
            }
        }
        _ => quote!(__m::codec::Names::of(&[#tag])),
    }
}

/// Flattened: the tag, and the fields of the variant.
fn encode_fields(cx: &Context<'_>, variants: &[Variant<'_>], tag: &str) -> TokenStream {
    if !cx.is_written {
        return TokenStream::new();
    }
    let (own, (params, _, clause)) = (cx.own(), cx.write.split_for_impl());
    let arms: Vec<TokenStream> = variants
        .iter()
        .map(|v| write_arm(cx, v, &write(cx, v, tag)))
        .collect();
    let write = match_self(&arms);
    let all_names = variants.iter().filter(|v| v.is_written()).map(|v| names(v, tag));
    quote! {
        impl #params __m::codec::EncodeFields for #own #clause {
            const NAMES: __m::codec::Names = __m::codec::Names {
                alternatives: &[#(&#all_names),*],
                ..__m::codec::Names::of(&[#tag])
            };
            fn encode_fields(
                &self,
                __out: &mut __m::codec::Writer<'_>,
            ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                #write
            }
        }
    }
}

/// The variant is known at the beginning, and takes its fields by their keys. Not for an enum with a content that serde
/// reads.
fn decode_fields(cx: &Context<'_>, variants: &[Variant<'_>], tag: &str) -> TokenStream {
    if !cx.is_read() || variants.iter().any(|v| matches!(content(cx, v), Content::Value)) {
        return TokenStream::new();
    }
    let own = cx.own();
    let (params, clause) = cx.read_generics();
    let names = cx.names();
    let (mut parts, mut begins, mut takes, mut finishes, mut maps) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut other = None;
    for variant in variants.iter().filter(|v| v.is_read()) {
        let (part, tags) = (variant.generated(), variant.tags());
        match content(cx, variant) {
            Content::Fields { reader, made } => {
                let codec = quote!(<#reader as __m::codec::DecodeFields<'de>>);
                parts.push(quote!(#part(#codec::Partial),));
                begins.push(quote!(#tags => __Partial::#part(#codec::begin(__elements)?),));
                takes.push(
                    quote!(__Partial::#part(__content) => __m::codec::read::offer::<#reader>(__content, __field),),
                );
                finishes.push(quote!(__Partial::#part(__content) => #codec::finish(__content).map(#made),));
                maps.push(quote!(#codec::IS_MAP));
            }
            Content::None | Content::Value => {
                let unit = variant.unit(cx);
                parts.push(quote!(#part,));
                finishes.push(quote!(__Partial::#part => ::core::result::Result::Ok(#unit),));
                if variant.is_other() {
                    other = Some(quote!(__Partial::#part));
                } else {
                    begins.push(quote!(#tags => __Partial::#part,));
                }
            }
        }
    }
    let unknown = other.unwrap_or_else(|| {
        let known = tagged(variants).map(|v| &v.name);
        quote! {{
            let __error = __m::codec::read::unknown_variant(&[#(#known),*]);
            return ::core::result::Result::Err(__m::codec::read::at_tag(__elements, #tag, __error));
        }}
    });
    quote! {
        pub enum __Partial<#params> #clause {
            #(#parts)*
            __None(::core::marker::PhantomData<(&'de (), fn() -> #own)>),
        }
        impl<#params> __m::codec::DecodeFields<'de> for #own #clause {
            type Out = #own;
            type Partial = __Partial<'de, #names>;
            const KEYS: &'static [&'static str] = &[#tag];
            const IS_MAP: bool = false #(|| #maps)*;
            fn begin(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<Self::Partial, __m::codec::DecodeError> {
                let __name = __m::codec::read::tag(__elements, #tag)?;
                ::core::result::Result::Ok(match __name {
                    #(#begins)*
                    _ => #unknown,
                })
            }
            fn begin_optional(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<::core::option::Option<Self::Partial>, __m::codec::DecodeError> {
                match __m::codec::read::tag_if_any(__elements, #tag)? {
                    ::core::option::Option::Some(_) => Self::begin(__elements).map(::core::option::Option::Some),
                    ::core::option::Option::None => ::core::result::Result::Ok(::core::option::Option::None),
                }
            }
            fn take(
                __partial: &mut Self::Partial,
                __index: usize,
                __field: &__m::codec::Fields<'de>,
            ) -> ::core::result::Result<bool, __m::codec::DecodeError> {
                if __index == 0 {
                    return ::core::result::Result::Ok(true);
                }
                match __partial {
                    #(#takes)*
                    _ => ::core::result::Result::Ok(false),
                }
            }
            fn finish(
                __partial: Self::Partial,
            ) -> ::core::result::Result<Self::Out, __m::codec::DecodeError> {
                match __partial {
                    #(#finishes)*
                    __Partial::__None(_) => {
                        ::core::result::Result::Err(__m::codec::read::no_variant_beside())
                    }
                }
            }
        }
    }
}
