//! Structs with named fields, which are documents, and unit structs.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Ident;
use syn::ext::IdentExt;

use crate::{
    codec::{
        Context,
        document::{self, Reader},
        field::{self, Field},
    },
    parse::{self, Parsed},
};

pub(super) fn expand(parsed: &Parsed, fields: &[parse::Field], is_written: bool) -> TokenStream {
    let fields = field::fields(fields, parsed.serde.rename_all, parsed.serde.conversion.is_none());
    let cx = Context::new(parsed, &fields.iter().collect::<Vec<_>>(), is_written);
    let encode = cx.encode(&quote!(__m::codec::write::document(__out, self)));
    let decode = cx.decode(
        &quote!(__m::codec::read::document::<Self>(__value)),
        &TokenStream::new(),
    );
    let (write, read) = (encode_fields(&cx, &fields), decode_fields(&cx, &fields));
    quote!(#encode #write #decode #read)
}

/// The name of the field with the name of the struct, which is written and not read.
fn tag<'a>(cx: &Context<'a>) -> Option<&'a str> {
    let tag = cx.parsed.serde.tag.as_ref();
    tag.map(|tag| tag.value.as_str())
}

/// The field with the kind of the documents, and its value, which is checked when it is read.
fn kind(cx: &Context<'_>) -> Option<(String, String)> {
    let kind = cx.parsed.attributes.kind.as_ref();
    kind.map(|kind| (kind.field(), kind.value.clone()))
}

fn encode_fields(cx: &Context<'_>, fields: &[Field<'_>]) -> TokenStream {
    if !cx.is_written {
        return TokenStream::new();
    }
    let (own, (params, _, clause)) = (cx.own(), cx.write.split_for_impl());
    let (tag, kind) = (tag(cx), kind(cx));
    let beside = tag
        .into_iter()
        .chain(kind.as_ref().map(|(field, _)| field.as_str()));
    let names = document::names(fields, beside);
    let check = document::distinct_names(cx, fields, &names);
    let write_tag = tag.map(|tag| {
        let name = cx.parsed.serde.rename.clone();
        let name = name.unwrap_or_else(|| cx.ident.unraw().to_string());
        quote!(__out.string_field(#tag, #name)?;)
    });
    let write_kind = kind
        .as_ref()
        .map(|(field, value)| quote!(__out.string_field(#field, #value)?;));
    let write = document::write(cx, fields, |_, field| {
        let member = &field.member;
        quote!(&self.#member)
    });
    quote! {
        #check
        impl #params __m::codec::EncodeFields for #own #clause {
            const NAMES: __m::codec::Names = #names;
            #[inline]
            fn encode_fields(
                &self,
                __out: &mut __m::codec::Writer<'_>,
            ) -> ::core::result::Result<(), __m::codec::EncodeError> {
                #write_tag
                #write
                #write_kind
                ::core::result::Result::Ok(())
            }
        }
    }
}

fn decode_fields(cx: &Context<'_>, fields: &[Field<'_>]) -> TokenStream {
    let serde = &cx.parsed.serde;
    if !cx.is_read() {
        return TokenStream::new();
    }
    let default = serde.default.then(|| match &serde.default_path {
        Some(path) => quote!(#path()),
        None => quote!(::core::default::Default::default()),
    });
    let reader = Reader {
        owner: cx.own(),
        out: cx.own(),
        constructor: cx.ident.to_token_stream(),
        partial: Ident::new("__Partial", Span::call_site()),
        is_strict: serde.deny_unknown.is_some(),
        default,
        ignored: tag(cx),
        kind: kind(cx),
        fields,
    };
    reader.decode_fields(cx)
}

/// A unit struct is Null; flattened, or as a variant beside a tag, it has no fields.
pub(super) fn unit(parsed: &Parsed, is_written: bool) -> TokenStream {
    let cx = Context::new(parsed, &[], is_written);
    let ident = cx.ident;
    let encode = cx.encode(&quote!(<() as __m::codec::Encode>::encode(&(), __out)));
    let decode = cx.decode(
        &quote!(<() as __m::codec::Decode>::decode(__value).map(|()| #ident)),
        &TokenStream::new(),
    );
    let (write, read) = (encode_fields(&cx, &[]), decode_fields(&cx, &[]));
    quote!(#encode #write #decode #read)
}
