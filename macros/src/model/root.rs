//! What `Document` adds: the collection, the id, the indexes.

use syn::Ident;

use crate::{
    case::Rule,
    diagnostics::Sink,
    model::{
        Body, Id, Managed, Root, collection, encrypted, enum_root, enums, fields,
        index::{self, Index},
        managed, restrictions, search, shard_key,
    },
    parse::{self, IdSource, Parsed},
};

pub(super) fn resolve(parsed: &Parsed, sink: &Sink) -> (Body, Root) {
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
    let (mut search_indexes, mut shard_key) = (Vec::new(), None);
    let (body, id, indexes, options, managed) = match &parsed.body {
        parse::Body::Named(named) => {
            fields::check_unwritten(named, parsed.serde.default, sink);
            encrypted::check(named, parsed, sink);
            let accessors = fields::resolve(named, &parsed.serde, parsed.serde.rename_all, sink);
            let id = id(named, parsed.serde.rename_all, &parsed.ident, sink);
            let indexes = index::resolve(parsed, named, sink);
            search_indexes = search::resolve(parsed, named, sink);
            shard_key = shard_key::resolve(parsed, named, sink);
            let options = collection::resolve(parsed, named, sink);
            let managed = managed::resolve(parsed, named, sink);
            restrictions::check(parsed, named, &managed, sink);
            (Body::Struct(accessors), id, indexes, options, managed)
        }
        parse::Body::Enum(variants) => {
            let body = Body::Enum(enums::with_data(variants, parsed, sink));
            let id = enum_root::id(variants, parsed, sink);
            let paths = enum_root::paths(variants, id.as_ref());
            let indexes = index::resolve(parsed, &paths, sink);
            search_indexes = search::resolve(parsed, &paths, sink);
            shard_key = shard_key::resolve(parsed, &paths, sink);
            let options = collection::resolve(parsed, &paths, sink);
            let managed = enum_root::managed(variants, parsed, sink);
            restrictions::check(parsed, &paths, &managed, sink);
            (body, id, indexes, options, managed)
        }
        parse::Body::Tuple(_) => {
            sink.on(&parsed.ident, "`Document` is for structs with named fields");
            (
                Body::Struct(Vec::new()),
                None,
                Vec::<Index>::new(),
                Vec::new(),
                Managed::default(),
            )
        }
        // A union, reported already.
        parse::Body::Empty => (
            Body::Struct(Vec::new()),
            None,
            Vec::new(),
            Vec::new(),
            Managed::default(),
        ),
    };
    (
        body,
        Root {
            collection: name,
            id,
            indexes,
            search_indexes,
            shard_key,
            options,
            managed,
            validate: parsed.attributes.validate.clone(),
            hooks: parsed.attributes.hooks,
        },
    )
}

/// The id: the field with the attribute `id`, otherwise the one stored as `_id`. `owner`: the struct or the variant with the
/// fields.
pub(super) fn id(named: &[parse::Field], rule: Rule, owner: &Ident, sink: &Sink) -> Option<Id> {
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
    let stored_as_id =
        |f: &&parse::Field| fields::stored_name(f, rule).as_deref() == Some("_id") && !f.serde.skipped;
    if let Some(field) = named.iter().find(stored_as_id)
        && (field.attributes.stored_as.is_some() || field.serde.with.is_some())
    {
        // `find_by_id` and the others send the form of the type.
        sink.on(
            &field.ty,
            "an id has the form of its type; convert it in a newtype, which is then the type of the id: \
             `struct OrderId(#[document(as = Type)] Uuid);`",
        );
    }
    let Some((field, span, source)) = first else {
        let Some(field) = named.iter().find(stored_as_id) else {
            match named.iter().filter_map(|f| f.ident.as_ref()).find(|i| *i == "_id") {
                Some(id) => sink.on(id, "`_id` is renamed by `rename_all`: add `#[serde(rename = \"_id\")]`"),
                None => sink.on(
                    owner,
                    "a document needs an id: mark a field with `#[document(id)]` and `#[serde(rename = \"_id\")]`",
                ),
            }
            return None;
        };
        return Some(Id {
            ident: field.ident.clone()?,
            ty: field.ty.clone(),
            source: IdSource::Auto,
            variants: Vec::new(),
        });
    };
    if !stored_as_id(&field) {
        let name = fields::stored_name(field, rule).unwrap_or_default();
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
        variants: Vec::new(),
    })
}
