//! One field: its name, and how its value is written and read.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ExprPath, Member, Type};

use crate::{
    case::Rule,
    code::at,
    codec::Context,
    model::fields::stored_name,
    parse::{self, SerdeField},
    plain::is_plain,
};

pub(super) struct Field<'a> {
    pub(super) member: Member,
    pub(super) ty: &'a Type,
    /// The stored name. That of an item of an array is not used.
    pub(super) name: String,
    source: &'a parse::Field,
    /// Whether the type is known to have typed paths, because the paths of the model contain those of the field.
    has_paths: bool,
}

/// How a value is written, or read.
pub(super) enum Form<'a> {
    /// By the codec of its type.
    Typed,
    /// By the codec of the type that is stored in its place.
    As(&'a Type),
    /// By its `Serialize` or `Deserialize`.
    Serde,
    /// By a function for serde.
    Function(&'a ExprPath),
}

/// The fields of a struct or of a variant. `has_paths`: whether the model has paths of the type or the variant.
pub(super) fn fields(all: &[parse::Field], rule: Rule, has_paths: bool) -> Vec<Field<'_>> {
    let is_array = all.len() != 1 && all.iter().any(|f| f.ident.is_none());
    let fields = all.iter().enumerate().map(|(index, field)| Field {
        member: field.ident.clone().map_or(Member::from(index), Member::Named),
        ty: &field.ty,
        name: stored_name(field, rule).unwrap_or_default(),
        source: field,
        has_paths: has_paths && !is_array && !field.serde.skipped,
    });
    fields.collect()
}

