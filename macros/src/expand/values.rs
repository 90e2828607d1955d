//! Types that are stored as one value: newtypes, enums of unit variants, types with a conversion.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned;

use crate::expand::{at, json_schema, parts};
use crate::model::Newtype;

/// A newtype has the accessors and operators of its content, but values only of its own type.
pub(super) fn newtype(ident: &Ident, newtype: &Newtype) -> TokenStream {
    let inner = &newtype.ty;
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
    ];
    // With the higher-ranked bound, a bound that is not satisfied is not an error.
    let forwarded = markers.iter().map(|marker| {
        let marker = Ident::new(marker, ident.span());
        quote!(impl __m::#marker for #ident where for<'__a> #inner: __m::#marker {})
    });
    let nav = quote_spanned!(at(inner.span())=> <#inner as __m::Field>::Nav<__R, __M>);
    let parts = parts::newtype(newtype);
    let schema = json_schema::newtype(newtype);
    quote! {
        impl __m::Field for #ident {
            type Nav<__R, __M: __m::Mode> = __m::Wrapped<#ident, #nav, __M>;
            fn nav<__R, __M: __m::Mode>(path: __m::Path<__R, Self, __M>) -> Self::Nav<__R, __M> {
                __m::Wrapped::new(<#inner as __m::Field>::nav(__m::Path::retype(&path)))
            }
            #parts
            #schema
        }
        #(#forwarded)*
        impl<__D: __m::Model<Id: __m::IdOf<#ident>>> __m::KeyOf<__D> for #ident {
            fn into_key(self) -> ::core::result::Result<::core::option::Option<__m::Bson>, __m::ValueError> {
                __m::KeyOf::<__D>::into_key(&self)
            }
        }
        impl<__D: __m::Model<Id: __m::IdOf<#ident>>> __m::KeyOf<__D> for &#ident {
            fn into_key(self) -> ::core::result::Result<::core::option::Option<__m::Bson>, __m::ValueError> {
                __m::IntoValue::<#ident>::into_value(self).map(::core::option::Option::Some)
            }
        }
    }
}

/// A type without accessors. `items`: further methods of `Field`.
pub(super) fn plain(ident: &Ident, items: &TokenStream) -> TokenStream {
    quote! {
        impl __m::Field for #ident {
            type Nav<__R, __M: __m::Mode> = __m::Path<__R, #ident, __M>;
            fn nav<__R, __M: __m::Mode>(path: __m::Path<__R, Self, __M>) -> Self::Nav<__R, __M> {
                path
            }
            #items
        }
        impl __m::IndexKey for #ident {}
        impl __m::HashedKey for #ident {}
    }
}

/// A value of the type as an expression.
pub(super) fn operand(ident: &Ident) -> TokenStream {
    quote! {
        impl<__R> __m::Operand<__R> for #ident {
            type Value = #ident;
            fn into_operand(self) -> __m::Expr<__R, #ident> {
                __m::lit(self)
            }
        }
    }
}

/// Values of the type in filters and updates, in the form that serde stores.
pub(super) fn into_value(ident: &Ident) -> TokenStream {
    let serialized = quote_spanned!(at(ident.span())=> __m::stored_value(self));
    let output = quote!(::core::result::Result<__m::Bson, __m::ValueError>);
    quote! {
        impl __m::IntoValue<#ident> for &#ident {
            fn into_value(self) -> #output {
                #serialized
            }
        }
        impl __m::IntoValue<#ident> for #ident {
            fn into_value(self) -> #output {
                __m::IntoValue::<#ident>::into_value(&self)
            }
        }
        impl __m::IntoValue<::core::option::Option<#ident>> for &#ident {
            fn into_value(self) -> #output {
                __m::IntoValue::<#ident>::into_value(self)
            }
        }
        impl __m::IntoValue<::core::option::Option<#ident>> for #ident {
            fn into_value(self) -> #output {
                __m::IntoValue::<#ident>::into_value(&self)
            }
        }
    }
}
