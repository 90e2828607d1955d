//! Types that are stored as another type: `from`, `try_from` and `into`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Type, parse_quote};

use crate::{
    code::at,
    codec::{Context, forward},
    parse::Parsed,
};

pub(super) fn expand(parsed: &Parsed, is_written: bool) -> TokenStream {
    let mut cx = Context::new(parsed, &[], is_written);
    let written = parsed.serde.written_as.as_ref().filter(|_| is_written);
    if let (Some(stored), None) = (written, &parsed.serde.bounds.written)
        && cx.is_generic(stored)
    {
        let bound = parse_quote!(#stored: __m::codec::Encode);
        cx.write.make_where_clause().predicates.push(bound);
    }
    if let (Some(stored), None) = (&parsed.serde.read_as, &parsed.serde.bounds.read)
        && cx.is_generic(stored)
    {
        let bound = parse_quote!(#stored: __m::codec::Decode<'de>);
        cx.read.make_where_clause().predicates.push(bound);
    }
    let encode = written.map(|stored| encode(&cx, stored));
    let decode = parsed.serde.read_as.as_ref().map(|stored| decode(&cx, stored));
    quote!(#encode #decode)
}

fn encode(cx: &Context<'_>, stored: &Type) -> TokenStream {
    let (own, (params, _, clause)) = (cx.own(), cx.write.split_for_impl());
    let encode = quote_spanned!(at(stored.span())=> <#stored as __m::codec::Encode>::encode);
    let content = quote! {
        &::core::convert::Into::<#stored>::into(::core::clone::Clone::clone(self))
    };
    let fields = forward::encode_fields(cx, stored, &content);
    quote! {
        impl #params __m::codec::Encode for #own #clause {
            fn encode(
                &self,
                __out: &mut __m::codec::Writer<'_>,
            ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                #encode(#content, __out)
            }
        }
        #fields
    }
}

fn decode(cx: &Context<'_>, stored: &Type) -> TokenStream {
    let own = cx.own();
    let (params, clause) = cx.read_generics();
    let codec = quote_spanned!(at(stored.span())=> <#stored as __m::codec::Decode<'de>>);
    let make = if cx.parsed.serde.is_fallible {
        quote! {
            |__stored: #stored| ::core::convert::TryFrom::try_from(__stored).map_err(|__error| {
                __m::codec::DecodeError::new(::std::string::ToString::to_string(&__error))
            })
        }
    } else {
        quote!(|__stored: #stored| ::core::result::Result::Ok(::core::convert::From::from(__stored)))
    };
    let fields = forward::decode_fields(cx, stored, &make);
    quote! {
        impl<#params> __m::codec::Decode<'de> for #own #clause {
            fn decode(
                __value: &__m::codec::Value<'de>,
            ) -> ::core::result::Result<Self, __m::codec::DecodeError> {
                #codec::decode(__value).and_then(#make)
            }
        }
        #fields
    }
}
