//! Parses the input of the derive into attributes with spans.

use proc_macro2::Span;
use syn::{Attribute, Data, DeriveInput, Fields, GenericParam, Generics, Ident, LitStr, Path, Type};

use crate::diagnostics::{Sink, did_you_mean};

pub(crate) mod collection;
mod container;
mod encrypted;
mod field;
pub(crate) mod index;
pub(crate) mod input;
mod model_kind;
pub(crate) mod own_type;
pub(crate) mod projection;
mod schema_version;
pub(crate) mod search;
mod serde;

pub(crate) use encrypted::{EncryptedAttribute, QueryKind};
pub(crate) use field::{FieldAttributes, IdSource, ManagedField};
pub(crate) use model_kind::ModelKind;
pub(crate) use schema_version::SchemaVersion;
pub(crate) use serde::{Name, SerdeContainer, SerdeField};

/// A type as written.
pub(crate) struct Parsed {
    pub(crate) ident: Ident,
    pub(crate) vis: syn::Visibility,
    pub(crate) generics: Generics,
    /// Whether `Document` is derived, and not `Embedded`.
    pub(crate) root: bool,
    /// `false` after an error for which no code can be generated.
    pub(crate) usable: bool,
    pub(crate) attributes: ContainerAttributes,
    pub(crate) serde: SerdeContainer,
    pub(crate) body: Body,
    /// Whether the type has `#[repr(…)]`: such an enum is often stored as a number, by another derive
    /// than that of serde.
    pub(crate) repr: bool,
    /// All identifiers in the input, which generated types must not have.
    pub(crate) identifiers: Vec<String>,
}

pub(crate) enum Body {
    Named(Vec<Field>),
    Tuple(Vec<Field>),
    Enum(Vec<Variant>),
    /// A union or a unit struct. An error has been reported for a union.
    Empty,
}

pub(crate) struct Field {
    /// The name. `None` in a tuple.
    pub(crate) ident: Option<Ident>,
    pub(crate) ty: Type,
    /// The documentation, which its accessor repeats.
    pub(crate) docs: Vec<Attribute>,
    pub(crate) attributes: FieldAttributes,
    pub(crate) serde: SerdeField,
}

/// Whether a type is an `Option`, as far as its name shows.
pub(crate) fn is_option(ty: &Type) -> bool {
    matches!(ungrouped(ty), Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}

impl Field {
    /// Whether the field is a `PhantomData`, which is not stored.
    pub(crate) fn is_phantom(&self) -> bool {
        let is_phantom = matches!(ungrouped(&self.ty), Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "PhantomData"));
        is_phantom && self.attributes.opaque.is_none() && self.serde.with.is_none()
    }

    pub(crate) fn is_written(&self) -> bool {
        !self.serde.skipped && !self.is_phantom()
    }

    /// Whether the type is an `Option`, as far as its name shows.
    pub(crate) fn is_option(&self) -> bool {
        is_option(&self.ty)
    }

    /// Whether the value is stored in the form of the field's type.
    pub(crate) fn has_form_of_type(&self) -> bool {
        self.attributes.stored_as.is_none() && self.serde.functions.write.is_none()
    }

    /// Whether the field is stored as `_id` by its own name.
    fn is_id(&self) -> bool {
        match &self.serde.rename {
            Some(name) => name.value == "_id",
            None => self.attributes.id.is_some() || self.ident.as_ref().is_some_and(|ident| ident == "_id"),
        }
    }
}

