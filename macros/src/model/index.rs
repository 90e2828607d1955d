//! Indexes: resolves their first path segments and checks the combinations of options.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::{GenericArgument, Ident, LitStr, PathArguments, Type};

use crate::{
    diagnostics::{Sink, did_you_mean},
    model::{
        enum_root, fields,
        partial::{self, Partial},
    },
    parse::{
        Field, Parsed,
        index::{FieldPath, IndexAttribute, Key, KeyKind},
    },
    symbol,
};

/// An index without errors.
pub(crate) struct Index {
    pub(crate) keys: Vec<Key>,
    pub(crate) unique: bool,
    pub(crate) sparse: bool,
    pub(crate) hidden: bool,
    pub(crate) name: Option<LitStr>,
    pub(crate) renamed_from: Option<LitStr>,
    pub(crate) ttl: Option<u32>,
    pub(crate) language: Option<LitStr>,
    pub(crate) language_override: Option<LitStr>,
    pub(crate) collation: Option<Vec<crate::parse::index::CollationOption>>,
    pub(crate) partial: Option<Partial>,
}

/// All indexes of the type: the `index(…)` attributes, then the shorthands on fields.
pub(super) fn resolve(parsed: &Parsed, fields: &[Field], sink: &Sink) -> Vec<Index> {
    let mut seen = Seen::default();
    let mut indexes = Vec::new();
    let id = fields::id_ident(fields, parsed.serde.rename_all);
    for attribute in &parsed.attributes.indexes {
        let known = known(attribute, parsed, fields, sink);
        check(attribute, fields, sink);
        check_id(attribute, id, sink);
        seen.check(attribute, sink);
        if known {
            indexes.push(index(attribute, fields, parsed, sink));
        }
    }
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let (span, unique) = match (field.attributes.index, field.attributes.unique) {
            (Some(span), _) => (span, None),
            (None, Some(span)) => (span, Some(span)),
            (None, None) => continue,
        };
        if field.serde.skipped || field.serde.flatten.is_some() {
            sink.at(
                span,
                format!("`{ident}` has no stored value of its own that an index could hold"),
            );
            continue;
        }
        let path = FieldPath {
            segments: vec![ident.clone()],
        };
        let mut attribute = IndexAttribute::new(span);
        attribute.keys.push(Key {
            path: Some(path),
            kind: KeyKind::Ascending,
            span,
        });
        attribute.unique = unique;
        check_id(&attribute, id, sink);
        seen.check(&attribute, sink);
        indexes.push(index(&attribute, fields, parsed, sink));
    }
    indexes
}

fn index(attribute: &IndexAttribute, fields: &[Field], parsed: &Parsed, sink: &Sink) -> Index {
    let keys = attribute.keys.iter().map(|k| Key {
        path: k.path.clone(),
        kind: match &k.kind {
            KeyKind::Ascending => KeyKind::Ascending,
            KeyKind::Descending => KeyKind::Descending,
            KeyKind::Text { weight } => KeyKind::Text {
                weight: weight.clone(),
            },
            KeyKind::Geo => KeyKind::Geo,
            KeyKind::Hashed => KeyKind::Hashed,
            KeyKind::Wildcard => KeyKind::Wildcard,
        },
        span: k.span,
    });
    Index {
        keys: keys.collect(),
        unique: attribute.unique.is_some(),
        sparse: attribute.sparse.is_some(),
        hidden: attribute.hidden.is_some(),
        name: attribute.name.clone(),
        renamed_from: attribute.renamed_from.clone(),
        // For a compound index an error has been reported already.
        ttl: attribute
            .ttl
            .filter(|_| attribute.keys.len() == 1)
            .map(|(seconds, _)| seconds),
        language: attribute.language.clone(),
        language_override: attribute.language_override.clone(),
        collation: attribute.collation.as_ref().map(|options| {
            let copy = |o: &crate::parse::index::CollationOption| crate::parse::index::CollationOption {
                name: o.name,
                value: o.value.clone(),
            };
            options.iter().map(copy).collect()
        }),
        partial: attribute
            .partial
            .as_ref()
            .and_then(|(e, _)| partial::resolve(e, fields, parsed, sink)),
    }
}

