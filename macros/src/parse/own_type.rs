//! `Self` in the types of fields.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Field};

/// Replaces `Self` by the type in the types of its fields, because generated code uses them outside of its implementations.
pub(crate) fn replace(input: &mut DeriveInput) {
    let ident = &input.ident;
    let (_, arguments, _) = input.generics.split_for_impl();
    let own = quote!(#ident #arguments);
    match &mut input.data {
        Data::Struct(data) => data.fields.iter_mut().for_each(|field| replace_in(field, &own)),
        Data::Enum(data) => {
            let fields = data.variants.iter_mut().flat_map(|v| v.fields.iter_mut());
            fields.for_each(|field| replace_in(field, &own));
        }
        Data::Union(_) => {}
    }
}

fn replace_in(field: &mut Field, own: &TokenStream) {
    let written = field.ty.to_token_stream();
    if contains(written.clone()) {
        // Left as it is if the type does not parse: `Self::Item` names a type of a trait.
        if let Ok(ty) = syn::parse2(replaced(written, own)) {
            field.ty = ty;
        }
    }
}

fn contains(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => contains(group.stream()),
        _ => false,
    })
}

fn replaced(tokens: TokenStream, own: &TokenStream) -> TokenStream {
    let tokens = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(ident) if ident == "Self" => own.clone(),
        TokenTree::Group(group) => {
            let inner = replaced(group.stream(), own);
            let mut whole = proc_macro2::Group::new(group.delimiter(), inner);
            whole.set_span(group.span());
            TokenTree::Group(whole).into()
        }
        other => other.into(),
    });
    tokens.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_type_is_named() {
        let mut input: DeriveInput = syn::parse_quote! {
            struct Node<T> { value: T, next: Option<Box<Self>>, pair: (Self, i32), other: String }
        };
        replace(&mut input);
        let expected: DeriveInput = syn::parse_quote! {
            struct Node<T> { value: T, next: Option<Box<Node<T>>>, pair: (Node<T>, i32), other: String }
        };
        assert_eq!(input, expected);
    }
}