/// The type without the groups of a `macro_rules!` around it.
pub(crate) fn ungrouped(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

pub(crate) struct Variant {
    pub(crate) ident: Ident,
    /// The documentation, which its accessor repeats.
    pub(crate) docs: Vec<Attribute>,
    pub(crate) serde: SerdeField,
    pub(crate) container: SerdeContainer,
    pub(crate) shape: Shape,
}

pub(crate) enum Shape {
    Unit,
    Named(Vec<Field>),
    Tuple(Vec<Field>),
}

impl Shape {
    /// The fields; none of a unit.
    pub(crate) fn fields(&self) -> &[Field] {
        match self {
            Self::Unit => &[],
            Self::Named(fields) | Self::Tuple(fields) => fields,
        }
    }
}

/// `#[document(…)]` on the type.
#[derive(Default)]
pub(crate) struct ContainerAttributes {
    pub(crate) collection: Option<LitStr>,
    pub(crate) indexes: Vec<index::IndexAttribute>,
    pub(crate) search_indexes: Vec<search::SearchAttribute>,
    /// The fields of `shard_key`, in the form of an index.
    pub(crate) shard_key: Option<index::IndexAttribute>,
    pub(crate) options: collection::OptionAttributes,
    pub(crate) krate: Option<Path>,
    /// The field of `soft_delete`.
    pub(crate) soft_delete: Option<Ident>,
    /// The functions of `validate`.
    pub(crate) validate: Vec<Path>,
    /// The span of `hooks`.
    pub(crate) hooks: Option<Span>,
    pub(crate) schema_version: Option<SchemaVersion>,
    /// The kind of the documents, in a collection with documents of other kinds.
    pub(crate) kind: Option<ModelKind>,
    /// Whether the stored form is what the type's `Serialize` writes.
    pub(crate) opaque: bool,
    /// Whether an `Option` that is `None` is left out, and not stored as null.
    pub(crate) skip_none: bool,
    /// Whether an error was reported, so that missing items are not.
    pub(crate) broken: bool,
}

/// The parameters without their defaults, which implementations do not have.
fn generics(input: &DeriveInput) -> Generics {
    let mut generics = input.generics.clone();
    for param in &mut generics.params {
        match param {
            GenericParam::Type(param) => param.default = None,
            GenericParam::Const(param) => param.default = None,
            GenericParam::Lifetime(_) => {}
        }
    }
    generics
}

pub(crate) fn parse(input: &DeriveInput, root: bool, sink: &Sink) -> Parsed {
    let derive = if root { "Document" } else { "Embedded" };
    let mut usable = true;
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let reason = "a type that borrows: documents are read into owned values";
        sink.on(lifetime, format!("`{derive}` cannot be derived for {reason}"));
        usable = false;
    }
    let attributes = container::parse(&input.attrs, root, sink);
    let owner = Owner {
        root,
        skip_none: attributes.skip_none,
    };
    serde::check(&input.attrs, sink);
    let mut serde = serde::container(&input.attrs, sink);
    if attributes.opaque {
        // The derives of serde follow them, and their form is stored.
        (serde.conversion, serde.read_as, serde.written_as) = (None, None, None);
    }
    if attributes.skip_none && (attributes.opaque || !has_named_fields(&input.data)) {
        sink.on(
            &input.ident,
            "`skip_none` has no effect here: it is for the named fields of a type that is not `opaque`",
        );
    }
    let body = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => {
                Body::Named(fields.named.iter().map(|f| field(f, owner, sink)).collect())
            }
            Fields::Unnamed(fields) => {
                Body::Tuple(fields.unnamed.iter().map(|f| field(f, owner, sink)).collect())
            }
            Fields::Unit => {
                if root {
                    sink.on(
                        &input.ident,
                        "a document needs an id, and a unit struct has no fields",
                    );
                }
                Body::Empty
            }
        },
        Data::Enum(data) => Body::Enum(data.variants.iter().map(|v| variant(v, owner, sink)).collect()),
        Data::Union(data) => {
            sink.at(
                data.union_token.span,
                format!("`{derive}` cannot be derived for a union"),
            );
            usable &= root;
            Body::Empty
        }
    };
    let identifiers = identifiers(&body);
    Parsed {
        ident: input.ident.clone(),
        vis: input.vis.clone(),
        generics: generics(input),
        root,
        usable,
        attributes,
        serde,
        body,
        repr: input.attrs.iter().any(|a| a.path().is_ident("repr")),
        identifiers,
    }
}

