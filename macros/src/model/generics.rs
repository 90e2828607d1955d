//! The type parameters of a model.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Ident, TypeParamBound, punctuated::Punctuated, token::Plus};

/// The type parameters of a struct, and what `where` states about them.
pub(crate) struct Generics {
    params: Vec<(Ident, Punctuated<TypeParamBound, Plus>)>,
    clause: Option<syn::WhereClause>,
}

impl Generics {
    pub(super) fn new(generics: &syn::Generics) -> Self {
        let params = generics.params.iter().filter_map(|param| match param {
            GenericParam::Type(param) => Some((param.ident.clone(), param.bounds.clone())),
            _ => None,
        });
        Generics {
            params: params.collect(),
            clause: generics.where_clause.clone(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The names, for the use of the type: `T, U`.
    pub(crate) fn names(&self) -> TokenStream {
        let names = self.params.iter().map(|(name, _)| name);
        quote!(#(#names),*)
    }

    /// The parameters with their own bounds only.
    pub(crate) fn declared(&self) -> TokenStream {
        let params = self.params.iter().map(|(name, bounds)| quote!(#name: #bounds));
        quote!(#(#params),*)
    }

    /// The parameters of an `impl`, which are types of fields.
    pub(crate) fn params(&self) -> TokenStream {
        let params = self.params.iter().map(|(name, bounds)| {
            let bounds = bounds.iter();
            quote!(#name: __m::Parameter #(+ #bounds)*)
        });
        quote!(#(#params),*)
    }

    pub(crate) fn clause(&self) -> Option<&syn::WhereClause> {
        self.clause.as_ref()
    }

    /// The type with its parameters.
    pub(crate) fn of(&self, ident: &Ident) -> TokenStream {
        if self.is_empty() {
            return ident.to_token_stream();
        }
        let names = self.names();
        quote!(#ident<#names>)
    }

    /// Whether the tokens contain a parameter.
    pub(crate) fn are_in(&self, tokens: &impl ToTokens) -> bool {
        !self.is_empty() && self.are_in_stream(tokens.to_token_stream())
    }

    fn are_in_stream(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => self.are_in_stream(group.stream()),
            TokenTree::Ident(ident) => self.params.iter().any(|(name, _)| ident == *name),
            _ => false,
        })
    }
}
