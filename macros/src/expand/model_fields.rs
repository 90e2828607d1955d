//! The table of the fields of a model, which the derives of input check.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

use crate::{
    model::{Accessor, Body, Managed, Model, Root},
    parse::is_option,
};

/// The constant within `impl Model`. None for a model that is an enum.
pub(super) fn table(model: &Model, root: &Root) -> Option<TokenStream> {
    let Body::Struct(accessors) = &model.body else {
        return None;
    };
    let entries = accessors.iter().map(|accessor| entry(model, root, accessor));
    Some(quote! {
        const INPUT: &'static [__m::ModelField] = &[#(#entries),*];
    })
}

fn entry(model: &Model, root: &Root, accessor: &Accessor) -> TokenStream {
    let Managed {
        version,
        created_at,
        updated_at,
        soft_delete,
        ..
    } = &root.managed;
    let name = accessor.ident.unraw().to_string();
    let mut maintained = [version, created_at, updated_at, soft_delete]
        .into_iter()
        .flatten();
    let is_id = root.id.as_ref().is_some_and(|id| id.ident == accessor.ident);
    let role = if is_id {
        quote!(Id)
    } else if maintained.any(|column| column.ident == accessor.ident) {
        quote!(Maintained)
    } else {
        quote!(Ordinary)
    };
    // A function reads `None` only if it says so.
    let is_optional = is_option(&accessor.ty) && !accessor.by_function;
    let is_required = accessor.required && !is_optional;
    let model = model.ident.unraw();
    let missing = if is_id {
        format!(
            "the struct has no field for the id `{name}` of `{model}`, and ids of its type are not generated: add the field"
        )
    } else {
        format!("the struct has no field for `{name}`, which `{model}` requires: add the field")
    };
    quote!(__m::ModelField { name: #name, role: __m::FieldRole::#role, is_required: #is_required, missing: #missing })
}