fn has_named_fields(data: &Data) -> bool {
    let is_named = |fields: &Fields| matches!(fields, Fields::Named(_));
    match data {
        Data::Struct(data) => is_named(&data.fields),
        Data::Enum(data) => data.variants.iter().any(|variant| is_named(&variant.fields)),
        Data::Union(_) => false,
    }
}

/// The properties of a type that the attributes of its fields depend on.
#[derive(Clone, Copy)]
struct Owner {
    /// Whether `Document` is derived, and not `Embedded`.
    root: bool,
    skip_none: bool,
}

fn field(field: &syn::Field, owner: Owner, sink: &Sink) -> Field {
    serde::check(&field.attrs, sink);
    let mut parsed = Field {
        ident: field.ident.clone(),
        ty: field.ty.clone(),
        docs: docs(&field.attrs),
        attributes: field::parse(&field.attrs, owner.root, sink),
        serde: serde::field(&field.attrs, sink),
    };
    skip_none(&mut parsed, owner, sink);
    parsed
}

/// Applies `skip_none` of the field, or of its type.
fn skip_none(field: &mut Field, owner: Owner, sink: &Sink) {
    let own = field.attributes.skip_none;
    let is_skipped = own.map_or(owner.skip_none, |(_, is_skipped)| is_skipped);
    let is_by_default = |path: &syn::ExprPath| {
        let segments: Vec<String> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
        segments.ends_with(&["Option".to_owned(), "is_none".to_owned()])
    };
    let reason = if field.is_id() {
        "the id is always stored"
    } else if field.ident.is_none() {
        "an item without a name is always stored"
    } else if !field.is_option() {
        "only an `Option` is left out, and the type of the field is another one as far as its name shows"
    } else if field.serde.flatten.is_some() {
        "the fields of a flattened `None` are left out anyway"
    } else if !field.serde.functions.omit_if.as_ref().is_none_or(is_by_default) {
        "`skip_serializing_if` decides already"
    } else {
        if is_skipped && field.serde.functions.default.is_some() {
            sink.on(
                &field.ty,
                "a missing field is `None` with `skip_none`, so that `default` has no effect; remove it, or add `#[document(skip_none = \
                 false)]`",
            );
        }
        if is_skipped {
            field.serde.functions.omit_if = Some(syn::parse_quote!(::core::option::Option::is_none));
            field.serde.omitted = true;
            field.serde.skips_none = true;
        }
        return;
    };
    if let Some((span, _)) = own {
        sink.at(span, format!("`skip_none` has no effect here: {reason}"));
    }
}

/// The attributes that doc comments are.
fn docs(attributes: &[Attribute]) -> Vec<Attribute> {
    let is_text = |a: &&Attribute| a.path().is_ident("doc") && matches!(a.meta, syn::Meta::NameValue(_));
    attributes.iter().filter(is_text).cloned().collect()
}

fn variant(variant: &syn::Variant, owner: Owner, sink: &Sink) -> Variant {
    let shape = match &variant.fields {
        Fields::Unit => Shape::Unit,
        Fields::Named(fields) => Shape::Named(fields.named.iter().map(|f| field(f, owner, sink)).collect()),
        Fields::Unnamed(fields) => {
            Shape::Tuple(fields.unnamed.iter().map(|f| field(f, owner, sink)).collect())
        }
    };
    container::reject(&variant.attrs, "a variant", sink);
    serde::check(&variant.attrs, sink);
    Variant {
        ident: variant.ident.clone(),
        docs: docs(&variant.attrs),
        serde: serde::field(&variant.attrs, sink),
        container: serde::container(&variant.attrs, sink),
        shape,
    }
}