impl<'a> Field<'a> {
    pub(super) fn serde(&self) -> &'a SerdeField {
        &self.source.serde
    }

    /// Whether the fields of the value are fields of the outer document.
    pub(super) fn is_flat(&self) -> bool {
        self.serde().flatten.is_some() || self.source.attributes.flatten.is_some()
    }

    /// Whether a function writes and reads the fields of a flattened value.
    pub(super) fn is_flat_by_function(&self) -> bool {
        let functions = &self.serde().functions;
        self.is_flat() && !functions.is_exact && (functions.write.is_some() || functions.read.is_some())
    }

    pub(super) fn is_phantom(&self) -> bool {
        self.source.is_phantom()
    }

    pub(super) fn is_written(&self) -> bool {
        self.source.is_written()
    }

    pub(super) fn is_read(&self) -> bool {
        !self.serde().unread && !self.is_phantom()
    }

    /// Whether documents have a field of the name, written or read.
    pub(super) fn is_stored(&self) -> bool {
        self.is_written() || self.is_read()
    }

    /// Whether a value that is not read is that of `Default`.
    pub(super) fn needs_default(&self) -> bool {
        let serde = self.serde();
        serde.functions.default.is_none() && (serde.default || serde.unread) && !self.is_phantom()
    }

    pub(super) fn written_form(&self) -> Form<'a> {
        self.form(self.serde().functions.write.as_ref())
    }

    pub(super) fn read_form(&self) -> Form<'a> {
        self.form(self.serde().functions.read.as_ref())
    }

    fn form(&self, function: Option<&'a ExprPath>) -> Form<'a> {
        let attributes = &self.source.attributes;
        let is_typed = attributes.opaque.is_none() && attributes.stored_as.is_none();
        match function {
            _ if is_typed && self.serde().functions.is_exact => Form::Typed,
            Some(function) => Form::Function(function),
            None => match &attributes.stored_as {
                Some(stored) => Form::As(stored),
                None if is_typed => Form::Typed,
                None => Form::Serde,
            },
        }
    }

    /// Writes the name and the value, a reference. An expression of a `Result`.
    pub(super) fn write_named(&self, cx: &Context<'_>, value: &TokenStream) -> TokenStream {
        let (ty, name) = (self.ty, &self.name);
        if let Form::Typed = self.written_form() {
            let codec = self.codec(cx, &quote!(Encode));
            quote_spanned!(at(ty.span())=> #codec::encode_field(#value, #name, __out))
        } else {
            let write = self.write(cx, value);
            quote!(__out.field(#name, |__out| #write))
        }
    }

    /// Writes the value, a reference. An expression of a `Result`.
    pub(super) fn write(&self, cx: &Context<'_>, value: &TokenStream) -> TokenStream {
        let ty = self.ty;
        match self.written_form() {
            Form::Typed => {
                let codec = self.codec(cx, &quote!(Encode));
                quote_spanned!(at(ty.span())=> #codec::encode(#value, __out))
            }
            Form::As(stored) => {
                let codec = self.stated(cx, stored);
                quote_spanned!(at(stored.span())=> #codec::encode(#value, __out))
            }
            Form::Serde => {
                let codec = self.by_serde(cx);
                let check = (!cx.is_generic(ty)).then(|| {
                    quote_spanned!(at(ty.span())=> const _: fn() = __m::codec::assert_written_by_serde::<#ty>;)
                });
                quote_spanned!(at(ty.span())=> { #check #codec::encode(#value, __out) })
            }
            Form::Function(function) => {
                let (declared, names) = (cx.declared(), cx.names());
                let (own, clause) = (cx.own(), cx.own_clause());
                let bounds = cx.write_clause();
                quote! {{
                    struct __With<'__a, #declared>(&'__a #ty, ::core::marker::PhantomData<fn() -> #own>) #clause;
                    impl<'__a, #declared> __m::serde::Serialize for __With<'__a, #names> #bounds {
                        fn serialize<__S: __m::serde::Serializer>(
                            &self,
                            __serializer: __S,
                        ) -> ::core::result::Result<__S::Ok, __S::Error> {
                            #function(self.0, __serializer)
                        }
                    }
                    __m::codec::serde::write(__out, &__With::<#names>(#value, ::core::marker::PhantomData))
                }}
            }
        }
    }

    /// A function of a `&Value` that reads the value. An expression.
    pub(super) fn read(&self, cx: &Context<'_>) -> TokenStream {
        let ty = self.ty;
        match self.read_form() {
            Form::Typed => {
                let codec = self.codec(cx, &quote!(Decode));
                quote_spanned!(at(ty.span())=> #codec::decode)
            }
            Form::As(stored) => {
                let codec = self.stated(cx, stored);
                let check = (!self.is_stated_generic(cx, stored)).then(|| {
                    quote_spanned!(at(stored.span())=> const _: fn() = __m::codec::assert_stored_as::<#ty, #stored>;)
                });
                quote_spanned!(at(stored.span())=> { #check #codec::decode })
            }
            Form::Serde => {
                let codec = self.by_serde(cx);
                let check = (!cx.is_generic(ty)).then(
                    || quote_spanned!(at(ty.span())=> const _: fn() = __m::codec::assert_read_by_serde::<#ty>;),
                );
                quote_spanned!(at(ty.span())=> { #check #codec::decode })
            }
            Form::Function(function) => {
                let (declared, names) = (cx.declared(), cx.names());
                let (own, clause) = (cx.own(), cx.own_clause());
                let (params, bounds) = cx.read_generics();
                // The lifetime of the wrapper's implementation is that of the document.
                quote! {
                    |__value| {
                        struct __With<#declared>(#ty, ::core::marker::PhantomData<fn() -> #own>) #clause;
                        impl<#params> __m::serde::Deserialize<'de> for __With<#names> #bounds {
                            fn deserialize<__D: __m::serde::Deserializer<'de>>(
                                __deserializer: __D,
                            ) -> ::core::result::Result<Self, __D::Error> {
                                #function(__deserializer).map(|__value| __With(__value, ::core::marker::PhantomData))
                            }
                        }
                        __m::codec::serde::read::<__With<#names>>(__value).map(|__with| __with.0)
                    }
                }
            }
        }
    }

    /// Reads the field that was found into `slot`, once. An expression of a `Result<bool>`, which is `true`.
    pub(super) fn read_into(&self, cx: &Context<'_>, slot: &TokenStream) -> TokenStream {
        let ty = self.ty;
        if let Form::Typed = self.read_form() {
            let codec = self.codec(cx, &quote!(Decode));
            quote_spanned!(at(ty.span())=> #codec::read_field(__field, &mut #slot))
        } else {
            let read = self.read(cx);
            quote_spanned!(at(ty.span())=> __field.read(&mut #slot, #read))
        }
    }

    /// The value of `slot` at the end of the document, if the field has no default. An expression of a `Result`.
    pub(super) fn required(&self, cx: &Context<'_>, slot: &TokenStream) -> TokenStream {
        let (ty, name) = (self.ty, &self.name);
        if let Form::Typed = self.read_form() {
            let codec = self.codec(cx, &quote!(Decode));
            return quote_spanned!(at(ty.span())=> #codec::required(#slot, #name));
        }
        match self.missing(cx) {
            Some(missing) => {
                quote_spanned!(at(ty.span())=> __m::codec::read::required(#slot, #name, #missing))
            }
            None => quote!(__m::codec::read::present(#slot, #name)),
        }
    }

    /// The function that returns the value of a missing field, if its type decides. An expression.
    pub(super) fn missing(&self, cx: &Context<'_>) -> Option<TokenStream> {
        let ty = self.ty;
        match self.read_form() {
            Form::Typed => {
                let codec = self.codec(cx, &quote!(Decode));
                Some(quote_spanned!(at(ty.span())=> #codec::missing))
            }
            Form::As(stored) => {
                let codec = self.stated(cx, stored);
                Some(quote_spanned!(at(stored.span())=> #codec::missing))
            }
            Form::Serde => {
                let codec = self.by_serde(cx);
                Some(quote_spanned!(at(ty.span())=> #codec::missing))
            }
            Form::Function(_) => None,
        }
    }

    /// Where the functions of a value that is stored as another type are. `StatedProbe` avoids further errors if the type has no such
    /// conversion; it does not know the bounds of parameters.
    fn stated(&self, cx: &Context<'_>, stored: &Type) -> TokenStream {
        let ty = self.ty;
        if self.is_stated_generic(cx, stored) {
            quote_spanned!(at(stored.span())=> <__m::codec::Stated<#ty, #stored>>)
        } else {
            quote_spanned!(at(stored.span())=> <__m::codec::StatedProbe<#ty, #stored>>)
        }
    }

    /// Where the functions of a value that serde writes and reads are. `SerdeProbe` avoids further errors if the type has not the
    /// trait; it does not know the bounds of parameters.
    fn by_serde(&self, cx: &Context<'_>) -> TokenStream {
        let ty = self.ty;
        if cx.is_generic(ty) {
            quote_spanned!(at(ty.span())=> <__m::codec::BySerde<#ty>>)
        } else {
            quote_spanned!(at(ty.span())=> <__m::codec::SerdeProbe<#ty>>)
        }
    }

    fn is_stated_generic(&self, cx: &Context<'_>, stored: &Type) -> bool {
        cx.is_generic(self.ty) || cx.is_generic(stored)
    }

    /// Where the functions of a trait of the type are. `Probe` avoids a second error if the type has no paths; it does
    /// not know the bounds of parameters, and takes time to compile, so types that are known to have paths do without it.
    fn codec(&self, cx: &Context<'_>, trait_: &TokenStream) -> TokenStream {
        let ty = self.ty;
        if self.has_paths && !cx.is_generic(ty) && !is_plain(ty) {
            quote_spanned!(at(ty.span())=> <__m::codec::Probe<#ty>>)
        } else {
            quote_spanned!(at(ty.span())=> <#ty as __m::codec::#trait_>)
        }
    }
}