/// Whether the first segments of all keys are fields. The compiler checks further segments.
pub(super) fn known(attribute: &IndexAttribute, parsed: &Parsed, fields: &[Field], sink: &Sink) -> bool {
    let mut known = true;
    for path in attribute.keys.iter().filter_map(|k| k.path.as_ref()) {
        known &= check_first(path, fields, parsed, &symbol::INDEX_FLAGS, sink);
    }
    known
}

/// Reports a path whose first segment is not a stored field. `flags`: the items that can stand in
/// place of a path.
pub(super) fn check_first(
    path: &FieldPath,
    fields: &[Field],
    parsed: &Parsed,
    flags: &[&'static str],
    sink: &Sink,
) -> bool {
    let Some(first) = path.segments.first() else {
        return false;
    };
    let field = fields
        .iter()
        .find(|f| f.ident.as_ref().is_some_and(|i| i.unraw() == first.unraw()));
    match field {
        Some(field) if field.serde.skipped => {
            sink.on(first, format!("`{first}` is skipped by serde: it is not stored"));
            false
        }
        Some(field) if field.attributes.encrypted.is_some() => {
            sink.on(
                first,
                format!("`{first}` is encrypted: indexes, their partial filters, search indexes, shard keys and time series cannot use it"),
            );
            false
        }
        Some(_) if enum_root::is_variant(path, parsed) => {
            sink.on(
                first,
                format!("`{first}` is a variant; continue the path with one of its fields"),
            );
            false
        }
        Some(_) => true,
        None => {
            let names: Vec<String> = fields
                .iter()
                .filter_map(|f| f.ident.as_ref().map(|i| i.unraw().to_string()))
                .collect();
            let flags = flags.iter().copied().filter(|_| path.segments.len() == 1);
            let hint = enum_root::hint(first, parsed).unwrap_or_else(|| {
                did_you_mean(&first.to_string(), names.iter().map(String::as_str).chain(flags))
            });
            sink.on(first, format!("no field `{first}` of `{}`{hint}", parsed.ident));
            false
        }
    }
}

/// Reports an index on the id alone. `id`: the field that is stored as `_id`.
fn check_id(index: &IndexAttribute, id: Option<&Ident>, sink: &Sink) {
    let [
        Key {
            kind: KeyKind::Ascending | KeyKind::Descending,
            path: Some(path),
            span,
        },
    ] = &index.keys[..]
    else {
        return;
    };
    if let ([segment], Some(id)) = (&path.segments[..], id)
        && segment.unraw() == id.unraw()
    {
        sink.at(
            *span,
            "every collection has a unique index on `_id`, which has no other options: remove this index",
        );
    }
}

/// Checks the rules of wildcard keys.
fn check_wildcard(index: &IndexAttribute, wildcard: &Key, sink: &Sink) {
    if let Some(span) = index.unique {
        sink.at(
            span,
            "a wildcard index cannot be unique; declare a second index with `unique`",
        );
    }
    if let Some(span) = index.sparse {
        sink.at(
            span,
            "a wildcard index cannot be sparse: it contains no documents without its fields in any case",
        );
    }
    let is_wildcard = |key: &&Key| matches!(key.kind, KeyKind::Wildcard);
    if let Some(second) = index.keys.iter().filter(is_wildcard).nth(1) {
        sink.at(second.span, "an index has at most one wildcard key");
        return;
    }
    let mut others = index.keys.iter().filter(|key| !is_wildcard(key));
    let Some(root) = &wildcard.path else {
        if others.next().is_some() {
            sink.at(
                wildcard.span,
                "a wildcard key of the whole document cannot be beside other keys; use `wildcard(field)`",
            );
        }
        return;
    };
    let is_below = |key: &&Key| key.path.as_ref().is_some_and(|path| path.starts_with(root));
    if let Some(key) = others.find(is_below) {
        sink.at(
            key.span,
            format!("this key is one of the fields of `wildcard({})`", root.text()),
        );
    }
}

/// Checks combinations that servers reject.
fn check(index: &IndexAttribute, fields: &[Field], sink: &Sink) {
    let is = |kind: fn(&KeyKind) -> bool| index.keys.iter().find(|k| kind(&k.kind));
    let text = is(|k| matches!(k, KeyKind::Text { .. }));
    let hashed = is(|k| matches!(k, KeyKind::Hashed));
    let wildcard = is(|k| matches!(k, KeyKind::Wildcard));
    if let (Some(span), Some(_)) = (index.sparse, &index.partial) {
        sink.at(span, "`sparse` and `partial` cannot be combined; a partial filter with `exists()` has the effect of `sparse`");
    }
    if let Some((_, span)) = index.ttl {
        let plain = matches!(
            index.keys[..],
            [Key {
                kind: KeyKind::Ascending | KeyKind::Descending,
                ..
            }]
        );
        if !plain {
            sink.at(
                span,
                "a TTL index has exactly one key, a date; the server ignores `ttl` on anything else",
            );
        }
    }
    if let (Some(span), Some(_)) = (index.unique, hashed) {
        sink.at(
            span,
            "a hashed index cannot be unique; declare a second index with `unique`",
        );
    }
    if let Some(wildcard) = wildcard {
        check_wildcard(index, wildcard, sink);
    }
    for language in [&index.language, &index.language_override].into_iter().flatten() {
        if text.is_none() {
            sink.on(language, "only a text index has a language");
        }
    }
    if let (Some(_), Some(collation), Some(key)) = (text, &index.collation, text) {
        let simple = collation
            .iter()
            .any(|o| o.name == "locale" && matches!(&o.value, syn::Lit::Str(s) if s.value() == "simple"));
        if !simple {
            sink.at(
                key.span,
                "a text index takes only the collation `locale = \"simple\"`",
            );
        }
    }
    if index
        .keys
        .iter()
        .filter(|k| matches!(k.kind, KeyKind::Hashed))
        .count()
        > 1
    {
        sink.at(index.span, "an index has at most one hashed key");
    }
    check_twice(index, sink);
    check_arrays(index, fields, sink);
    check_sparse(index, fields, sink);
}

/// Finds unique sparse indexes that contain documents whose nullable key is `None`, of which two would be duplicates. Keys of nested
/// fields are not checked.
fn check_sparse(index: &IndexAttribute, fields: &[Field], sink: &Sink) {
    let (Some(_), Some(span)) = (index.unique, index.sparse) else {
        return;
    };
    let field = |key: &Key| {
        let [segment] = &key.path.as_ref()?.segments[..] else {
            return None;
        };
        fields.iter().find(|f| f.ident.as_ref() == Some(segment))
    };
    let keys: Vec<&Field> = index.keys.iter().filter_map(field).collect();
    let is_always_stored = |f: &&&Field| f.is_written() && !f.serde.omitted && f.serde.flatten.is_none();
    let always = keys.iter().find(is_always_stored).and_then(|f| f.ident.as_ref());
    let nullable = keys.iter().find(|f| f.is_option() && f.has_form_of_type());
    let nullable = nullable.and_then(|f| f.ident.as_ref());
    let (Some(always), Some(nullable)) = (always, nullable) else {
        return;
    };
    let reason = if always == nullable {
        format!(
            "`sparse` leaves out documents without the field `{nullable}`, which is stored as null where it is `None`, so that the second \
             `None` would be a duplicate; leave `None` out with `#[document(skip_none)]` on the field"
        )
    } else {
        format!(
            "every document has the field `{always}`, so that a sparse index also contains those whose `{nullable}` is `None`, of which two \
             can be duplicates; use `partial` in place of `sparse`, such as `partial({nullable} > …)`"
        )
    };
    sink.at(span, reason);
}

/// Reports a path that occurs twice.
pub(super) fn check_twice(index: &IndexAttribute, sink: &Sink) {
    for (i, key) in index.keys.iter().enumerate() {
        let Some(path) = &key.path else { continue };
        if index
            .keys
            .iter()
            .take(i)
            .filter_map(|k| k.path.as_ref())
            .any(|p| p.text() == path.text())
        {
            sink.at(path.span(), format!("`{}` occurs twice in the keys", path.text()));
        }
    }
}

/// Finds keys in two arrays of the root (parallel arrays). Nested arrays are found when the schema
/// is planned.
fn check_arrays(index: &IndexAttribute, fields: &[Field], sink: &Sink) {
    let mut first: Option<&Ident> = None;
    for key in index.keys.iter().filter(|k| !matches!(k.kind, KeyKind::Wildcard)) {
        let Some(segment) = key.path.as_ref().and_then(|p| p.segments.first()) else {
            continue;
        };
        let field = fields.iter().find(|f| f.ident.as_ref() == Some(segment));
        if !field.is_some_and(|f| is_array(&f.ty) && f.serde.flatten.is_none()) {
            continue;
        }
        match first {
            Some(other) if other != segment => {
                sink.on(
                    segment,
                    format!("`{other}` and `{segment}` are both arrays: a compound index can contain at most one array"),
                );
            }
            _ => first = Some(segment),
        }
    }
}

/// Whether the type is an array by its name. Type aliases are not resolved.
fn is_array(ty: &Type) -> bool {
    match ty {
        Type::Array(_) => true,
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            let inner = match &last.arguments {
                PathArguments::AngleBracketed(args) => args.args.first(),
                _ => None,
            };
            match last.ident.to_string().as_str() {
                "Option" | "Box" => matches!(inner, Some(GenericArgument::Type(ty)) if is_array(ty)),
                name => symbol::ARRAYS.contains(&name),
            }
        }),
        _ => false,
    }
}

