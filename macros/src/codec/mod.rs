//! The codec of a model: implementations of `Encode`, `Decode` and the traits of documents and of keys of maps.
//!
//! The attributes of serde determine names and forms. The code is that of the parsed input, whose errors are reported
//! elsewhere.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Generics, Ident, Type};

use crate::{
    code::{allowed, at},
    codec::{bounds::Half, field::Field},
    model::{enums::fields_rule, generics},
    parse::{Body, Parsed},
};

mod adjacent;
mod bounds;
mod conversion;
mod document;
mod external;
mod field;
mod forward;
mod internal;
mod structs;
mod tuples;
mod untagged;
mod variants;

/// The type, and the generics of its implementations.
pub(super) struct Context<'a> {
    parsed: &'a Parsed,
    ident: &'a Ident,
    /// Whether values are written, and not only read.
    is_written: bool,
    write: Generics,
    read: Generics,
}

impl<'a> Context<'a> {
    fn new(parsed: &'a Parsed, fields: &[&Field<'_>], is_written: bool) -> Self {
        Context {
            parsed,
            ident: &parsed.ident,
            is_written: is_written && parsed.serde.written_as.is_none(),
            write: bounds::bounded(parsed, fields, Half::Write),
            read: bounds::bounded(parsed, fields, Half::Read),
        }
    }

    /// Whether values are read by their own fields.
    fn is_read(&self) -> bool {
        self.parsed.serde.read_as.is_none()
    }

    /// The type with its parameters.
    fn own(&self) -> TokenStream {
        let (ident, (_, arguments, _)) = (self.ident, self.parsed.generics.split_for_impl());
        quote!(#ident #arguments)
    }

    /// The conditions of the type itself.
    fn own_clause(&self) -> Option<&syn::WhereClause> {
        self.parsed.generics.where_clause.as_ref()
    }

    /// The parameters with their own bounds, without brackets.
    fn declared(&self) -> TokenStream {
        self.parsed.generics.params.to_token_stream()
    }

    /// The parameters as arguments, without brackets.
    fn names(&self) -> TokenStream {
        let params = self.parsed.generics.params.iter();
        let names = params.map(|param| match param {
            syn::GenericParam::Lifetime(param) => param.lifetime.to_token_stream(),
            syn::GenericParam::Type(param) => param.ident.to_token_stream(),
            syn::GenericParam::Const(param) => param.ident.to_token_stream(),
        });
        quote!(#(#names),*)
    }

    fn is_generic(&self, ty: &Type) -> bool {
        generics::are_in(&self.parsed.generics, ty)
    }

    fn write_clause(&self) -> Option<&syn::WhereClause> {
        self.write.where_clause.as_ref()
    }

    /// The parameters of an implementation that reads, with the lifetime `'de`, and its conditions.
    fn read_generics(&self) -> (TokenStream, Option<&syn::WhereClause>) {
        (
            self.read.params.to_token_stream(),
            self.read.where_clause.as_ref(),
        )
    }

    /// `impl Encode`. `body`: an expression of a `Result`.
    fn encode(&self, body: &TokenStream) -> TokenStream {
        let (own, (params, _, clause)) = (self.own(), self.write.split_for_impl());
        if !self.is_written {
            return TokenStream::new();
        }
        quote! {
            impl #params __m::codec::Encode for #own #clause {
                #[inline]
                fn encode(
                    &self,
                    __out: &mut __m::codec::Writer<'_>,
                ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                    #body
                }
            }
        }
    }

    /// `impl Decode`. `body`: an expression of a `Result`; `items`: further functions.
    fn decode(&self, body: &TokenStream, items: &TokenStream) -> TokenStream {
        let (own, (params, _, clause)) = (self.own(), self.read.split_for_impl());
        if !self.is_read() {
            return TokenStream::new();
        }
        quote! {
            impl #params __m::codec::Decode<'de> for #own #clause {
                #[inline]
                fn decode(
                    __value: &__m::codec::Value<'de>,
                ) -> ::core::result::Result<Self, __m::codec::DecodeError> {
                    #body
                }
                #items
            }
        }
    }
}

/// How the id of a document is written and read.
#[derive(Default)]
pub(crate) struct IdCodec {
    /// Writes `__id`, a reference, to `__out`: an expression of a `Result`.
    pub(crate) write: TokenStream,
    /// Reads the id from `__value`, a reference: an expression of a `Result`.
    pub(crate) read: TokenStream,
}

impl IdCodec {
    /// After an error.
    pub(crate) fn unreachable() -> Self {
        IdCodec {
            write: quote!(::core::unreachable!()),
            read: quote!(::core::unreachable!()),
        }
    }

    pub(crate) fn of(parsed: &Parsed) -> Self {
        let fields = match &parsed.body {
            Body::Named(fields) if parsed.root => field::fields(fields, parsed.serde.rename_all, true),
            // All variants have the same id.
            Body::Enum(variants) if parsed.root => variants.first().map_or_else(Vec::new, |variant| {
                field::fields(variant.shape.fields(), fields_rule(variant, parsed), true)
            }),
            _ => Vec::new(),
        };
        let Some(id) = fields.iter().find(|f| f.name == "_id" && f.is_written()) else {
            return IdCodec::unreachable();
        };
        let cx = Context::new(parsed, &[id], true);
        IdCodec {
            write: id.write(&cx, &quote!(__id)),
            read: {
                let read = id.read(&cx);
                quote!(__m::codec::read::by(__value, #read))
            },
        }
    }
}

/// The codec of a type that serde writes and reads.
fn by_serde(cx: &Context<'_>) -> TokenStream {
    let own = cx.own();
    let encode = cx.encode(&quote!(<__m::codec::SerdeProbe<#own>>::encode(self, __out)));
    let missing = quote! {
        fn missing() -> ::core::option::Option<Self> {
            <__m::codec::SerdeProbe<#own>>::missing()
        }
    };
    let decode = cx.decode(&quote!(<__m::codec::SerdeProbe<#own>>::decode(__value)), &missing);
    let span = at(cx.ident.span());
    // The model reports parameters.
    let checks = cx.parsed.generics.params.is_empty().then(|| {
        let written = cx
            .is_written
            .then(|| quote_spanned!(span=> const _: fn() = __m::codec::assert_written_by_serde::<#own>;));
        quote_spanned!(span=> #written const _: fn() = __m::codec::assert_read_by_serde::<#own>;)
    });
    quote! {
        #checks
        #encode
        #decode
    }
}

/// The codec of a type. `krate`: the path of marula; `is_written`: whether values are written, and not only read.
pub(crate) fn expand(parsed: &Parsed, krate: &syn::Path, is_written: bool) -> TokenStream {
    if !parsed.usable {
        return TokenStream::new();
    }
    let own = match &parsed.body {
        _ if parsed.attributes.opaque => by_serde(&Context::new(parsed, &[], is_written)),
        Body::Named(fields) if !parsed.serde.transparent => structs::expand(parsed, fields, is_written),
        Body::Named(fields) | Body::Tuple(fields) => tuples::expand(parsed, fields, is_written),
        Body::Enum(variants) => variants::expand(parsed, variants, is_written),
        Body::Empty => structs::unit(parsed, is_written),
    };
    let converted = conversion::expand(parsed, is_written);
    let allowed = allowed();
    quote! {
        #[doc(hidden)]
        #allowed
        const _: () = {
            use #krate::__private_v1 as __m;
            use __m::codec::NoForm as _;
            #own
            #converted
        };
    }
}
