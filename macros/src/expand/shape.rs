//! `Shape`: the structs that stages take in order to create a struct.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{GenericArgument, PathArguments, Type};

use crate::{
    code::allowed,
    diagnostics::Sink,
    expand::fields::documented,
    model::{Accessor, AccessorKind, Body, Model},
};

pub(crate) fn shape(model: &Model, sink: &Sink) -> TokenStream {
    if !model.usable {
        return TokenStream::new();
    }
    let ident = &model.ident;
    let Body::Struct(accessors) = &model.body else {
        sink.on(ident, "`Shape` is for structs with named fields");
        return TokenStream::new();
    };
    let (flat, fields): (Vec<&Accessor>, Vec<&Accessor>) = accessors.iter().partition(|a| a.is_flat());
    if let [_, second, ..] = flat[..] {
        sink.on(&second.ident, "a shape can flatten one field");
    }
    let parts = match flat[..] {
        [] => vec![
            expr(model, &fields),
            group(model, &fields),
            facets(model, &fields),
        ],
        [flat, ..] => vec![
            added(model, flat, &fields),
            joins(model, flat, &fields),
            joined(model, flat, &fields),
        ],
    };
    let (structs, impls): (Vec<TokenStream>, Vec<TokenStream>) = parts.into_iter().flatten().unzip();
    let (krate, allowed) = (&model.krate, allowed());
    quote! {
        #(#structs)*
        #[doc(hidden)]
        #allowed
        const _: () = {
            use #krate::__private_v1 as __m;
            impl __m::Shape for #ident {}
            #(#impls)*
        };
    }
}

/// A struct beside the user's, and the code in the block of implementations.
type Part = Option<(TokenStream, TokenStream)>;

