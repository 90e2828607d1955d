//! What `Document` adds: the collection, the id, the indexes.

use syn::Ident;

use crate::diagnostics::Sink;
use crate::model::index::{self, Index};
use crate::model::{
    Accessor, Id, Managed, Root, collection, encrypted, fields, managed, restrictions, search,
};
use crate::parse::{self, IdSource, Parsed};

pub(super) fn resolve(parsed: &Parsed, sink: &Sink) -> (Vec<Accessor>, Root) {
    if let Some((attribute, span)) = &parsed.serde.conversion {
        sink.at(
            *span,
            format!("`{attribute}` hides how a document is stored; put such a type into a field instead"),
        );
    }
    if parsed.attributes.collection.is_none()
        && !parsed.attributes.broken
        && !matches!(parsed.body, parse::Body::Empty)
    {
        sink.on(
            &parsed.ident,
            "no collection: add `#[document(collection = \"…\")]`",
        );
    }
    let name = parsed
        .attributes
        .collection
        .as_ref()
        .map_or_else(String::new, syn::LitStr::value);
    let mut search_indexes = Vec::new();
    let (accessors, id, indexes, options, managed) = match &parsed.body {
        parse::Body::Named(named) => {
            fields::check_unwritten(named, parsed.serde.default, sink);
            encrypted::check(named, parsed, sink);
            let accessors = fields::resolve(named, &parsed.serde, parsed.serde.rename_all, sink);
            let id = id(named, &parsed.ident, parsed, sink);
            let indexes = index::resolve(parsed, named, sink);
            search_indexes = search::resolve(parsed, named, sink);
            let options = collection::resolve(parsed, named, sink);
            let managed = managed::resolve(parsed, named, sink);
            restrictions::check(parsed, named, &managed, sink);
            (accessors, id, indexes, options, managed)
        }
        parse::Body::Tuple(_) => {
            sink.on(&parsed.ident, "`Document` is for structs with named fields");
            (
                Vec::new(),
                None,
                Vec::<Index>::new(),
                Vec::new(),
                Managed::default(),
            )
        }
        // An enum or a union, reported already.
        parse::Body::Enum(_) | parse::Body::Empty => {
            (Vec::new(), None, Vec::new(), Vec::new(), Managed::default())
        }
    };
    (
        accessors,
        Root {
            collection: name,
            id,
            indexes,
            search_indexes,
            options,
            managed,
            validate: parsed.attributes.validate.clone(),
            hooks: parsed.attributes.hooks,
        },
    )
}

/// The id: the field with the attribute `id`, otherwise the one stored as `_id`.
fn id(named: &[parse::Field], ident: &Ident, parsed: &Parsed, sink: &Sink) -> Option<Id> {
    let mut marked = named
        .iter()
        .filter_map(|f| f.attributes.id.map(|(span, source)| (f, span, source)));
    let first = marked.next();
    for (field, span, _) in marked {
        let name = field.ident.as_ref().map_or_else(String::new, ToString::to_string);
        sink.at(
            span,
            format!("a document has one id, and `{name}` is the second; remove `id` from one field"),
        );
    }
    let stored_as_id = |f: &&parse::Field| {
        fields::stored_name(f, parsed.serde.rename_all).as_deref() == Some("_id") && !f.serde.skipped
    };
    let Some((field, span, source)) = first else {
        let Some(field) = named.iter().find(stored_as_id) else {
            match named.iter().filter_map(|f| f.ident.as_ref()).find(|i| *i == "_id") {
                Some(id) => sink.on(id, "`_id` is renamed by `rename_all`: add `#[serde(rename = \"_id\")]`"),
                None => sink.on(
                    ident,
                    "a document needs an id: mark a field with `#[document(id)]` and `#[serde(rename = \"_id\")]`",
                ),
            }
            return None;
        };
        return Some(Id {
            ident: field.ident.clone()?,
            ty: field.ty.clone(),
            source: IdSource::Auto,
            recoded: recoded(field),
        });
    };
    if !stored_as_id(&field) {
        let name = fields::stored_name(field, parsed.serde.rename_all).unwrap_or_default();
        let how = if field.serde.skipped {
            "it is skipped".to_owned()
        } else {
            format!("it is stored as `{name}`")
        };
        sink.at(
            span,
            format!("the id must be stored as `_id`, but {how}: add `#[serde(rename = \"_id\")]`"),
        );
    }
    Some(Id {
        ident: field.ident.clone()?,
        ty: field.ty.clone(),
        source,
        recoded: recoded(field),
    })
}

/// Whether a field is stored in another form than that of its type.
fn recoded(field: &parse::Field) -> bool {
    field.serde.with.is_some() || field.attributes.stored_as.is_some() || field.attributes.opaque.is_some()
}
