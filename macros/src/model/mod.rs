//! The input of the derive with names and defaults resolved and combinations checked.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::{Ident, Member, Type};

use crate::{
    diagnostics::Sink,
    parse::{self, IdSource, Parsed, search::SearchAttribute},
    symbol,
};

mod collection;
pub(crate) mod dates;
mod encrypted;
mod enum_root;
pub(crate) mod enums;
pub(crate) mod fields;
pub(crate) mod generics;
mod index;
mod managed;
mod partial;
mod restrictions;
mod root;
mod search;
mod shard_key;

pub(crate) use collection::CollectionOption;
pub(crate) use encrypted::Encryption;
pub(crate) use generics::Generics;
pub(crate) use index::Index;
pub(crate) use managed::{Managed, ManagedColumn, ModelKind, SchemaVersion};
pub(crate) use partial::{Comparison, Partial};
pub(crate) use shard_key::ShardKey;

/// The input of `expand`.
pub(crate) struct Model {
    pub(crate) ident: Ident,
    pub(crate) vis: syn::Visibility,
    pub(crate) generics: Generics,
    /// Whether code can be generated for the type.
    pub(crate) usable: bool,
    pub(crate) krate: syn::Path,
    /// The name of the generated accessors.
    pub(crate) fields_ident: Ident,
    pub(crate) body: Body,
    /// The additions of `Document`.
    pub(crate) root: Option<Root>,
    /// Whether values are results, which are not stored: a shape or a projection.
    pub(crate) is_result: bool,
    /// Whether values are only read: a projection.
    pub(crate) is_only_read: bool,
}

pub(crate) enum Body {
    /// Stored as a document with these fields.
    Struct(Vec<Accessor>),
    /// Stored in the form of its content.
    Newtype(Box<Newtype>),
    /// Stored as one value without accessors, which contains no values of other types.
    Plain,
    /// Stored as one value without accessors, which is that of one of these types, or contains such values.
    Opaque(Vec<Type>),
    /// Stored as what the type's `Serialize` writes, with values of these types.
    BySerde(Vec<Type>),
    /// An enum of unit variants, which is stored as one of these names.
    Names(Vec<String>),
    /// An enum with data.
    Enum(Vec<Variant>),
}

impl Body {
    /// The types of the stored fields.
    fn types(&self) -> Vec<&Type> {
        match self {
            Self::Struct(accessors) => accessors.iter().flat_map(Accessor::types).collect(),
            Self::Newtype(newtype) => std::iter::once(&newtype.ty).chain(&newtype.converted).collect(),
            Self::Plain | Self::Names(_) => Vec::new(),
            Self::Opaque(types) | Self::BySerde(types) => types.iter().collect(),
            Self::Enum(variants) => variants.iter().flat_map(Variant::types).collect(),
        }
    }
}

/// One field.
pub(crate) struct Accessor {
    pub(crate) ident: Ident,
    /// The documentation of the field.
    pub(crate) docs: Vec<syn::Attribute>,
    /// The stored name.
    pub(crate) name: String,
    /// Further names under which serde reads the field.
    pub(crate) aliases: Vec<String>,
    pub(crate) ty: Type,
    pub(crate) kind: AccessorKind,
    /// Whether serde reads the field under its stored name.
    pub(crate) read: bool,
    /// Whether each document has the field.
    pub(crate) required: bool,
    /// How the field is encrypted.
    pub(crate) encryption: Option<Encryption>,
    /// Whether `None` is left out because of `skip_none`.
    pub(crate) skips_none: bool,
    /// Whether a function writes or reads the value.
    pub(crate) by_function: bool,
}

impl Accessor {
    /// Whether the fields of the value are fields of the outer document.
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.kind, AccessorKind::Flat)
    }

    fn types(&self) -> impl Iterator<Item = &Type> {
        let stored = match &self.kind {
            AccessorKind::As(stored) => Some(stored),
            _ => None,
        };
        std::iter::once(&self.ty).chain(stored)
    }
}

/// The names of the fields beside a flattened one, also those under which they are only read.
pub(crate) fn names(accessors: &[Accessor]) -> impl Iterator<Item = &str> {
    let own = accessors.iter().filter(|a| !a.is_flat());
    own.flat_map(|a| std::iter::once(&a.name).chain(&a.aliases).map(String::as_str))
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each field of a derive"
)]
pub(crate) enum AccessorKind {
    /// Accessors by the type.
    Typed,
    /// No accessors, no typed values.
    Opaque,
    /// Stored in the form of this type.
    As(Type),
    /// Its fields are fields of the outer document.
    Flat,
}

