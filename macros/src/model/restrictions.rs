//! What MongoDB does not have in time series and capped collections: maintained fields that change
//! documents, kinds of indexes, encrypted fields.

use proc_macro2::Span;

use crate::{
    diagnostics::Sink,
    model::Managed,
    parse::{
        Field, Parsed,
        collection::TimeSeries,
        index::{FieldPath, IndexAttribute, KeyKind},
    },
};

/// Reports what the kind of the collection excludes. The other options of the collection are checked
/// where they are resolved.
pub(super) fn check(parsed: &Parsed, fields: &[Field], managed: &Managed, sink: &Sink) {
    let options = &parsed.attributes.options;
    let kind = match (&options.time_series, &options.capped) {
        (Some(_), _) => "a time series",
        (None, Some(_)) => "a capped collection",
        (None, None) => return,
    };
    for field in fields.iter().filter(|f| f.attributes.encrypted.is_some()) {
        if let Some(ident) = &field.ident {
            sink.on(
                ident,
                format!("`{ident}` is encrypted, and {kind} has no encrypted fields"),
            );
        }
    }
    let Some(series) = &options.time_series else {
        return;
    };
    if let Some(kind) = &parsed.attributes.kind {
        sink.at(
            kind.span,
            "a time series has no kinds: its updates and deletes can only have conditions on its meta field",
        );
    }
    check_managed(managed, sink);
    check_fields(series, fields, sink);
    for index in &parsed.attributes.indexes {
        check_index(index, series, sink);
    }
    let unique = fields.iter().filter_map(|f| f.attributes.unique);
    unique.for_each(|span| refuse_unique(span, sink));
}

/// MongoDB changes documents of a time series only by updates of many, of their meta field.
fn check_managed(managed: &Managed, sink: &Sink) {
    let changed = [
        (&managed.version, "`version` for optimistic locking"),
        (&managed.updated_at, "`updated_at`"),
        (&managed.soft_delete, "`soft_delete`"),
    ];
    for (column, what) in changed {
        if let Some(column) = column {
            sink.on(
                &column.ident,
                format!(
                    "MongoDB does not change single documents of a time series, so {what} cannot be maintained; remove it"
                ),
            );
        }
    }
}

/// `time` and `meta` name fields of the document itself.
fn check_fields(series: &TimeSeries, fields: &[Field], sink: &Sink) {
    let parts = [("time", &series.time), ("meta", &series.meta)];
    for (option, path) in parts {
        let Some(path) = path else { continue };
        let first = path.segments.first();
        let is_flattened = fields
            .iter()
            .any(|f| f.ident.as_ref() == first && f.serde.flatten.is_some());
        if path.segments.len() > 1 && !is_flattened {
            sink.at(
                path.span(),
                format!(
                    "`{option}` of a time series is a field of the document itself, found `{}`",
                    path.text()
                ),
            );
        }
    }
    if let (Some(time), Some(meta)) = (&series.time, &series.meta)
        && time.text() == meta.text()
    {
        sink.at(
            meta.span(),
            "`meta` of a time series is another field than `time`",
        );
    }
}

fn refuse_unique(span: Span, sink: &Sink) {
    sink.at(span, "a time series has no unique indexes; remove `unique`");
}

fn check_index(index: &IndexAttribute, series: &TimeSeries, sink: &Sink) {
    let is_time = |path: &FieldPath| {
        series
            .time
            .as_ref()
            .is_some_and(|time| time.text() == path.text())
    };
    if let (Some(_), Some((_, span))) = (&index.collation, &index.partial) {
        sink.at(
            *span,
            "an index of a time series cannot have both a partial filter and a collation",
        );
    }
    if let (Some((_, span)), Some(_)) = (index.ttl, &index.partial)
        && !index
            .keys
            .iter()
            .all(|key| key.path.as_ref().is_some_and(is_time))
    {
        sink.at(
            span,
            "the TTL of an index of a time series needs its time field as the key",
        );
    }
    if let Some(span) = index.unique {
        refuse_unique(span, sink);
    }
    if let (Some((_, span)), None) = (index.ttl, &index.partial) {
        sink.at(
            span,
            "documents of a time series expire by `timeseries(…, ttl = \"30d\")`; the TTL of an index also needs a `partial` filter on the meta field",
        );
    }
    let first = |path: &FieldPath| path.segments.first().map(ToString::to_string);
    let of_meta = |path: &FieldPath| first(path) == series.meta.as_ref().and_then(first);
    for key in &index.keys {
        let is_of_meta = key.path.as_ref().is_some_and(of_meta);
        match key.kind {
            KeyKind::Text { .. } => sink.at(key.span, "a time series has no text indexes"),
            KeyKind::Hashed if !is_of_meta => {
                sink.at(
                    key.span,
                    "a hashed index of a time series is one of its meta field",
                );
            }
            KeyKind::Wildcard if !is_of_meta => {
                sink.at(
                    key.span,
                    "a wildcard index of a time series is one of its meta field",
                );
            }
            _ => {}
        }
    }
    let are_of_meta = index
        .keys
        .iter()
        .all(|key| key.path.as_ref().is_some_and(of_meta));
    if let (Some(span), false) = (index.sparse, are_of_meta) {
        sink.at(span, "a sparse index of a time series is one of its meta field");
    }
}
