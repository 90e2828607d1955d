//! The accessors of an enum's variants.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::{
    code::at,
    expand::{
        fields::{accessors_type, documented, field_traits, methods, typed},
        json_schema,
    },
    model::{Content, Model, Place, Variant},
};

pub(super) fn enumeration(model: &Model, variants: &[Variant]) -> TokenStream {
    let Model {
        fields_ident,
        generics,
        ..
    } = model;
    let (params, names, clause) = (generics.params(), generics.names(), generics.clause());
    let ty = generics.of(&model.ident);
    let type_ = accessors_type(model, fields_ident);
    let traits = field_traits(model, &json_schema::enumeration(variants));
    let types = variants.iter().map(|v| content_type(model, v));
    let root_id = model.root.iter().filter_map(|root| root.id.as_ref());
    let id = root_id.filter_map(|_| id(variants));
    let methods = variants.iter().map(|v| {
        let (content, is) = (content(model, v), is(v));
        quote!(#content #is)
    });
    quote! {
        #type_
        #(#types)*
        impl<__R, __M: __m::Mode, #params> #fields_ident<__R, __M, #names> #clause {
            #(#id)*
            #(#methods)*
        }
        #traits
        impl<#params> __m::DerivedDocument for #ty #clause {}
    }
}

/// The accessor of the id, which all variants of a model have.
fn id(variants: &[Variant]) -> Option<TokenStream> {
    let mut accessors = variants.iter().flat_map(|v| match &v.content {
        Content::Fields { accessors, .. } => &accessors[..],
        _ => &[],
    });
    let id = accessors.find(|a| a.name == "_id")?;
    Some(methods(std::slice::from_ref(id), &[]))
}

/// The type of a variant's own fields.
fn content_type(model: &Model, variant: &Variant) -> TokenStream {
    let Content::Fields { ident, accessors } = &variant.content else {
        return TokenStream::new();
    };
    let type_ = accessors_type(model, ident);
    let tag = match &variant.place {
        Place::Beside { tag_name, .. } => Some(tag_name.as_str()),
        _ => None,
    };
    let methods = methods(accessors, tag.as_slice());
    let generics = &model.generics;
    let (params, names, clause) = (generics.params(), generics.names(), generics.clause());
    quote! {
        #type_
        impl<__R, __M: __m::Mode, #params> #ident<__R, __M, #names> #clause {
            #methods
        }
    }
}

/// The accessor of a variant's content.
fn content(model: &Model, variant: &Variant) -> TokenStream {
    let (owner, names) = (model.generics.of(&model.ident), model.generics.names());
    let path = match (&variant.place, &variant.content) {
        (Place::Keyed { tag }, _) => quote!(__m::Path::keyed(&self.path, #tag)),
        // The content of a newtype variant is in the outer document, which has further fields.
        (Place::Beside { tag_name, tag }, Content::Newtype(_)) => {
            quote!(__m::Path::flat(&__m::Path::implying::<#owner>(&self.path, #tag_name, #tag), &[&[#tag_name]]))
        }
        (Place::Beside { tag_name, tag }, _) => quote!(__m::Path::implying(&self.path, #tag_name, #tag)),
        (
            Place::Within {
                tag_name,
                tag,
                content_name,
            },
            _,
        ) => {
            quote!(__m::Path::step(&__m::Path::implying::<#owner>(&self.path, #tag_name, #tag), #content_name))
        }
        (Place::Untagged, _) => quote!(__m::Path::untagged(&self.path)),
    };
    let method = &variant.accessor;
    let (output, body) = match &variant.content {
        Content::None | Content::Unit => return TokenStream::new(),
        Content::Fields { ident, .. } => (
            quote!(#ident<__R, <__M as __m::Mode>::Variant, #names>),
            quote!(#ident { path: #path }),
        ),
        Content::Newtype(ty) => typed(ty, &path, &quote!(<__M as __m::Mode>::Variant)),
    };
    let docs = documented(
        &variant.docs,
        "The content of this variant. Filters on it match this variant only, and updates change only values of this variant.",
    );
    quote_spanned! {at(method.span())=>
        #docs
        pub fn #method(&self) -> #output {
            #body
        }
    }
}

/// The filter that matches a variant.
fn is(variant: &Variant) -> TokenStream {
    let method = &variant.is;
    let body = match (&variant.place, &variant.content) {
        (Place::Keyed { tag }, Content::Unit) => quote!(__m::variant::named(&self.path, #tag)),
        (Place::Keyed { tag }, _) => quote!(__m::variant::keyed(&self.path, #tag)),
        (Place::Beside { tag_name, tag } | Place::Within { tag_name, tag, .. }, _) => {
            quote!(__m::variant::tagged(&self.path, #tag_name, #tag))
        }
        (Place::Untagged, _) => return TokenStream::new(),
    };
    let docs = documented(&variant.docs, "Whether the value is this variant.");
    quote_spanned! {at(method.span())=>
        #docs
        pub fn #method(&self) -> __m::Filter<__R>
        where
            __M: __m::Readable,
        {
            #body
        }
    }
}
