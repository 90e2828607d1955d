//! The parameters of a model.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Ident, Type};

/// The parameters of a type, and what `where` states about them.
pub(crate) struct Generics {
    all: syn::Generics,
    /// The parameters in the types of stored fields, which have typed paths. Others are of any type.
    stored: Vec<Ident>,
}

impl Generics {
    /// `types`: those of the stored fields.
    pub(super) fn new<'a>(all: &syn::Generics, types: impl IntoIterator<Item = &'a Type>) -> Self {
        let types: Vec<&Type> = types.into_iter().collect();
        let params = all.type_params().map(|param| &param.ident);
        let is_stored = |name: &&Ident| types.iter().any(|ty| contains(ty.to_token_stream(), &[name]));
        Generics {
            stored: params.filter(is_stored).cloned().collect(),
            all: all.clone(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.params.is_empty()
    }

    /// The names, for the use of the type: `T, N`.
    pub(crate) fn names(&self) -> TokenStream {
        let names = names(&self.all);
        quote!(#(#names),*)
    }

    /// The parameters with their own bounds only.
    pub(crate) fn declared(&self) -> TokenStream {
        self.all.params.to_token_stream()
    }

    /// The parameters of an `impl`. Those in stored fields are types of fields.
    pub(crate) fn params(&self) -> TokenStream {
        let params = self.all.params.iter().map(|param| match param {
            GenericParam::Type(param) if self.stored.contains(&param.ident) => {
                let (name, bounds) = (&param.ident, param.bounds.iter());
                quote!(#name: __m::Parameter #(+ #bounds)*)
            }
            _ => param.to_token_stream(),
        });
        quote!(#(#params),*)
    }

    pub(crate) fn clause(&self) -> Option<&syn::WhereClause> {
        self.all.where_clause.as_ref()
    }

    /// The own conditions, and further ones.
    pub(crate) fn clause_with(&self, more: &TokenStream) -> TokenStream {
        let predicates = self.clause().into_iter().flat_map(|clause| &clause.predicates);
        quote!(where #(#predicates,)* #more)
    }

    /// The conditions under which values of the type are written and read: those of its fields' types, which the compiler checks
    /// where the type is used.
    pub(crate) fn stored_clause(&self) -> Option<TokenStream> {
        let bounds = quote!(Self: __m::codec::Encode + __m::codec::DecodeOwned);
        (!self.is_empty()).then(|| self.clause_with(&bounds))
    }

    /// The conditions under which the type is a model with this id.
    pub(crate) fn model_clause(&self, id: Option<&Type>) -> Option<TokenStream> {
        let id = id.filter(|ty| self.are_in(ty)).into_iter();
        let bounds = quote! {
            Self: __m::codec::Encode + __m::codec::DecodeOwned + ::core::marker::Send + ::core::marker::Sync + 'static,
            #(#id: ::core::marker::Send + ::core::marker::Sync,)*
        };
        (!self.is_empty()).then(|| self.clause_with(&bounds))
    }

    /// The type with its parameters.
    pub(crate) fn of(&self, ident: &Ident) -> TokenStream {
        let (_, arguments, _) = self.all.split_for_impl();
        quote!(#ident #arguments)
    }

    /// Whether the tokens contain a parameter.
    pub(crate) fn are_in(&self, tokens: &impl ToTokens) -> bool {
        are_in(&self.all, tokens)
    }

    /// Whether a type is a parameter, an associated type of one, or a `Box` or a reference of these: traits of another crate
    /// cannot be implemented for it.
    pub(crate) fn is_uncovered(&self, ty: &Type) -> bool {
        match ty {
            Type::Group(group) => self.is_uncovered(&group.elem),
            Type::Paren(paren) => self.is_uncovered(&paren.elem),
            Type::Reference(reference) => self.is_uncovered(&reference.elem),
            Type::Path(path) => match (&path.qself, path.path.segments.last()) {
                (Some(own), _) => self.are_in(&own.ty),
                (None, Some(last)) if last.ident == "Box" => self.are_in(&last.arguments),
                (None, _) => path
                    .path
                    .segments
                    .first()
                    .is_some_and(|first| self.are_in(&first.ident)),
            },
            _ => false,
        }
    }
}

/// Whether the tokens contain a parameter of the type.
pub(crate) fn are_in(generics: &syn::Generics, tokens: &impl ToTokens) -> bool {
    let names = names(generics);
    !names.is_empty() && contains(tokens.to_token_stream(), &names)
}

fn names(generics: &syn::Generics) -> Vec<&Ident> {
    let names = generics.params.iter().filter_map(|param| match param {
        GenericParam::Type(param) => Some(&param.ident),
        GenericParam::Const(param) => Some(&param.ident),
        GenericParam::Lifetime(_) => None,
    });
    names.collect()
}

fn contains(tokens: TokenStream, names: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => contains(group.stream(), names),
        TokenTree::Ident(ident) => names.contains(&&ident),
        _ => false,
    })
}