/// The type of a field in the form in which it is stored.
fn stored(model: &Model, accessor: &Accessor) -> TokenStream {
    let (krate, ty) = (&model.krate, &accessor.ty);
    match &accessor.kind {
        AccessorKind::As(stored) => quote!(#stored),
        AccessorKind::Opaque => quote!(#krate::__private_v1::Opaque<#ty>),
        AccessorKind::Typed | AccessorKind::Flat => quote!(#ty),
    }
}

/// The type parameter of a generated struct, with a name that no type of a field contains.
fn root(fields: &[&Accessor]) -> syn::Ident {
    let contains = |ty: &Type| {
        let text = quote!(#ty).to_string();
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "R")
    };
    let is_used = fields.iter().any(|a| {
        let stored = matches!(&a.kind, AccessorKind::As(ty) if contains(ty));
        stored || contains(&a.ty)
    });
    format_ident!("{}", if is_used { "__R" } else { "R" })
}

/// A struct beside the user's, with its visibility.
fn declaration(
    model: &Model,
    suffix: &str,
    what: &str,
    fields: &[&Accessor],
    types: &[TokenStream],
) -> (syn::Ident, TokenStream) {
    let (ident, vis) = (&model.ident, &model.vis);
    let name = format_ident!("{}{}", ident, suffix, span = ident.span());
    let doc = format!("The fields of [`{ident}`] as {what} over documents of type `R`.");
    let idents = fields.iter().map(|a| &a.ident);
    let docs = fields
        .iter()
        .map(|a| documented(&a.docs, &format!("The field stored as `{}`.", a.name)));
    let allowed = allowed();
    let root = root(fields);
    let code = quote! {
        #[doc = #doc]
        #allowed
        #vis struct #name<#root> {
            #( #docs #vis #idents: #types, )*
        }
    };
    (name, code)
}

/// A struct whose fields are of one generic type, `of`, with the type of the documents and that of the field.
fn of_values(
    model: &Model,
    suffix: &str,
    what: &str,
    fields: &[&Accessor],
    of: &TokenStream,
) -> (syn::Ident, TokenStream) {
    let (root, krate) = (root(fields), &model.krate);
    let types: Vec<_> = fields
        .iter()
        .map(|a| stored(model, a))
        .map(|ty| quote!(#krate::__private_v1::#of<#root, #ty>))
        .collect();
    declaration(model, suffix, what, fields, &types)
}

fn expr(model: &Model, fields: &[&Accessor]) -> Part {
    if fields.is_empty() {
        return None;
    }
    let ident = &model.ident;
    let (name, code) = of_values(model, "Expr", "expressions", fields, &quote!(Expr));
    let (idents, names) = idents_and_names(fields);
    let impls = quote! {
        impl<__R> __m::MakeShape<__R> for #name<__R> {
            type Shape = #ident;
            fn into_fields(self) -> __m::ShapeFields {
                <__m::ShapeFields as ::core::default::Default>::default()#(.expr(#names, self.#idents))*
            }
        }
        impl<__R> __m::Operand<__R> for #name<__R> {
            type Value = #ident;
            fn into_operand(self) -> __m::Expr<__R, #ident> {
                __m::shape_expr(__m::MakeShape::<__R>::into_fields(self))
            }
        }
    };
    Some((code, impls))
}

fn group(model: &Model, fields: &[&Accessor]) -> Part {
    if fields.is_empty() {
        return None;
    }
    let root = root(fields);
    let (ident, krate) = (&model.ident, &model.krate);
    let is_key = |a: &Accessor| a.name == "_id";
    let types: Vec<_> = fields
        .iter()
        .map(|a| {
            let ty = stored(model, a);
            if is_key(a) {
                quote!(#krate::__private_v1::Expr<#root, #ty>)
            } else {
                quote!(#krate::__private_v1::Acc<#root, #ty>)
            }
        })
        .collect();
    let (name, code) = declaration(model, "Group", "accumulators", fields, &types);
    let has_key = fields.iter().any(|a| is_key(a));
    let make = if has_key {
        quote!(MakeGroup)
    } else {
        quote!(MakeTotal)
    };
    // The key is the first field of the stage.
    let mut ordered = fields.to_vec();
    ordered.sort_by_key(|a| !is_key(a));
    let calls = ordered.iter().map(|a| {
        let (ident, name) = (&a.ident, &a.name);
        if is_key(a) {
            quote!(.expr(#name, self.#ident))
        } else {
            quote!(.acc(#name, self.#ident))
        }
    });
    let impls = quote! {
        impl<__R> __m::#make<__R> for #name<__R> {
            type Shape = #ident;
            fn into_fields(self) -> __m::ShapeFields {
                <__m::ShapeFields as ::core::default::Default>::default()#(#calls)*
            }
        }
    };
    Some((code, impls))
}

fn facets(model: &Model, fields: &[&Accessor]) -> Part {
    if fields.is_empty() {
        return None;
    }
    let root = root(fields);
    let (ident, krate) = (&model.ident, &model.krate);
    let types: Vec<_> = fields
        .iter()
        .map(|a| element(a).map(|ty| quote!(#krate::__private_v1::Pipeline<#root, #ty>)))
        .collect::<Option<_>>()?;
    let (name, code) = declaration(model, "Facets", "pipelines", fields, &types);
    let (idents, names) = idents_and_names(fields);
    let impls = quote! {
        impl<__R: __m::Field> __m::MakeFacets<__R> for #name<__R> {
            type Shape = #ident;
            fn into_facets(self) -> ::std::vec::Vec<(&'static str, __m::Stages)> {
                ::std::vec![#((#names, __m::Stages::from(self.#idents))),*]
            }
        }
    };
    Some((code, impls))
}

fn added(model: &Model, flat: &Accessor, fields: &[&Accessor]) -> Part {
    if fields.is_empty() {
        return None;
    }
    let (ident, base) = (&model.ident, &flat.ty);
    let (name, code) = of_values(model, "Added", "expressions", fields, &quote!(Expr));
    let (idents, names) = idents_and_names(fields);
    let impls = quote! {
        impl __m::MakeAdded<#base> for #name<#base> {
            type Shape = #ident;
            fn into_fields(self) -> __m::ShapeFields {
                <__m::ShapeFields as ::core::default::Default>::default()#(.expr(#names, self.#idents))*
            }
        }
    };
    Some((code, impls))
}

fn joins(model: &Model, flat: &Accessor, fields: &[&Accessor]) -> Part {
    if fields.is_empty() {
        return None;
    }
    let (ident, base) = (&model.ident, &flat.ty);
    let (name, code) = of_values(model, "Joins", "joins", fields, &quote!(Join));
    let (idents, names) = idents_and_names(fields);
    let impls = quote! {
        impl __m::MakeJoins<#base> for #name<#base> {
            type Shape = #ident;
            fn into_joins(self) -> __m::JoinFields<#base> {
                <__m::JoinFields<#base> as ::core::default::Default>::default()#(.join(#names, self.#idents))*
            }
        }
    };
    Some((code, impls))
}

fn joined(model: &Model, flat: &Accessor, fields: &[&Accessor]) -> Part {
    let [only] = fields else { return None };
    let foreign = element(only)?;
    let (ident, base, name) = (&model.ident, &flat.ty, &only.name);
    let impls = quote! {
        impl __m::Joined<#base> for #ident {
            type Foreign = #foreign;
            const AS: &'static str = #name;
        }
    };
    Some((TokenStream::new(), impls))
}

fn idents_and_names<'a>(fields: &'a [&Accessor]) -> (Vec<&'a syn::Ident>, Vec<&'a String>) {
    fields.iter().map(|a| (&a.ident, &a.name)).unzip()
}

/// The type of the elements of a `Vec`.
fn element(accessor: &Accessor) -> Option<&Type> {
    let ty = match &accessor.kind {
        AccessorKind::Typed => &accessor.ty,
        AccessorKind::As(ty) => ty,
        AccessorKind::Opaque | AccessorKind::Flat => return None,
    };
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Vec")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}
