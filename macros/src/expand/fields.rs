//! The accessors of a struct's fields.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned;

use crate::{
    code::at,
    expand::{encrypted, json_schema, managed},
    model::{Accessor, AccessorKind, Model, ModelKind, Root, names},
    plain,
};

/// The type of a struct's accessors, and its traits.
pub(super) fn structure(model: &Model, accessors: &[Accessor]) -> TokenStream {
    let Model {
        ident,
        fields_ident,
        generics,
        ..
    } = model;
    let (params, names, clause) = (generics.params(), generics.names(), generics.clause());
    let ty = generics.of(ident);
    let methods = methods(accessors, &maintained(model.root.as_ref()));
    let table = table(
        accessors,
        model.root.as_ref().and_then(|root| root.managed.kind.as_ref()),
    );
    // A result can contain an array of documents with encrypted fields: that of a lookup.
    let stored = accessors.iter().filter(|_| !model.is_result);
    let is_generic = |a: &Accessor| {
        generics.are_in(&a.ty) || matches!(&a.kind, AccessorKind::As(stored) if generics.are_in(stored))
    };
    let encrypted = encrypted::checks(stored.filter(|a| !is_generic(a)));
    let encrypts = encrypted::constant(accessors);
    let traits = field_traits(model, &quote!(#encrypts #table));
    let type_ = accessors_type(model, fields_ident);
    quote! {
        #type_
        #encrypted
        impl<__R, __M: __m::Mode, #params> #fields_ident<__R, __M, #names> #clause {
            #methods
        }
        #traits
        impl<#params> __m::DerivedDocument for #ty #clause {}
        impl<#params> __m::EncryptedValue for #ty #clause {
            const BSON_TYPE: &'static str = "object";
        }
    }
}

/// The table of a struct's fields.
fn table(accessors: &[Accessor], kind: Option<&ModelKind>) -> TokenStream {
    let read = accessors.iter().filter(|a| a.read).map(|a| &a.name);
    let read = read.chain(kind.map(|kind| &kind.field));
    let schemas = json_schema::entries(accessors).chain(kind.map(json_schema::kind));
    let has_documents = accessors.iter().any(|a| match &a.kind {
        AccessorKind::As(stored) => !plain::is_plain(stored),
        AccessorKind::Typed | AccessorKind::Flat => !plain::is_plain(&a.ty),
        AccessorKind::Opaque => false,
    });
    quote! {
        const FIELDS: &'static __m::FieldTable = &__m::FieldTable {
            is_present: true,
            read: &[#(#read),*],
            schemas: &[#(#schemas),*],
            has_documents: #has_documents,
        };
    }
}

/// The type with the accessors as methods: a struct around a path.
pub(super) fn accessors_type(model: &Model, fields_ident: &syn::Ident) -> TokenStream {
    let (owner, vis) = (model.generics.of(&model.ident), &model.vis);
    let generics = &model.generics;
    let (names, declared, clause) = (generics.names(), generics.declared(), generics.clause());
    quote! {
        #vis struct #fields_ident<__R, __M, #declared> #clause {
            path: __m::Path<__R, #owner, __M>,
        }
        impl<__R, __M, #declared> ::core::clone::Clone for #fields_ident<__R, __M, #names> #clause {
            fn clone(&self) -> Self {
                #fields_ident { path: ::core::clone::Clone::clone(&self.path) }
            }
        }
        impl<__R, __M, #declared> __m::Inner for #fields_ident<__R, __M, #names> #clause {
            type Accessors = Self;
            fn inner(&self) -> &Self {
                self
            }
        }
    }
}

/// The traits of a type that has accessors of its own.
pub(super) fn field_traits(model: &Model, items: &TokenStream) -> TokenStream {
    let Model {
        ident,
        fields_ident,
        generics,
        ..
    } = model;
    let (params, names, clause) = (generics.params(), generics.names(), generics.clause());
    let ty = generics.of(ident);
    let schema_version = managed::schema_version(model.root.as_ref());
    quote! {
        impl<__R, __M: __m::Mode, #params> __m::AsPath for #fields_ident<__R, __M, #names> #clause {
            type Root = __R;
            type Value = #ty;
            type Mode = __M;
            fn raw(&self) -> &__m::RawPath {
                __m::AsPath::raw(&self.path)
            }
        }
        impl<#params> __m::Field for #ty #clause {
            type Nav<__R, __M: __m::Mode> = #fields_ident<__R, __M, #names>;
            fn nav<__R, __M: __m::Mode>(path: __m::Path<__R, Self, __M>) -> Self::Nav<__R, __M> {
                #fields_ident { path }
            }
            #items
            #schema_version
        }
    }
}

/// The names of the fields that are in the document, but not in the struct.
fn maintained(root: Option<&Root>) -> Vec<&str> {
    root.iter()
        .flat_map(|root| root.managed.fields_beside())
        .collect()
}