/// Checks indexes of which a collection can have only one.
#[derive(Default)]
struct Seen {
    text: Option<Span>,
    names: Vec<String>,
    keys: Vec<String>,
}

impl Seen {
    fn check(&mut self, index: &IndexAttribute, sink: &Sink) {
        if let Some(key) = index.keys.iter().find(|k| matches!(k.kind, KeyKind::Text { .. })) {
            if self.text.is_some() {
                sink.at(
                    key.span,
                    "a collection has at most one text index; put all text keys into one `index(…)`",
                );
            }
            self.text = Some(key.span);
        }
        if let Some(name) = &index.name {
            if self.names.contains(&name.value()) {
                sink.on(name, format!("two indexes are named \"{}\"", name.value()));
            }
            self.names.push(name.value());
            return;
        }
        let keys: Vec<String> = index.keys.iter().map(signature).collect();
        let keys = keys.join(", ");
        if self.keys.contains(&keys) {
            sink.at(
                index.span,
                format!("two indexes on `{keys}` would get the same name; give one of them a `name = \"…\"`"),
            );
        }
        self.keys.push(keys);
    }
}

fn signature(key: &Key) -> String {
    let path = key.path.as_ref().map(FieldPath::text).unwrap_or_default();
    match key.kind {
        KeyKind::Ascending => path,
        KeyKind::Descending => format!("-{path}"),
        KeyKind::Text { .. } => format!("text({path})"),
        KeyKind::Geo => format!("geo({path})"),
        KeyKind::Hashed => format!("hashed({path})"),
        KeyKind::Wildcard => format!("wildcard({path})"),
    }
}
