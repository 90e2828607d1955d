//! The shard key: checks what `shardCollection` and sharded collections reject.

use syn::ext::IdentExt;

use crate::{
    diagnostics::Sink,
    model::index,
    parse::{
        Field, Parsed,
        index::{FieldPath, IndexAttribute, Key, KeyKind},
    },
};

/// The fields of a shard key, in order.
pub(crate) struct ShardKey {
    /// Whether the field is hashed.
    pub(crate) fields: Vec<(FieldPath, bool)>,
    pub(crate) unique: bool,
}

pub(super) fn resolve(parsed: &Parsed, fields: &[Field], sink: &Sink) -> Option<ShardKey> {
    let attribute = parsed.attributes.shard_key.as_ref()?;
    let known = index::known(attribute, parsed, fields, sink);
    check(attribute, parsed, sink);
    let mut out = ShardKey {
        fields: Vec::new(),
        unique: attribute.unique.is_some(),
    };
    for key in &attribute.keys {
        match (&key.kind, &key.path) {
            (KeyKind::Ascending, Some(path)) => out.fields.push((path.clone(), false)),
            (KeyKind::Hashed, Some(path)) => out.fields.push((path.clone(), true)),
            _ => sink.at(
                key.span,
                "a shard key consists of fields, of which one can be `hashed(field)`",
            ),
        }
    }
    let is_key = |index: &&IndexAttribute| index.unique.is_some();
    for index in parsed.attributes.indexes.iter().filter(is_key) {
        check_unique(&index.keys, attribute, sink);
    }
    for field in fields {
        if let (Some(span), Some(ident)) = (field.attributes.unique, &field.ident) {
            let path = FieldPath {
                segments: vec![ident.clone()],
            };
            let key = Key {
                path: Some(path),
                kind: KeyKind::Ascending,
                span,
            };
            check_unique(&[key], attribute, sink);
        }
    }
    known.then_some(out)
}

fn check(key: &IndexAttribute, parsed: &Parsed, sink: &Sink) {
    let others = [
        key.sparse,
        key.hidden,
        key.name.as_ref().map(syn::LitStr::span),
        key.renamed_from.as_ref().map(syn::LitStr::span),
        key.language.as_ref().map(syn::LitStr::span),
        key.language_override.as_ref().map(syn::LitStr::span),
        key.ttl.map(|(_, span)| span),
        key.partial.as_ref().map(|(_, span)| *span),
        key.collation.as_ref().map(|_| key.span),
    ];
    for span in others.into_iter().flatten() {
        sink.at(span, "a shard key has only the option `unique`");
    }
    let mut hashed = key.keys.iter().filter(|key| matches!(key.kind, KeyKind::Hashed));
    let first = hashed.next();
    if let Some(second) = hashed.next() {
        sink.at(second.span, "a shard key has at most one hashed field");
    }
    if let (Some(span), Some(_)) = (key.unique, first) {
        sink.at(span, "a shard key with a hashed field cannot be unique");
    }
    index::check_twice(key, sink);
    let options = &parsed.attributes.options;
    if options.capped.is_some() {
        sink.at(key.span, "a capped collection cannot be sharded");
    }
    if options.time_series.is_some() {
        sink.at(
            key.span,
            "the shard key of a time series is not declared: shard the collection with the command `shardCollection`",
        );
    }
}

/// Reports a unique index that does not begin with the shard key: the shards cannot keep it unique.
fn check_unique(keys: &[Key], shard_key: &IndexAttribute, sink: &Sink) {
    let is_same = |(key, field): (&Key, &Key)| match (&key.path, &field.path) {
        (Some(key), Some(field)) => {
            key.segments.len() == field.segments.len()
                && key
                    .segments
                    .iter()
                    .zip(&field.segments)
                    .all(|(a, b)| a.unraw() == b.unraw())
        }
        _ => false,
    };
    let begins_with_it = keys.len() >= shard_key.keys.len()
        && keys.iter().zip(&shard_key.keys).all(is_same)
        && keys
            .iter()
            .zip(&shard_key.keys)
            .all(|(key, field)| matches!((&key.kind, &field.kind), (KeyKind::Ascending, KeyKind::Ascending)));
    if begins_with_it {
        return;
    }
    let Some(first) = keys.first() else { return };
    let is_hashed = |key: &Key| matches!(key.kind, KeyKind::Hashed);
    let reason = if shard_key.keys.iter().any(is_hashed) {
        "a collection with a hashed shard key has no unique index other than that on `_id`: remove `unique`"
    } else {
        "a unique index of a sharded collection begins with the fields of the shard key: add them, or remove `unique`"
    };
    sink.at(first.span, reason);
}
