//! Search indexes, generated as calls on the typed paths of the model.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;

use crate::{
    code::at,
    expand::index::{accessors, bson},
    parse::search::{MappedField, SearchAttribute},
};

/// The method of `Model`. Nothing without search indexes.
pub(super) fn declarations(indexes: &[(String, SearchAttribute)]) -> TokenStream {
    if indexes.is_empty() {
        return TokenStream::new();
    }
    let indexes = indexes
        .iter()
        .map(|(name, attribute)| declaration(name, attribute));
    quote! {
        fn search_indexes() -> ::std::vec::Vec<__m::SearchIndexDeclaration> {
            let __fields = <Self as __m::Field>::nav(__m::Path::<Self, Self, __m::Read>::root());
            ::std::vec![#(::core::convert::Into::into(#indexes)),*]
        }
    }
}

fn declaration(name: &str, attribute: &SearchAttribute) -> TokenStream {
    let fields = attribute.fields.iter().map(|field| {
        if attribute.is_vector {
            vector_field(field)
        } else {
            search_field(field)
        }
    });
    if attribute.is_vector {
        return quote!(__m::VectorSearchIndex::new(#name) #(#fields)*);
    }
    let dynamic = attribute.dynamic.then(|| quote!(.dynamic()));
    let analyzer = attribute.analyzer.iter().map(|name| quote!(.analyzer(#name)));
    let search_analyzer = attribute
        .search_analyzer
        .iter()
        .map(|name| quote!(.search_analyzer(#name)));
    quote!(__m::SearchIndex::new(#name) #dynamic #(#analyzer)* #(#search_analyzer)* #(#fields)*)
}

fn search_field(field: &MappedField) -> TokenStream {
    let path = accessors(&field.path);
    let method = Ident::new(&field.kind, at(field.span));
    let dynamic = field.dynamic;
    match field.kind.as_str() {
        "document" | "embedded_documents" => quote!(.#method(#path, #dynamic)),
        _ => {
            let options = field.options.iter().map(|(name, value)| {
                let value = bson(value);
                quote!(.option(#name, #value))
            });
            quote!(.field(#path, __m::SearchMapping::#method() #(#options)*))
        }
    }
}

fn vector_field(field: &MappedField) -> TokenStream {
    let path = accessors(&field.path);
    if field.kind == "filter" {
        return quote!(.filter(#path));
    }
    let (Some(dimensions), Some(similarity)) = (&field.dimensions, &field.similarity) else {
        // Reported already.
        return TokenStream::new();
    };
    let quantization = match &field.quantization {
        Some(variant) => quote!(::core::option::Option::Some(__m::Quantization::#variant)),
        None => quote!(::core::option::Option::None),
    };
    let dimensions = match dimensions.base10_parse::<u32>() {
        Ok(number) => quote!(#number),
        Err(_) => quote!(1_u32),
    };
    quote_spanned! {at(field.span)=>
        .vector(#path, #dimensions, __m::Similarity::#similarity, #quantization)
    }
}
