//! Types that are stored as one value: newtypes, enums of unit variants, types with a conversion.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Type};

use crate::expand::{at, json_schema, parts};
use crate::model::{Model, Newtype};

/// A newtype has the accessors, the operators and the values of its content.
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
        "EqualityValue",
        "StringValue",
    ];
    // With the higher-ranked bound, a bound that is not satisfied is not an error.
    let forwarded = markers.iter().map(|marker| {
        let marker = Ident::new(marker, ident.span());
        quote!(impl __m::#marker for #ident where for<'__a> #inner: __m::#marker {})
    });
    let nav = quote_spanned!(at(inner.span())=> <#inner as __m::Field>::Nav<__R, __M>);
    let parts = parts::newtype(newtype);
    let schema = json_schema::newtype(newtype);
    let (values, ids) = (inner_values(ident, inner), inner_ids(ident, newtype));
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
        impl<__K> __m::SearchField<__K> for #ident where for<'__a> #inner: __m::SearchField<__K> {
            const LENGTH: ::core::option::Option<usize> = <#inner as __m::SearchField<__K>>::LENGTH;
        }
        impl __m::EncryptedValue for #ident where for<'__a> #inner: __m::EncryptedValue {
            const BSON_TYPE: &'static str = <#inner as __m::EncryptedValue>::BSON_TYPE;
        }
        impl __m::RangeValue for #ident where for<'__a> #inner: __m::RangeValue {
            const HAS_FRACTION: bool = <#inner as __m::RangeValue>::HAS_FRACTION;
        }
        #values
        #ids
        __m::compared_with_references! { #ident }
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

/// Values of the content's type as values of the newtype, and text for a `String`.
fn inner_values(ident: &Ident, inner: &Type) -> TokenStream {
    let is_string =
        matches!(inner, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "String"));
    let of = |value: &TokenStream| {
        // With a parameter, a bound that is not satisfied is not an error.
        quote! {
            impl<'__a> __m::IntoValue<#ident> for #value
            where
                for<'__b> #value: __m::IntoValue<#inner>,
            {
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
fn inner_ids(ident: &Ident, newtype: &Newtype) -> TokenStream {
    let Newtype {
        ty: inner,
        member: Some(member),
        is_only: true,
        ..
    } = newtype
    else {
        return TokenStream::new();
    };
    let sources = ["Auto", "ObjectIds", "UuidV7", "UuidV4"];
    let sources = sources.iter().map(|source| {
        let source = Ident::new(source, ident.span());
        quote! {
            impl __m::IdSource<#ident> for __m::#source
            where
                for<'__a> __m::#source: __m::IdSource<#inner>,
            {
                fn new_id() -> #ident {
                    #ident { #member: <Self as __m::IdSource<#inner>>::new_id() }
                }
            }
        }
    });
    sources.collect()
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
pub(super) fn operand(model: &Model) -> TokenStream {
    let (params, clause) = (model.generics.params(), model.generics.clause());
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

/// Values of the type in filters and updates, in the form that serde stores.
pub(super) fn into_value(model: &Model) -> TokenStream {
    let ident = &model.ident;
    let (params, clause) = (model.generics.params(), model.generics.clause());
    let ty = model.generics.of(ident);
    quote_spanned!(at(ident.span())=> impl<#params> __m::DerivedValue for #ty #clause {})
}