/// The methods of the fields of a struct or of a variant. Its document has further fields of the
/// names `others`.
pub(super) fn methods(accessors: &[Accessor], others: &[&str]) -> TokenStream {
    let of = |a: &Accessor| accessor(a, &beside(accessors, &a.ident, others));
    accessors.iter().map(of).collect()
}

/// The lists of the names of the fields beside a flattened one: those of the struct, and those of its
/// other flattened fields.
fn beside(accessors: &[Accessor], field: &Ident, others: &[&str]) -> TokenStream {
    let names = names(accessors).chain(others.iter().copied());
    let flat = accessors.iter().filter(|a| a.is_flat() && a.ident != *field);
    let types = flat.map(|a| &a.ty);
    quote!(&[&[#(#names),*], #(<#types as __m::Field>::FIELDS.read),*])
}

/// The method of one field. The fields of a flattened value are beside those with the names in `beside`.
fn accessor(accessor: &Accessor, beside: &TokenStream) -> TokenStream {
    let Accessor {
        ident,
        docs,
        name,
        ty,
        kind,
        ..
    } = accessor;
    let doc = match kind {
        AccessorKind::Flat => {
            format!("The fields of `{ident}`, which are fields of the outer document.")
        }
        _ => format!("The field stored as `{name}`."),
    };
    let step = if accessor.skips_none {
        quote!(__m::Path::step_without_null(&self.path, #name))
    } else {
        quote!(__m::Path::step(&self.path, #name))
    };
    let mode = quote!(__M);
    let (output, body) = match kind {
        _ if let Some(encryption) = &accessor.encryption => encrypted::path(accessor, encryption, &step),
        AccessorKind::Typed => typed(ty, &step, &mode),
        AccessorKind::As(stored) => typed(stored, &step, &mode),
        AccessorKind::Flat => typed(ty, &quote!(__m::Path::flat(&self.path, const { #beside })), &mode),
        AccessorKind::Opaque if accessor.by_function => (
            quote!(__m::Path<__R, __m::Opaque<__m::ByFunction<#ty>>, __M>),
            step,
        ),
        AccessorKind::Opaque => (quote!(__m::Path<__R, __m::Opaque<#ty>, __M>), step),
    };
    let docs = documented(docs, &doc);
    quote_spanned! {at(ident.span())=>
        #docs
        #[inline]
        pub fn #ident(&self) -> #output {
            #body
        }
    }
}

/// The documentation of an item: that of its source, and a paragraph of its own.
pub(super) fn documented(source: &[syn::Attribute], own: &str) -> TokenStream {
    let blank = (!source.is_empty()).then(|| quote!(#[doc = ""]));
    quote!(#(#source)* #blank #[doc = #own])
}

/// Type and expression of the accessors of a type at a path, with the span of the type.
pub(super) fn typed(ty: &syn::Type, path: &TokenStream, mode: &TokenStream) -> (TokenStream, TokenStream) {
    let output = quote_spanned!(at(ty.span())=> <#ty as __m::Field>::Nav<__R, #mode>);
    (
        output,
        quote_spanned!(at(ty.span())=> <#ty as __m::Field>::nav(#path)),
    )
}

#[cfg(test)]
mod tests {
    use crate::diagnostics::Sink;

    /// The doc comments of the methods in the generated code, by the name of the method.
    fn docs_of(input: &syn::DeriveInput, root: bool, method: &str) -> Vec<String> {
        let sink = Sink::new();
        let parsed = crate::parse::parse(input, root, &sink);
        let model = crate::model::resolve(&parsed, &sink);
        assert!(sink.finish().is_empty());
        let code = crate::expand::expand(&model, &crate::codec::IdCodec::of(&parsed)).to_string();
        let before = code
            .split(&format!("pub fn {method} ("))
            .next()
            .unwrap_or_default();
        let item = before.rsplit('}').next().unwrap_or_default();
        let docs = item.split("doc = ").skip(1);
        docs.filter_map(|d| d.split('"').nth(1))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn accessors_have_the_documentation_of_their_fields() {
        let input = syn::parse_quote! {
            #[document(collection = "orders")]
            struct Order {
                _id: i64,
                /// The price in cents.
                #[serde(rename = "t")]
                total: i64,
            }
        };
        let expected = [" The price in cents.", "", "The field stored as `t`."];
        assert_eq!(docs_of(&input, true, "total"), expected);
        assert_eq!(docs_of(&input, true, "_id"), ["The field stored as `_id`."]);
    }

    #[test]
    fn accessors_have_the_documentation_of_their_variants() {
        let input = syn::parse_quote! {
            #[serde(tag = "kind")]
            enum Payment {
                /// Paid by card.
                Card {
                    /// The last digits.
                    last4: String,
                },
            }
        };
        assert_eq!(docs_of(&input, false, "card")[0], " Paid by card.");
        assert_eq!(docs_of(&input, false, "last4")[0], " The last digits.");
    }
}
