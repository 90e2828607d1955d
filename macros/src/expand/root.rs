//! `Model`: the collection, the id, the indexes.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::{
    code::at,
    codec::IdCodec,
    expand::{collection as declared, index, managed, model_fields, search, shard_key},
    model::{Generics, Id, Model, Root},
    parse::IdSource,
};

pub(super) fn root(model: &Model, root: &Root, id_codec: &IdCodec) -> TokenStream {
    let (managed_items, managed_checks) = (managed::items(root), managed::checks(model, root));
    let ident = &model.ident;
    let name = ident.unraw().to_string();
    let mut owner = ident.clone();
    owner.set_span(at(ident.span()));
    let generics = &model.generics;
    let clause = generics.model_clause(root.id.as_ref().map(|id| &id.ty));
    let (params, owner) = (generics.params(), generics.of(&owner));
    let Root {
        collection,
        id,
        indexes,
        search_indexes,
        options,
        ..
    } = root;
    let model_fields = model_fields::table(model, root);
    let search_indexes = search::declarations(search_indexes);
    let options = declared::declaration(options);
    let shard_key = root.shard_key.as_ref().map(shard_key::declaration);
    let indexes = indexes.iter().map(index::declaration);
    let (id_type, source, id_body, check) = match id {
        Some(id) => id_parts(id, generics),
        None => (
            quote!(__m::Bson),
            quote!(__m::Manual),
            quote!(::core::unreachable!()),
            TokenStream::new(),
        ),
    };
    let id_methods = id.as_ref().map_or_else(
        || {
            quote! {
                const GENERATE_ID: ::core::option::Option<fn() -> Self::Id> = ::core::option::Option::None;
            }
        },
        |id| id_methods(id, &source),
    );
    let unreachable = IdCodec::unreachable();
    let IdCodec { write, read } = if id.is_some() { id_codec } else { &unreachable };
    let id_codec = quote! {
        fn encode_id(
            __id: &Self::Id,
            __out: &mut __m::codec::Writer<'_>,
        ) -> ::core::result::Result<(), __m::codec::EncodeError> {
            #write
        }
        fn decode_id(
            __value: &__m::codec::Value<'_>,
        ) -> ::core::result::Result<Self::Id, __m::codec::DecodeError> {
            #read
        }
    };
    // All with the span of the type, where the compiler then reports a missing bound once.
    let model = quote_spanned! {at(ident.span())=>
        use __m::GeneratesNoIds as _;
        impl<#params> __m::Model for #owner #clause {
            type Id = #id_type;
            type IdSource = #source;
            const NAME: &'static str = #name;
            const COLLECTION: &'static str = #collection;
            fn id(&self) -> &Self::Id {
                #id_body
            }
            #id_methods
            #id_codec
            #options
            #managed_items
            #model_fields
            #search_indexes
            #shard_key
            fn indexes() -> ::std::vec::Vec<__m::IndexDeclaration> {
                let __fields = <Self as __m::Field>::nav(__m::Path::<Self, Self, __m::Read>::root());
                ::std::vec![#(#indexes),*]
            }
        }
    };
    quote!(#model #check #managed_checks)
}

fn id_parts(id: &Id, generics: &Generics) -> (TokenStream, TokenStream, TokenStream, TokenStream) {
    let Id { ty, source, .. } = id;
    let source_type = match source {
        IdSource::Auto => quote!(__m::Auto),
        IdSource::UuidV7 => quote!(__m::UuidV7),
        IdSource::UuidV4 => quote!(__m::UuidV4),
        IdSource::ObjectId => quote!(__m::ObjectIds),
        IdSource::Manual => quote!(__m::Manual),
    };
    let check = match source {
        // Without an explicit source, a type without one is an error only where an id is generated.
        IdSource::Auto | IdSource::Manual => TokenStream::new(),
        _ if generics.are_in(ty) => TokenStream::new(),
        _ => quote_spanned!(at(ty.span())=> const _: fn() = __m::assert_id_source::<#source_type, #ty>;),
    };
    (
        quote!(#ty),
        source_type,
        id_reference(id, &TokenStream::new()),
        check,
    )
}

/// A reference to the id. An expression. `mutable`: `mut`, if it can be changed.
pub(super) fn id_reference(id: &Id, mutable: &TokenStream) -> TokenStream {
    let (ident, variants) = (&id.ident, &id.variants);
    if variants.is_empty() {
        return quote_spanned!(at(ident.span())=> &#mutable self.#ident);
    }
    quote_spanned!(at(ident.span())=> match self { #(Self::#variants { #ident: __id, .. })|* => __id })
}

/// The functions of the id.
fn id_methods(id: &Id, source: &TokenStream) -> TokenStream {
    let (ty, reference) = (&id.ty, id_reference(id, &TokenStream::new()));
    let lacks_id = id.can_be_optional().then(|| {
        quote! {
            #[inline]
            fn lacks_id(&self) -> bool {
                use __m::{Always as _, Optional as _};
                (&__m::Probe(#reference)).is_none()
            }
        }
    });
    quote! {
        const GENERATE_ID: ::core::option::Option<fn() -> Self::Id> = <__m::IdProbe<#source, #ty>>::GENERATE;
        #lacks_id
    }
}
