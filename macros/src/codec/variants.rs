//! Enums: their variants, and which of the representations of serde they have.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ExprPath, Ident};

use crate::{
    codec::{
        Context, adjacent, by_serde,
        document::{self, Reader, generated},
        external,
        field::{self, Field},
        internal, tuples, untagged,
    },
    model::enums::{fields_rule, tag},
    parse::{self, Parsed, Shape},
};

pub(super) struct Variant<'a> {
    /// The position in the enum.
    index: usize,
    pub(super) ident: &'a Ident,
    /// The tag.
    pub(super) name: String,
    pub(super) fields: Vec<Field<'a>>,
    pub(super) kind: Kind,
    source: &'a parse::Variant,
    is_strict: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Without content. One field that is not stored counts as none.
    Unit,
    Newtype,
    /// Stored as an array.
    Array,
    Named,
}

pub(super) fn expand(parsed: &Parsed, variants: &[parse::Variant], is_written: bool) -> TokenStream {
    let variants: Vec<Variant<'_>> = variants
        .iter()
        .enumerate()
        .map(|(index, variant)| Variant::new(index, variant, parsed))
        .collect();
    let fields: Vec<&Field<'_>> = variants.iter().flat_map(|v| &v.fields).collect();
    let cx = Context::new(parsed, &fields, is_written);
    let serde = &parsed.serde;
    let readers = cx.is_read().then(|| {
        let named = variants
            .iter()
            .filter(|v| v.kind == Kind::Named && v.function_of_read().is_none());
        named.map(|v| v.reader_type(&cx)).collect::<TokenStream>()
    });
    let are_units = variants.iter().all(|v| v.kind == Kind::Unit);
    let codec = if parsed.repr && are_units && serde.tag.is_none() && !serde.untagged {
        // The derives of serde or those of `serde_repr` write it.
        by_serde(&cx)
    } else {
        match (&serde.tag, &serde.content) {
            _ if serde.untagged => untagged::expand(&cx, &variants),
            (Some(tag), Some(content)) => adjacent::expand(&cx, &variants, &tag.value, &content.value),
            (Some(tag), None) => internal::expand(&cx, &variants, &tag.value),
            (None, _) => external::expand(&cx, &variants),
        }
    };
    quote!(#readers #codec)
}

impl<'a> Variant<'a> {
    fn new(index: usize, variant: &'a parse::Variant, parsed: &Parsed) -> Self {
        let has_paths =
            parsed.serde.conversion.is_none() && !variant.serde.skipped && variant.serde.with.is_none();
        let fields = field::fields(variant.shape.fields(), fields_rule(variant, parsed), has_paths);
        let kind = match &variant.shape {
            Shape::Unit => Kind::Unit,
            Shape::Named(_) => Kind::Named,
            Shape::Tuple(_) => match &fields[..] {
                [only] if only.is_stored() => Kind::Newtype,
                [_] => Kind::Unit,
                _ => Kind::Array,
            },
        };
        Variant {
            index,
            ident: &variant.ident,
            name: tag(variant, parsed),
            fields,
            kind,
            source: variant,
            is_strict: parsed.serde.deny_unknown.is_some() || variant.container.deny_unknown.is_some(),
        }
    }

    pub(super) fn is_written(&self) -> bool {
        !self.source.serde.skipped
    }

    pub(super) fn is_read(&self) -> bool {
        !self.source.serde.unread
    }

    /// Whether the variant is that of all unknown tags.
    pub(super) fn is_other(&self) -> bool {
        self.source.serde.other
    }

    /// Whether the variant has no tag in an enum with tags.
    pub(super) fn is_untagged(&self) -> bool {
        self.source.serde.untagged
    }

    pub(super) fn function_of_write(&self) -> Option<&'a ExprPath> {
        self.source.serde.functions.write.as_ref()
    }

    pub(super) fn function_of_read(&self) -> Option<&'a ExprPath> {
        self.source.serde.functions.read.as_ref()
    }

    /// The name and the aliases as a pattern.
    pub(super) fn tags(&self) -> TokenStream {
        let (name, aliases) = (&self.name, &self.source.serde.aliases);
        quote!(#name #(| #aliases)*)
    }

    /// The name and the aliases.
    pub(super) fn all_names(&self) -> impl Iterator<Item = &str> {
        let aliases = self.source.serde.aliases.iter().map(String::as_str);
        std::iter::once(self.name.as_str()).chain(aliases)
    }

    /// A pattern that binds references to the fields.
    pub(super) fn pattern(&self, cx: &Context<'_>) -> TokenStream {
        let (owner, ident) = (cx.ident, self.ident);
        let members = self.fields.iter().map(|f| &f.member);
        let bound = (0..self.fields.len()).map(|index| generated("__f", index));
        quote!(#owner::#ident { #(#members: #bound),* })
    }

    /// The value of a variant without content.
    pub(super) fn unit(&self, cx: &Context<'_>) -> TokenStream {
        let (owner, ident) = (cx.ident, self.ident);
        let fields = self.fields.iter().map(|f| {
            let (member, value) = (&f.member, tuples::unstored(f));
            quote!(#member: #value)
        });
        quote!(#owner::#ident { #(#fields),* })
    }

    /// The type whose `DecodeFields` reads the fields of a variant with named fields.
    pub(super) fn reader(&self, cx: &Context<'_>) -> TokenStream {
        let (reader, (_, arguments, _)) = (
            generated("__Variant", self.index),
            cx.parsed.generics.split_for_impl(),
        );
        quote!(#reader #arguments)
    }

    fn reader_type(&self, cx: &Context<'_>) -> TokenStream {
        let (name, own, declared, clause) = (
            generated("__Variant", self.index),
            cx.own(),
            cx.declared(),
            cx.own_clause(),
        );
        let (owner, ident) = (cx.ident, self.ident);
        let reader = Reader {
            owner: self.reader(cx),
            out: own.clone(),
            constructor: quote!(#owner::#ident),
            partial: generated("__Fields", self.index),
            is_strict: self.is_strict,
            default: None,
            ignored: None,
            kind: None,
            fields: &self.fields,
        };
        let decode_fields = reader.decode_fields(cx);
        quote! {
            // The reader is as private as the enum, which `Out` is.
            struct #name<#declared>(::core::marker::PhantomData<fn() -> #own>) #clause;
            #decode_fields
        }
    }

    /// The name of the variant in a generated enum.
    pub(super) fn generated(&self) -> Ident {
        generated("__V", self.index)
    }

    /// The statements that write named fields.
    pub(super) fn write_fields(&self, cx: &Context<'_>) -> TokenStream {
        document::write(cx, &self.fields, |index, _| {
            let field = generated("__f", index);
            quote!(#field)
        })
    }

    /// Writes the content as a value, that of a unit as Null. An expression of a `Result`.
    pub(super) fn write_content(&self, cx: &Context<'_>) -> TokenStream {
        let place = |index: usize| {
            let field = generated("__f", index);
            quote!(#field)
        };
        if let Some(function) = self.function_of_write() {
            return self.write_by(cx, function);
        }
        match self.kind {
            Kind::Unit => quote!(<() as __m::codec::Encode>::encode(&(), __out)),
            Kind::Newtype => {
                let fields = self.fields.iter().map(|f| f.write(cx, &place(0)));
                quote!(#(#fields)*)
            }
            Kind::Array => tuples::items(cx, &self.fields, |index, _| place(index)),
            Kind::Named => {
                let (names, write) = (document::names(&self.fields, None), self.write_fields(cx));
                quote! {
                    __m::codec::write::fields(__out, const { #names.assert_distinct(); &#names }, |__out| {
                        #write
                        ::core::result::Result::Ok(())
                    })
                }
            }
        }
    }

    /// Writes the content by a function of the variant, which takes references to the fields.
    fn write_by(&self, cx: &Context<'_>, function: &ExprPath) -> TokenStream {
        let (declared, names, own) = (cx.declared(), cx.names(), cx.own());
        let (clause, bounds) = (cx.own_clause(), cx.write_clause());
        let types = self.fields.iter().map(|f| f.ty);
        let indexes = (0..self.fields.len()).map(|index| syn::Index::from(index + 1));
        let values = (0..self.fields.len()).map(|index| generated("__f", index));
        quote! {{
            struct __With<'__a, #declared>(::core::marker::PhantomData<&'__a #own>, #(&'__a #types),*) #clause;
            impl<'__a, #declared> __m::serde::Serialize for __With<'__a, #names> #bounds {
                fn serialize<__S: __m::serde::Serializer>(
                    &self,
                    __serializer: __S,
                ) -> ::core::result::Result<__S::Ok, __S::Error> {
                    #function(#(self.#indexes,)* __serializer)
                }
            }
            __m::codec::serde::write(__out, &__With::<#names>(::core::marker::PhantomData, #(#values),*))
        }}
    }

    /// A function of a `&Value` that reads the content. An expression.
    pub(super) fn read_content(&self, cx: &Context<'_>) -> TokenStream {
        let (owner, ident) = (cx.ident, self.ident);
        let constructor = quote!(#owner::#ident);
        if let Some(function) = self.function_of_read() {
            return self.read_by(cx, function, &constructor);
        }
        match (self.kind, &self.fields[..]) {
            (Kind::Named, _) => {
                let reader = self.reader(cx);
                quote!(|__value| __m::codec::read::document::<#reader>(__value))
            }
            (Kind::Newtype, [field]) => {
                let read = field.read(cx);
                quote!(|__value| __m::codec::read::by(__value, #read).map(#constructor))
            }
            (Kind::Array, fields) => {
                let read = tuples::read_items(cx, fields, &constructor);
                quote!(|__value| #read)
            }
            (Kind::Unit | Kind::Newtype, _) => {
                let unit = self.unit(cx);
                quote!(|__value| <() as __m::codec::Decode>::decode(__value).map(|()| #unit))
            }
        }
    }

    /// Reads the content by a function of the variant, which returns the value of one field, or a tuple.
    fn read_by(&self, cx: &Context<'_>, function: &ExprPath, constructor: &TokenStream) -> TokenStream {
        let (names, own) = (cx.names(), cx.own());
        let (declared, clause) = (cx.declared(), cx.own_clause());
        let (params, bounds) = cx.read_generics();
        let members = self.fields.iter().map(|f| &f.member);
        let indexes = (0..self.fields.len()).map(syn::Index::from);
        let value = match &self.fields[..] {
            [only] => {
                let member = &only.member;
                quote!(#constructor { #member: __content })
            }
            _ => quote!(#constructor { #(#members: __content.#indexes),* }),
        };
        quote! {
            |__value| {
                struct __With<#declared>(#own) #clause;
                impl<#params> __m::serde::Deserialize<'de> for __With<#names> #bounds {
                    fn deserialize<__D: __m::serde::Deserializer<'de>>(
                        __deserializer: __D,
                    ) -> ::core::result::Result<Self, __D::Error> {
                        #function(__deserializer).map(|__content| __With(#value))
                    }
                }
                __m::codec::serde::read::<__With<#names>>(__value).map(|__with| __with.0)
            }
        }
    }

    /// The value of a content that is not there, for a newtype whose content has such a value: an `Option`.
    pub(super) fn missing(&self, cx: &Context<'_>) -> TokenStream {
        let (owner, ident) = (cx.ident, self.ident);
        match &self.fields[..] {
            [field] if self.kind == Kind::Newtype && self.function_of_read().is_none() => {
                let missing = field.missing(cx);
                missing.map(|missing| quote!(#missing().map(#owner::#ident)))
            }
            _ => None,
        }
        .unwrap_or_else(|| quote!(::core::option::Option::None))
    }
}

/// The arm of a `match` on the value for a variant. `write`: an expression of a `Result`.
pub(super) fn write_arm(cx: &Context<'_>, variant: &Variant<'_>, write: &TokenStream) -> TokenStream {
    let pattern = variant.pattern(cx);
    if variant.is_written() {
        return quote!(#pattern => #write,);
    }
    let reason = format!("the variant `{}` is not stored", variant.ident);
    quote!(#pattern => ::core::result::Result::Err(__m::codec::EncodeError::new(#reason)),)
}

/// `match self` with these arms.
pub(super) fn match_self(arms: &[TokenStream]) -> TokenStream {
    if arms.is_empty() {
        quote!(match *self {})
    } else {
        quote!(match self { #(#arms)* })
    }
}

/// The variants with a tag that are read.
pub(super) fn tagged<'v, 'a>(variants: &'v [Variant<'a>]) -> impl Iterator<Item = &'v Variant<'a>> {
    variants
        .iter()
        .filter(|v| v.is_read() && !v.is_untagged() && !v.is_other())
}

/// The result for a tag that no variant has. An expression of a `Result`.
pub(super) fn unknown(cx: &Context<'_>, variants: &[Variant<'_>]) -> TokenStream {
    let mut others = variants.iter().filter(|v| v.is_other());
    match others.next() {
        Some(other) => {
            let other = other.unit(cx);
            quote!(::core::result::Result::Ok(#other))
        }
        None => {
            let known = tagged(variants).map(|v| &v.name);
            quote!(::core::result::Result::Err(__m::codec::read::unknown_variant(&[#(#known),*])))
        }
    }
}

/// Adds the variants without a tag to an expression that reads those with one.
pub(super) fn or_untagged(cx: &Context<'_>, variants: &[Variant<'_>], read: &TokenStream) -> TokenStream {
    let untagged: Vec<TokenStream> = variants
        .iter()
        .filter(|v| v.is_untagged() && v.is_read())
        .map(|v| v.read_content(cx))
        .collect();
    if untagged.is_empty() {
        return read.clone();
    }
    quote! {
        let __tagged = (|| -> ::core::result::Result<Self, __m::codec::DecodeError> { #read })();
        __tagged.or_else(|__error| {
            __m::codec::read::first_variant(__value, &[#(#untagged),*]).ok_or(__error)
        })
    }
}