/// A type around a value.
pub(crate) struct Newtype {
    /// The type whose paths it has.
    pub(crate) ty: Type,
    /// The field, if it is stored in the form of its type.
    pub(crate) member: Option<Member>,
    /// The type of the field, if another type is stated.
    pub(crate) converted: Option<Type>,
    /// The fields that are not stored.
    pub(crate) others: Vec<Unstored>,
}

/// A field that is not stored.
pub(crate) struct Unstored {
    pub(crate) member: Member,
    pub(crate) ty: Type,
    /// The function of `default`. `None` for the trait.
    pub(crate) default: Option<syn::ExprPath>,
}

/// One variant of an enum with data.
pub(crate) struct Variant {
    /// The types of the stored values.
    pub(crate) contents: Vec<Type>,
    /// Whether the content is stored in the form of another type.
    pub(crate) is_converted: bool,
    /// Its documentation.
    pub(crate) docs: Vec<syn::Attribute>,
    /// The name of its accessor.
    pub(crate) accessor: Ident,
    /// The name of its filter.
    pub(crate) is: Ident,
    pub(crate) place: Place,
    pub(crate) content: Content,
}

impl Variant {
    fn types(&self) -> Vec<&Type> {
        let mut types: Vec<&Type> = self.contents.iter().collect();
        match &self.content {
            Content::None | Content::Unit => {}
            Content::Fields { accessors, .. } => types.extend(accessors.iter().flat_map(Accessor::types)),
            Content::Newtype(ty) => types.push(ty),
        }
        types
    }
}

/// Where the content of a variant is stored, and how a filter matches the variant.
pub(crate) enum Place {
    /// `{Tag: content}`, or `"Tag"` without content.
    Keyed { tag: String },
    /// `{tag_name: "Tag", …content}`.
    Beside { tag_name: String, tag: String },
    /// `{tag_name: "Tag", content_name: content}`.
    Within {
        tag_name: String,
        tag: String,
        content_name: String,
    },
    /// `content`.
    Untagged,
}

pub(crate) enum Content {
    /// Content without paths.
    None,
    /// No content: a unit variant.
    Unit,
    Fields {
        ident: Ident,
        accessors: Vec<Accessor>,
    },
    Newtype(Type),
}

/// The root of a collection's documents.
pub(crate) struct Root {
    pub(crate) collection: String,
    /// The id. `None` after an error.
    pub(crate) id: Option<Id>,
    pub(crate) indexes: Vec<Index>,
    /// The search indexes, by name.
    pub(crate) search_indexes: Vec<(String, SearchAttribute)>,
    pub(crate) shard_key: Option<ShardKey>,
    /// The options of the collection.
    pub(crate) options: Vec<CollectionOption>,
    pub(crate) managed: Managed,
    /// The functions that validate a document.
    pub(crate) validate: Vec<syn::Path>,
    /// The span of `hooks`.
    pub(crate) hooks: Option<Span>,
}

pub(crate) struct Id {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) source: IdSource,
    /// The variants of an enum, which all have the field.
    pub(crate) variants: Vec<Ident>,
}

impl Id {
    /// Whether the type can be an `Option`, as far as its name shows.
    pub(crate) fn can_be_optional(&self) -> bool {
        let Type::Path(path) = &self.ty else { return true };
        let is_present = path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            last.arguments.is_none() && symbol::PRESENT_IDS.contains(&name.as_str())
        });
        !is_present
    }
}

pub(crate) fn resolve(parsed: &Parsed, sink: &Sink) -> Model {
    let fields_ident = fresh(&format!("{}Fields", parsed.ident.unraw()), &parsed.identifiers);
    let (body, root) = if parsed.root {
        let (body, root) = root::resolve(parsed, sink);
        (body, Some(root))
    } else {
        (embedded(parsed, sink), None)
    };
    Model {
        ident: parsed.ident.clone(),
        vis: parsed.vis.clone(),
        generics: Generics::new(&parsed.generics, body.types()),
        usable: parsed.usable,
        krate: parsed
            .attributes
            .krate
            .clone()
            .unwrap_or_else(|| syn::parse_quote!(::marula)),
        fields_ident,
        body,
        root,
        is_result: false,
        is_only_read: false,
    }
}