/// All identifiers in the field types.
fn identifiers(body: &Body) -> Vec<String> {
    fn collect(tokens: proc_macro2::TokenStream, out: &mut Vec<String>) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(ident) => out.push(ident.to_string()),
                proc_macro2::TokenTree::Group(group) => collect(group.stream(), out),
                _ => {}
            }
        }
    }
    let mut out = Vec::new();
    let mut fields = |fields: &[Field]| {
        for field in fields {
            collect(quote::ToTokens::to_token_stream(&field.ty), &mut out);
        }
    };
    match body {
        Body::Named(f) | Body::Tuple(f) => fields(f),
        Body::Enum(variants) => {
            for variant in variants {
                if let Shape::Named(f) | Shape::Tuple(f) = &variant.shape {
                    fields(f);
                }
            }
        }
        Body::Empty => {}
    }
    out
}

/// Reports `#[document(flatten)]`, which only a shape can have.
pub(crate) fn reject_flatten(parsed: &Parsed, sink: &Sink) {
    if let Body::Named(fields) = &parsed.body {
        for span in fields.iter().filter_map(|f| f.attributes.flatten) {
            sink.at(span, "`flatten` is for `Shape`; write `#[serde(flatten)]`");
        }
    }
}

/// Reports `#[document(encrypted)]` in a type of results, which is read from the fields of a model.
pub(crate) fn reject_encrypted(parsed: &Parsed, derive: &str, sink: &Sink) {
    if let Body::Named(fields) = &parsed.body {
        for attribute in fields.iter().filter_map(|f| f.attributes.encrypted.as_ref()) {
            sink.at(
                attribute.span,
                format!("`encrypted` is for `Document` and `Embedded`: a `{derive}` is read, and not stored"),
            );
        }
    }
}

/// Whether `Document` is derived too, which requires the name of a collection.
pub(crate) fn has_collection(attributes: &[syn::Attribute]) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("document")) {
        // The derive that uses the attribute reports its errors.
        attribute
            .parse_nested_meta(|meta| {
                found |= meta.path.is_ident("collection");
                skip_value(&meta)
            })
            .ok();
    }
    found
}

/// Calls `item` for the items of all `#[document(…)]` attributes. `false` after a syntax error.
fn document_items(
    attributes: &[syn::Attribute],
    sink: &Sink,
    mut item: impl FnMut(&syn::meta::ParseNestedMeta<'_>) -> syn::Result<()>,
) -> bool {
    let mut whole = true;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("document")) {
        whole &= sink.ok(attribute.parse_nested_meta(|meta| item(&meta))).is_some();
    }
    whole
}

/// Skips the value of an item.
pub(crate) fn skip_value(meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(syn::Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        meta.input.parse::<proc_macro2::Group>()?;
    }
    Ok(())
}

/// Reads items `, name = value` up to the end. `read` reads the value of a known name.
fn options<const N: usize>(
    content: syn::parse::ParseStream<'_>,
    known: [&str; N],
    sink: &Sink,
    mut read: impl FnMut(&str, syn::parse::ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    while content.peek(syn::Token![,]) {
        content.parse::<syn::Token![,]>()?;
        if content.is_empty() {
            break;
        }
        let name: Ident = content.parse()?;
        content.parse::<syn::Token![=]>()?;
        let text = name.to_string();
        if known.contains(&text.as_str()) {
            read(&text, content)?;
            continue;
        }
        let hint = did_you_mean(&text, known);
        sink.on(&name, format!("unknown option `{text}`{hint}"));
        content.parse::<syn::Expr>()?;
    }
    Ok(())
}

/// The one identifier of an item's path, and its span.
fn key(meta: &syn::meta::ParseNestedMeta<'_>) -> (String, Span) {
    let span = syn::spanned::Spanned::span(&meta.path);
    (
        meta.path
            .get_ident()
            .map_or_else(String::new, ToString::to_string),
        span,
    )
}
