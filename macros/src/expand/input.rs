//! `Patch` and `Insert`: structs from which an update or a document of a model is made.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use crate::{
    code::{allowed, at},
    parse::input::{Input, InputField},
};

pub(crate) fn patch(input: &Input) -> TokenStream {
    let Input {
        ident,
        of,
        fields,
        krate,
    } = input;
    let checks = fields.iter().filter_map(|field| {
        let [name] = &field.path[..] else { return None };
        let name = name.unraw().to_string();
        let message = format!("`{name}` is the id or a maintained field of the model, which a patch does not change");
        Some(
            quote_spanned!(at(field.ident.span())=> const _: () = ::core::assert!(!__m::is_kept::<#of>(#name), #message);),
        )
    });
    let missing = fields.iter().map(|InputField { ident, ty, .. }| {
        quote_spanned!(at(ty.span())=> __m::PatchField::is_missing(&self.#ident))
    });
    let changes = fields.iter().map(|field| {
        let (ident, ty, path) = (&field.ident, &field.ty, path(field));
        quote_spanned!(at(ty.span())=> __m::Patching::field::<#ty, _>(__changes, &#path, &self.#ident))
    });
    wrapped(
        krate,
        &quote! {
            #(#checks)*
            impl __m::Patch for #ident {
                type Model = #of;
                fn is_empty(&self) -> bool {
                    true #(&& #missing)*
                }
                fn to_update(&self) -> __m::Update<#of> {
                    let __of = __m::stored::<#of>(&<__m::RawPath as ::core::default::Default>::default());
                    let __changes = __m::Patching::<#of>::new();
                    #(let __changes = #changes;)*
                    __m::Patching::finish(__changes)
                }
            }
            impl __m::IntoUpdate<#of> for &#ident {
                fn into_update(self) -> __m::Update<#of> {
                    __m::Patch::to_update(self)
                }
            }
            impl __m::IntoUpdate<#of> for #ident {
                fn into_update(self) -> __m::Update<#of> {
                    __m::Patch::to_update(&self)
                }
            }
        },
    )
}

pub(crate) fn insert(input: &Input) -> TokenStream {
    let Input {
        ident,
        of,
        fields,
        krate,
    } = input;
    let names = fields
        .iter()
        .filter_map(|field| Some(field.path.first()?.unraw().to_string()));
    let names: Vec<String> = names.collect();
    let checks = fields.iter().zip(&names).map(|(field, name)| {
        let message = format!("`{name}` is a maintained field of the model, which an insert sets: remove it from the struct");
        quote_spanned!(at(field.ident.span())=> const _: () = ::core::assert!(!__m::is_maintained::<#of>(#name), #message);)
    });
    let complete = quote_spanned!(at(ident.span())=> const _: () =
        if let ::core::option::Option::Some(__missing) = __m::missing::<#of>(&[#(#names),*]) {
            ::core::panic!("{}", __missing)
        };);
    let values = fields.iter().map(|field| {
        let (ident, ty, path) = (&field.ident, &field.ty, path(field));
        quote_spanned!(at(ty.span())=> __m::Inserting::field::<#ty, _>(__document, &#path, &self.#ident))
    });
    wrapped(
        krate,
        &quote! {
            #(#checks)*
            #complete
            impl __m::Insert<#of> for &#ident {
                fn into_model(self) -> __m::ModelResult<#of> {
                    let __of = __m::stored::<#of>(&<__m::RawPath as ::core::default::Default>::default());
                    let __document = __m::Inserting::<#of>::new();
                    #(let __document = #values;)*
                    __m::Inserting::finish(__document)
                }
            }
            impl __m::Insert<#of> for #ident {
                fn into_model(self) -> __m::ModelResult<#of> {
                    __m::Insert::<#of>::into_model(&self)
                }
            }
        },
    )
}

/// The path of a field, from the accessors of the model.
fn path(field: &InputField) -> TokenStream {
    field.path.iter().fold(quote!(__of), |path, segment| {
        let mut method = segment.clone();
        method.set_span(at(segment.span()));
        quote_spanned!(at(segment.span())=> __m::Inner::inner(&#path).#method())
    })
}

/// The items in a block of their own.
fn wrapped(krate: &syn::Path, items: &TokenStream) -> TokenStream {
    let allowed = allowed();
    quote! {
        #[doc(hidden)]
        #allowed
        const _: () = {
            use #krate::__private_v1 as __m;
            #items
        };
    }
}