fn embedded(parsed: &Parsed, sink: &Sink) -> Body {
    let reject_encrypted = |place: &str| match &parsed.body {
        parse::Body::Named(fields) | parse::Body::Tuple(fields) => encrypted::reject(fields, place, sink),
        parse::Body::Enum(variants) => {
            for variant in variants {
                encrypted::reject(variant.shape.fields(), place, sink);
            }
        }
        parse::Body::Empty => {}
    };
    if parsed.attributes.opaque {
        reject_encrypted("a field of an opaque type");
        if let Some(param) = parsed.generics.params.first() {
            sink.on(
                param,
                "an opaque type has no parameters, because encrypted fields of their types would not be found; mark the fields of this \
                 type `#[document(opaque)]`",
            );
        }
        return Body::BySerde(written_types(parsed));
    }
    if parsed.serde.conversion.is_some() {
        reject_encrypted("a field of a type with a serde conversion");
        return converted(parsed);
    }
    match &parsed.body {
        parse::Body::Named(fields) if parsed.serde.transparent => transparent(fields, parsed, sink),
        parse::Body::Named(fields) => {
            fields::check_unwritten(fields, parsed.serde.default, sink);
            encrypted::check(fields, parsed, sink);
            Body::Struct(fields::resolve(
                fields,
                &parsed.serde,
                parsed.serde.rename_all,
                sink,
            ))
        }
        parse::Body::Tuple(fields) => transparent(fields, parsed, sink),
        parse::Body::Enum(variants) => enums::resolve(variants, parsed, sink),
        parse::Body::Empty => Body::Plain,
    }
}

/// A type with a serde conversion: it is written as the type of `into`, or by its own fields.
fn converted(parsed: &Parsed) -> Body {
    if let Some(written) = &parsed.serde.written_as {
        return Body::Opaque(vec![written.clone()]);
    }
    let types = written_types(parsed);
    if types.is_empty() {
        Body::Plain
    } else {
        Body::Opaque(types)
    }
}

/// The types of the fields that are written, those of all variants.
fn written_types(parsed: &Parsed) -> Vec<Type> {
    let fields: Vec<&parse::Field> = match &parsed.body {
        parse::Body::Named(fields) | parse::Body::Tuple(fields) => fields.iter().collect(),
        parse::Body::Enum(variants) => variants.iter().flat_map(|v| v.shape.fields()).collect(),
        parse::Body::Empty => Vec::new(),
    };
    let written = fields.iter().filter(|f| f.is_written());
    written.map(|f| f.ty.clone()).collect()
}

/// A newtype, or another struct that serde stores as its only field.
fn transparent(fields: &[parse::Field], parsed: &Parsed, sink: &Sink) -> Body {
    encrypted::reject(fields, "the content of a newtype", sink);
    let (stored, others): (Vec<_>, Vec<_>) = fields.iter().enumerate().partition(|(_, f)| f.is_written());
    let member =
        |index: usize, field: &parse::Field| field.ident.clone().map_or(Member::from(index), Member::Named);
    let others = others.into_iter().map(|(index, field)| Unstored {
        member: member(index, field),
        ty: field.ty.clone(),
        default: field.serde.functions.default.clone(),
    });
    let others = others.collect();
    match stored[..] {
        [(index, field)] => match fields::kind(field, sink) {
            AccessorKind::Opaque => Body::Opaque(vec![field.ty.clone()]),
            AccessorKind::As(ty) => Body::Newtype(Box::new(Newtype {
                ty,
                member: None,
                converted: Some(field.ty.clone()),
                others,
            })),
            _ => Body::Newtype(Box::new(Newtype {
                ty: field.ty.clone(),
                member: Some(member(index, field)),
                converted: None,
                others,
            })),
        },
        _ => {
            sink.on(
                &parsed.ident,
                format!(
                    "`{}` is stored as an array, which has no typed paths; use a struct with named fields",
                    parsed.ident
                ),
            );
            Body::Plain
        }
    }
}

/// The identifier, modified if the input contains it.
fn fresh(name: &str, taken: &[String]) -> Ident {
    let name = if taken.iter().any(|t| t == name) {
        format!("__{name}")
    } else {
        name.to_owned()
    };
    Ident::new(&name, Span::call_site())
}
