//! `Model`: the collection, the id, the indexes.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::expand::{at, collection as declared, index, managed, search};
use crate::model::{Generics, Id, Model, Root};
use crate::parse::IdSource;

pub(super) fn root(model: &Model, root: &Root) -> TokenStream {
    let (managed_items, managed_checks) = (managed::items(root), managed::checks(model, root));
    let ident = &model.ident;
    let name = ident.unraw().to_string();
    let mut owner = ident.clone();
    owner.set_span(at(ident.span()));
    let generics = &model.generics;
    let (params, clause, owner) = (generics.params(), generics.clause(), generics.of(&owner));
    let Root {
        collection,
        id,
        indexes,
        search_indexes,
        options,
        ..
    } = root;
    let search_indexes = search::declarations(search_indexes);
    let options = declared::declaration(options);
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
                const ID: __m::IdFunctions<Self::Id> = __m::IdFunctions {
                    generate: ::core::option::Option::None,
                    encode: __m::recoded_id,
                };
            }
        },
        |id| id_methods(id, &source),
    );
    // All with the span of the type, where the compiler then reports a missing bound once.
    let model = quote_spanned! {at(ident.span())=>
        use __m::{GeneratesNoIds as _, Serializes as _};
        impl<#params> __m::Model for #owner #clause {
            type Id = #id_type;
            type IdSource = #source;
            const NAME: &'static str = #name;
            const COLLECTION: &'static str = #collection;
            fn id(&self) -> &Self::Id {
                #id_body
            }
            #id_methods
            #options
            #managed_items
            #search_indexes
            fn indexes() -> ::std::vec::Vec<__m::IndexDeclaration> {
                let __fields = <Self as __m::Field>::nav(__m::Path::<Self, Self, __m::Read>::root());
                ::std::vec![#(#indexes),*]
            }
        }
    };
    quote!(#model #check #managed_checks)
}

fn id_parts(id: &Id, generics: &Generics) -> (TokenStream, TokenStream, TokenStream, TokenStream) {
    let Id {
        ident, ty, source, ..
    } = id;
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
        quote_spanned!(at(ident.span())=> &self.#ident),
        check,
    )
}

/// The functions of the id.
fn id_methods(id: &Id, source: &TokenStream) -> TokenStream {
    let Id {
        ident, ty, recoded, ..
    } = id;
    // A generated id would bypass the field's own conversion.
    let (generate, encode) = if *recoded {
        (quote!(::core::option::Option::None), quote!(__m::recoded_id))
    } else {
        (
            quote!(<__m::IdProbe<#source, #ty>>::GENERATE),
            quote!(<__m::TypeProbe<#ty>>::ENCODE),
        )
    };
    let lacks_id = id.can_be_optional().then(|| {
        quote! {
            #[inline]
            fn lacks_id(&self) -> bool {
                use __m::{Always as _, Optional as _};
                (&__m::Probe(&self.#ident)).is_none()
            }
        }
    });
    quote! {
        const ID: __m::IdFunctions<Self::Id> = __m::IdFunctions {
            generate: #generate,
            encode: #encode,
        };
        #lacks_id
    }
}
