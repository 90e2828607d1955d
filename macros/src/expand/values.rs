//! Types that are stored as one value: newtypes, enums of unit variants, types with a conversion.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Type};

use crate::{
    code::at,
    expand::json_schema,
    model::{Model, Newtype, Unstored},
};

/// A newtype has the accessors, the operators and the values of its content.
pub(super) fn newtype(model: &Model, newtype: &Newtype) -> TokenStream {
    let Model { ident, generics, .. } = model;
    let (params, clause, ty) = (generics.params(), generics.clause(), generics.of(ident));
    let inner = &newtype.ty;
    let inner_is = |bound: &TokenStream| generics.clause_with(&quote!(for<'__a> #inner: #bound));
    let markers = [
        "Embedded",
        "Ordered",
        "Numeric",
        "Integer",
        "Text",
        "Date",
        "Geo",
        "KeysetKey",
        "TtlKey",
        "TextKey",
        "HashedKey",
        "IndexKey",
        "EqualityValue",
        "StringValue",
    ];
    // With the higher-ranked bound, a bound that is not satisfied is not an error.
    let forwarded = markers.iter().map(|marker| {
        let marker = Ident::new(marker, ident.span());
        let clause = inner_is(&quote!(__m::#marker));
        let nullable = (marker == "KeysetKey")
            .then(|| quote!(const IS_NULLABLE: bool = <#inner as __m::KeysetKey>::IS_NULLABLE;));
        quote!(impl<#params> __m::#marker for #ty #clause { #nullable })
    });
    let nav = quote_spanned!(at(inner.span())=> <#inner as __m::Field>::Nav<__R, __M>);
    let schema = json_schema::newtype(newtype);
    let (values, ids) = (inner_values(model, inner), inner_ids(model, newtype));
    let searched = inner_is(&quote!(__m::SearchField<__K>));
    let (encrypted, range) = (
        inner_is(&quote!(__m::EncryptedValue)),
        inner_is(&quote!(__m::RangeValue)),
    );
    let key_clause = generics.clause_with(&quote!(for<'__a> &'__a #ty: __m::IntoValue<#ty>));
    let predicates = clause.iter().flat_map(|clause| &clause.predicates);
    quote! {
        impl<#params> __m::Field for #ty #clause {
            type Nav<__R, __M: __m::Mode> = __m::Wrapped<#ty, #nav, __M>;
            fn nav<__R, __M: __m::Mode>(path: __m::Path<__R, Self, __M>) -> Self::Nav<__R, __M> {
                __m::Wrapped::new(<#inner as __m::Field>::nav(__m::Path::retype(&path)))
            }
            #schema
        }
        #(#forwarded)*
        impl<#params> __m::ListItem for #ty #clause {}
        impl<__K, #params> __m::SearchField<__K> for #ty #searched {
            const LENGTH: ::core::option::Option<usize> = <#inner as __m::SearchField<__K>>::LENGTH;
        }
        impl<#params> __m::EncryptedValue for #ty #encrypted {
            const BSON_TYPE: &'static str = <#inner as __m::EncryptedValue>::BSON_TYPE;
        }
        impl<#params> __m::RangeValue for #ty #range {
            const HAS_FRACTION: bool = <#inner as __m::RangeValue>::HAS_FRACTION;
        }
        #values
        #ids
        __m::compared_with_references! { [#params] [#(#predicates),*] #ty }
        impl<__D: __m::Model<Id: __m::IdOf<#ty>>, #params> __m::KeyOf<__D> for #ty #key_clause {
            fn into_key(self) -> ::core::result::Result<::core::option::Option<__m::Bson>, __m::ValueError> {
                __m::KeyOf::<__D>::into_key(&self)
            }
        }
        impl<__D: __m::Model<Id: __m::IdOf<#ty>>, #params> __m::KeyOf<__D> for &#ty #key_clause {
            fn into_key(self) -> ::core::result::Result<::core::option::Option<__m::Bson>, __m::ValueError> {
                __m::IntoValue::<#ty>::into_value(self).map(::core::option::Option::Some)
            }
        }
    }
}

/// Values of the content's type as values of the newtype, and text for a `String`.
fn inner_values(model: &Model, inner: &Type) -> TokenStream {
    let generics = &model.generics;
    if generics.is_uncovered(inner) {
        return TokenStream::new();
    }
    let (params, ty) = (generics.params(), generics.of(&model.ident));
    let is_string =
        matches!(inner, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "String"));
    let of = |value: &TokenStream| {
        // With a parameter, a bound that is not satisfied is not an error.
        let clause = generics.clause_with(&quote!(for<'__b> #value: __m::IntoValue<#inner>));
        quote! {
            impl<'__a, #params> __m::IntoValue<#ty> for #value #clause {
                fn into_value(self) -> ::core::result::Result<__m::Bson, __m::ValueError> {
                    __m::IntoValue::<#inner>::into_value(self)
                }
            }
        }
    };
    let values = [
        Some(quote!(#inner)),
        Some(quote!(&'__a #inner)),
        is_string.then(|| quote!(&'__a str)),
    ];
    values.iter().flatten().map(of).collect()
}

/// The sources of ids of the content's type generate newtypes of it.
fn inner_ids(model: &Model, newtype: &Newtype) -> TokenStream {
    let Newtype {
        ty: inner,
        member: Some(member),
        others,
        ..
    } = newtype
    else {
        return TokenStream::new();
    };
    let (ident, generics) = (&model.ident, &model.generics);
    let (params, ty) = (generics.params(), generics.of(ident));
    let defaults = others.iter().filter(|other| other.default.is_none());
    let defaults: Vec<&Type> = defaults.map(|other| &other.ty).collect();
    let others = others
        .iter()
        .map(|Unstored { member, default, .. }| match default {
            Some(function) => quote!(#member: #function()),
            None => quote!(#member: ::core::default::Default::default()),
        });
    let others: Vec<TokenStream> = others.collect();
    let sources = ["Auto", "ObjectIds", "UuidV7", "UuidV4"];
    let sources = sources.iter().map(|source| {
        let source = Ident::new(source, ident.span());
        let clause = generics.clause_with(&quote! {
            for<'__a> __m::#source: __m::IdSource<#inner>,
            #(for<'__a> #defaults: ::core::default::Default,)*
        });
        quote! {
            impl<#params> __m::IdSource<#ty> for __m::#source #clause {
                fn new_id() -> #ty {
                    #ident { #member: <Self as __m::IdSource<#inner>>::new_id(), #(#others,)* }
                }
            }
        }
    });
    sources.collect()
}

/// A type without accessors. `items`: further methods of `Field`.
pub(super) fn plain(model: &Model, items: &TokenStream) -> TokenStream {
    let Model { ident, generics, .. } = model;
    let (params, clause, ty) = (generics.params(), generics.clause(), generics.of(ident));
    quote! {
        impl<#params> __m::Field for #ty #clause {
            type Nav<__R, __M: __m::Mode> = __m::Path<__R, #ty, __M>;
            fn nav<__R, __M: __m::Mode>(path: __m::Path<__R, Self, __M>) -> Self::Nav<__R, __M> {
                path
            }
            #items
        }
        impl<#params> __m::IndexKey for #ty #clause {}
        impl<#params> __m::HashedKey for #ty #clause {}
        impl<#params> __m::ListItem for #ty #clause {}
    }
}

/// A type that is stored as what its `Serialize` writes. Its paths have the operators and the values of an opaque field.
/// `items`: further methods of `Field`.
pub(super) fn by_serde(model: &Model, items: &TokenStream) -> TokenStream {
    let Model { ident, generics, .. } = model;
    let (params, clause, ty) = (generics.params(), generics.clause(), generics.of(ident));
    quote! {
        impl<#params> __m::Field for #ty #clause {
            type Nav<__R, __M: __m::Mode> = __m::Path<__R, __m::Opaque<#ty>, __M>;
            fn nav<__R, __M: __m::Mode>(path: __m::Path<__R, Self, __M>) -> Self::Nav<__R, __M> {
                __m::Path::retype(&path)
            }
            #items
        }
        impl<#params> __m::ListItem for #ty #clause {}
        impl<__K, #params> __m::SearchField<__K> for #ty #clause {}
    }
}

/// A value of the type as an expression.
pub(super) fn operand(model: &Model) -> TokenStream {
    let (params, clause) = (model.generics.params(), model.generics.stored_clause());
    let ty = model.generics.of(&model.ident);
    quote! {
        impl<__R, #params> __m::Operand<__R> for #ty #clause {
            type Value = #ty;
            fn into_operand(self) -> __m::Expr<__R, #ty> {
                __m::lit(self)
            }
        }
    }
}

/// Values of the type in filters and updates.
pub(super) fn into_value(model: &Model) -> TokenStream {
    let ident = &model.ident;
    let (params, clause) = (model.generics.params(), model.generics.stored_clause());
    let ty = model.generics.of(ident);
    quote_spanned!(at(ident.span())=> impl<#params> __m::DerivedValue for #ty #clause {})
}
