//! Newtypes, which have the form of their content, and other tuple structs, which are arrays.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    codec::{
        Context,
        field::{self, Field},
        forward,
    },
    parse::{self, Parsed},
};

pub(super) fn expand(parsed: &Parsed, fields: &[parse::Field], is_written: bool) -> TokenStream {
    let fields = field::fields(fields, parsed.serde.rename_all, parsed.serde.conversion.is_none());
    let cx = Context::new(parsed, &fields.iter().collect::<Vec<_>>(), is_written);
    let mut stored = fields.iter().filter(|f| f.is_written());
    match (stored.next(), stored.next()) {
        (Some(content), None) => newtype(&cx, content, &fields),
        _ => array(&cx, &fields),
    }
}

/// The fields of a value whose content is `value`.
fn construct(
    cx: &Context<'_>,
    content: &Field<'_>,
    fields: &[Field<'_>],
    value: &TokenStream,
) -> TokenStream {
    let (ident, member) = (cx.ident, &content.member);
    let others = fields.iter().filter(|f| f.member != content.member).map(|f| {
        let (member, value) = (&f.member, unstored(f));
        quote!(#member: #value)
    });
    quote!(#ident { #member: #value, #(#others,)* })
}

/// The value of a field that is not read.
pub(super) fn unstored(field: &Field<'_>) -> TokenStream {
    let ty = field.ty;
    match &field.serde().functions.default {
        _ if field.is_phantom() => quote!(::core::marker::PhantomData),
        Some(path) => quote!(#path()),
        None => quote!(<#ty as ::core::default::Default>::default()),
    }
}

fn newtype(cx: &Context<'_>, content: &Field<'_>, fields: &[Field<'_>]) -> TokenStream {
    let member = &content.member;
    let (write, read) = (content.write(cx, &quote!(&self.#member)), content.read(cx));
    let made = construct(cx, content, fields, &quote!(__content));
    let encode = cx.encode(&write);
    let missing = content.missing(cx).map(|missing| {
        quote! {
            #[inline]
            fn missing() -> ::core::option::Option<Self> {
                #missing().map(|__content| #made)
            }
        }
    });
    let decode = cx.decode(
        &quote!(__m::codec::read::by(__value, #read).map(|__content| #made)),
        &missing.unwrap_or_default(),
    );
    let forwarded = matches!(
        (content.written_form(), content.read_form()),
        (field::Form::Typed, field::Form::Typed)
    );
    let traits = forwarded.then(|| {
        let write = cx
            .is_written
            .then(|| forward::encode_fields(cx, content.ty, &quote!(&self.#member)));
        let make = quote!(|__content| ::core::result::Result::Ok(#made));
        let read = cx
            .is_read()
            .then(|| forward::decode_fields(cx, content.ty, &make));
        let key = key(cx, content, &made);
        quote!(#write #read #key)
    });
    quote!(#encode #decode #traits)
}

/// A newtype of a key of maps is one.
fn key(cx: &Context<'_>, content: &Field<'_>, made: &TokenStream) -> TokenStream {
    let (ty, member, own) = (content.ty, &content.member, cx.own());
    if !cx.is_written || !cx.is_read() || cx.parsed.generics.where_clause.is_some() {
        return TokenStream::new();
    }
    let (params, _, _) = cx.parsed.generics.split_for_impl();
    quote! {
        impl #params __m::codec::MapKey for #own
        where
            for<'__a> #ty: __m::codec::MapKey,
        {
            fn key(&self) -> ::std::borrow::Cow<'_, str> {
                <#ty as __m::codec::MapKey>::key(&self.#member)
            }
            fn from_key(__key: &str) -> ::core::result::Result<Self, __m::codec::DecodeError> {
                <#ty as __m::codec::MapKey>::from_key(__key).map(|__content| #made)
            }
        }
    }
}

/// A tuple struct without or with several fields.
fn array(cx: &Context<'_>, fields: &[Field<'_>]) -> TokenStream {
    let ident = cx.ident;
    let write = items(cx, fields, |_, field| {
        let member = &field.member;
        quote!(&self.#member)
    });
    let read = read_items(cx, fields, &quote!(#ident));
    let encode = cx.encode(&write);
    let decode = cx.decode(&read, &TokenStream::new());
    quote!(#encode #decode)
}

/// Writes fields as an array. An expression of a `Result`.
pub(super) fn items(
    cx: &Context<'_>,
    fields: &[Field<'_>],
    place: impl Fn(usize, &Field<'_>) -> TokenStream,
) -> TokenStream {
    let items = fields.iter().enumerate().filter(|(_, f)| f.is_written());
    let items = items.map(|(index, field)| {
        let write = field.write(cx, &place(index, field));
        quote!(&|__out| #write)
    });
    quote!(__m::codec::write::tuple(__out, &[#(#items),*]))
}

/// Reads an array as fields. An expression of a `Result`, with the value as `__value`.
pub(super) fn read_items(cx: &Context<'_>, fields: &[Field<'_>], constructor: &TokenStream) -> TokenStream {
    let len = fields.iter().filter(|f| f.is_read()).count();
    let values = fields.iter().map(|field| {
        let (member, value) = (&field.member, unstored(field));
        if field.is_read() {
            let read = field.read(cx);
            quote!(#member: __items.next_of(#len, #read)?)
        } else {
            quote!(#member: #value)
        }
    });
    quote! {{
        let mut __items = __m::codec::read::Items::new(__value)?;
        let __content = #constructor { #(#values),* };
        __items.end(#len)?;
        ::core::result::Result::Ok(__content)
    }}
}
