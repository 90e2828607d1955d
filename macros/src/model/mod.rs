//! The input of the derive with names and defaults resolved and combinations checked.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::{Ident, Member, Type};

use crate::diagnostics::Sink;
use crate::parse::search::SearchAttribute;
use crate::parse::{self, IdSource, Parsed};
use crate::symbol;

mod collection;
pub(crate) mod dates;
mod encrypted;
mod enums;
mod fields;
mod generics;
mod index;
mod managed;
mod partial;
mod restrictions;
mod root;
mod search;

pub(crate) use collection::CollectionOption;
pub(crate) use encrypted::Encryption;
pub(crate) use generics::Generics;
pub(crate) use index::Index;
pub(crate) use managed::{Managed, ManagedColumn, SchemaVersion};
pub(crate) use partial::{Comparison, Partial};

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
    /// The types whose own `Deserialize` reads a part of a value.
    pub(crate) read_types: Vec<Type>,
    /// The additions of `Document`.
    pub(crate) root: Option<Root>,
    /// Whether the derive implements `Deserialize`: a shape with `#[document(flatten)]`.
    pub(crate) reads_itself: bool,
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
    /// An enum of unit variants, which is stored as one of these names.
    Names(Vec<String>),
    /// An enum with data.
    Enum(Vec<Variant>),
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
    /// Whether the type's own `Deserialize` reads the field.
    pub(crate) read_by_type: bool,
    /// Whether each document has the field.
    pub(crate) required: bool,
    /// Whether serde writes the field with a function, and not by its type.
    pub(crate) is_converted: bool,
    /// How the field is encrypted.
    pub(crate) encryption: Option<Encryption>,
}

/// The names of the fields beside a flattened one, also those under which they are only read.
pub(crate) fn names(accessors: &[Accessor]) -> impl Iterator<Item = &str> {
    let own = accessors.iter().filter(|a| !matches!(a.kind, AccessorKind::Flat));
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
    /// Whether serde writes the field with a function, and not by its type.
    pub(crate) by_function: bool,
    /// Whether the type has no other field.
    pub(crate) is_only: bool,
}

/// A field that is stored by its own type.
pub(crate) struct Part {
    pub(crate) member: Member,
    /// The stored name. `None` if its fields are fields of the outer document.
    pub(crate) name: Option<String>,
    pub(crate) ty: Type,
}

impl Part {
    /// The field, if it is stored by its own type.
    pub(crate) fn of_accessor(accessor: &Accessor) -> Option<Self> {
        let name = match accessor.kind {
            AccessorKind::Typed => Some(accessor.name.clone()),
            AccessorKind::Flat => None,
            AccessorKind::As(_) | AccessorKind::Opaque => return None,
        };
        Some(Part {
            member: Member::Named(accessor.ident.clone()),
            name,
            ty: accessor.ty.clone(),
        })
    }
}

/// One variant of an enum with data.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    /// The fields that are stored by their own types.
    pub(crate) parts: Vec<Part>,
    /// The types of the other values, whose stored form is not known or that of another type.
    pub(crate) opaque: Vec<Type>,
    /// Whether serde writes the only one of them with a function.
    pub(crate) by_function: bool,
    /// Whether the content is stored as an array.
    pub(crate) is_tuple: bool,
    /// Its documentation.
    pub(crate) docs: Vec<syn::Attribute>,
    /// The name of its accessor.
    pub(crate) accessor: Ident,
    /// The name of its filter.
    pub(crate) is: Ident,
    pub(crate) place: Place,
    pub(crate) content: Content,
    /// Whether serde reads the content from a buffer.
    pub(crate) buffered: bool,
    /// The types whose own `Deserialize` reads a part of the content.
    pub(crate) read_types: Vec<Type>,
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
    /// Whether it is stored in another form than that of its type.
    pub(crate) recoded: bool,
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
        let (accessors, root) = root::resolve(parsed, sink);
        (Body::Struct(accessors), Some(root))
    } else {
        (embedded(parsed, sink), None)
    };
    Model {
        ident: parsed.ident.clone(),
        vis: parsed.vis.clone(),
        generics: Generics::new(&parsed.generics),
        usable: parsed.usable,
        krate: parsed
            .attributes
            .krate
            .clone()
            .unwrap_or_else(|| syn::parse_quote!(::marula)),
        fields_ident,
        body,
        read_types: read_types(parsed),
        root,
        reads_itself: reads_itself(parsed),
        is_result: false,
        is_only_read: false,
    }
}

fn reads_itself(parsed: &Parsed) -> bool {
    matches!(&parsed.body, parse::Body::Named(fields) if fields.iter().any(|f| f.attributes.flatten.is_some()))
}

/// The types whose own `Deserialize` reads a part of a value of the type.
fn read_types(parsed: &Parsed) -> Vec<Type> {
    if parsed.serde.conversion.is_some() {
        return parsed.serde.read_as.iter().cloned().collect();
    }
    match &parsed.body {
        parse::Body::Named(fields) | parse::Body::Tuple(fields) => fields::read_types(fields),
        parse::Body::Enum(variants) => variants.iter().flat_map(enums::read_types).collect(),
        parse::Body::Empty => Vec::new(),
    }
}

fn embedded(parsed: &Parsed, sink: &Sink) -> Body {
    if parsed.serde.conversion.is_some() {
        let place = "a field of a type with a serde conversion";
        match &parsed.body {
            parse::Body::Named(fields) | parse::Body::Tuple(fields) => encrypted::reject(fields, place, sink),
            parse::Body::Enum(variants) => {
                for variant in variants {
                    encrypted::reject(variant.shape.fields(), place, sink);
                }
            }
            parse::Body::Empty => {}
        }
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
    let fields: Vec<&parse::Field> = match &parsed.body {
        parse::Body::Named(fields) | parse::Body::Tuple(fields) => fields.iter().collect(),
        parse::Body::Enum(variants) => variants.iter().flat_map(|v| v.shape.fields()).collect(),
        parse::Body::Empty => Vec::new(),
    };
    let written = fields.iter().filter(|f| !f.serde.skipped);
    let types: Vec<Type> = written.map(|f| f.ty.clone()).collect();
    if types.is_empty() {
        Body::Plain
    } else {
        Body::Opaque(types)
    }
}

/// A newtype, or another struct that serde stores as its only field.
fn transparent(fields: &[parse::Field], parsed: &Parsed, sink: &Sink) -> Body {
    encrypted::reject(fields, "the content of a newtype", sink);
    let stored: Vec<(usize, &parse::Field)> = fields
        .iter()
        .enumerate()
        .filter(|(_, f)| !f.serde.skipped)
        .collect();
    match stored[..] {
        [(index, field)] => match fields::kind(field, sink) {
            AccessorKind::Opaque => Body::Opaque(vec![field.ty.clone()]),
            AccessorKind::As(ty) => Body::Newtype(Box::new(Newtype {
                ty,
                member: None,
                converted: Some(field.ty.clone()),
                by_function: field.serde.with.is_some(),
                is_only: false,
            })),
            _ => Body::Newtype(Box::new(Newtype {
                ty: field.ty.clone(),
                member: Some(field.ident.clone().map_or(Member::from(index), Member::Named)),
                converted: None,
                by_function: false,
                is_only: fields.len() == 1,
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
