//! Types that are stored as a value of another type: newtypes and conversions. If that type is a document, they are documents
//! too.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Type, WherePredicate, parse_quote};

use crate::codec::Context;

/// `impl EncodeFields`. `content`: an expression of a reference to the other value.
///
/// With a higher-ranked bound, a bound that is not satisfied is not reported.
pub(super) fn encode_fields(cx: &Context<'_>, ty: &Type, content: &TokenStream) -> TokenStream {
    let own = cx.own();
    let mut generics = cx.write.clone();
    let bound: WherePredicate = parse_quote!(for<'__a> #ty: __m::codec::EncodeFields);
    generics.make_where_clause().predicates.push(bound);
    let (params, _, clause) = generics.split_for_impl();
    quote! {
        impl #params __m::codec::EncodeFields for #own #clause {
            const NAMES: __m::codec::Names = <#ty as __m::codec::EncodeFields>::NAMES;
            fn encode_fields(
                &self,
                __out: &mut __m::codec::Writer<'_>,
            ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                <#ty as __m::codec::EncodeFields>::encode_fields(#content, __out)
            }
        }
    }
}

/// `impl DecodeFields`. `make`: a function of the other value, which returns a `Result`.
pub(super) fn decode_fields(cx: &Context<'_>, ty: &Type, make: &TokenStream) -> TokenStream {
    let (own, names) = (cx.own(), cx.names());
    let mut generics = cx.read.clone();
    let bound: WherePredicate = parse_quote!(for<'__a> #ty: __m::codec::DecodeFields<'de, Out = #ty>);
    generics.make_where_clause().predicates.push(bound);
    let (params, clause) = (&generics.params, &generics.where_clause);
    let codec = quote!(<#ty as __m::codec::DecodeFields<'de>>);
    quote! {
        pub struct __Partial<#params>(#codec::Partial, ::core::marker::PhantomData<fn() -> #own>) #clause;
        impl<#params> __m::codec::DecodeFields<'de> for #own #clause {
            type Out = #own;
            type Partial = __Partial<'de, #names>;
            const KEYS: &'static [&'static str] = #codec::KEYS;
            const DENY_UNKNOWN: bool = #codec::DENY_UNKNOWN;
            const IS_MAP: bool = #codec::IS_MAP;
            const READS_ALL: bool = #codec::READS_ALL;
            fn begin(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<Self::Partial, __m::codec::DecodeError> {
                #codec::begin(__elements).map(|__content| __Partial(__content, ::core::marker::PhantomData))
            }
            fn begin_optional(
                __elements: __m::codec::Elements<'de>,
            ) -> ::core::result::Result<::core::option::Option<Self::Partial>, __m::codec::DecodeError> {
                let __content = #codec::begin_optional(__elements)?;
                ::core::result::Result::Ok(
                    __content.map(|__content| __Partial(__content, ::core::marker::PhantomData)),
                )
            }
            fn take(
                __partial: &mut Self::Partial,
                __index: usize,
                __field: &__m::codec::Fields<'de>,
            ) -> ::core::result::Result<bool, __m::codec::DecodeError> {
                #codec::take(&mut __partial.0, __index, __field)
            }
            fn finish(
                __partial: Self::Partial,
            ) -> ::core::result::Result<Self::Out, __m::codec::DecodeError> {
                #codec::finish(__partial.0).and_then(#make)
            }
        }
    }
}
