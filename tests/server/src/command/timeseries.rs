//! Time series collections: their options, and the rules of their indexes and writes.

use super::Call;
use crate::error::{Error, Result, code};
use crate::refusal::ServerProfile;
use crate::refusal::timeseries as rows;
use crate::storage::index_key::IndexType;
use crate::storage::{Collection, Namespace, index_spec};
use crate::value::number::Number;
use crate::value::{format, truthy};
use bson::{Bson, Document, doc};

/// The options of `create` that `timeseries` may not be combined with.
const WITHOUT: [&str; 14] = [
    "capped",
    "size",
    "max",
    "autoIndexId",
    "idIndex",
    "validator",
    "validationLevel",
    "validationAction",
    "viewOn",
    "pipeline",
    "changeStreamPreAndPostImages",
    "clusteredIndex",
    "encryptedFields",
    "recordPreImages",
];

/// The default `bucketMaxSpanSeconds` of a granularity; `None` for an unknown one.
fn max_span(granularity: &str) -> Option<i32> {
    match granularity {
        "seconds" => Some(3_600),
        "minutes" => Some(86_400),
        "hours" => Some(2_592_000),
        _ => None,
    }
}

/// The option `timeseries` of a `create` command, completed with defaults.
pub(super) fn options(call: &Call<'_>, spec: &Document, namespace: &Namespace) -> Result<Document> {
    let profile = call.deployment.profile();
    for (name, value) in call.body {
        let accepted = name == "capped" && !truthy(value);
        if WITHOUT.contains(&name.as_str()) && !accepted {
            return Err(rows::OPTION.error(&[namespace, name]));
        }
    }
    check_fields(spec, "create", profile)?;
    let Some(Bson::String(time)) = spec.get("timeField") else {
        return Err(Error::new(
            code::MISSING_FIELD,
            "BSON field 'create.timeseries.timeField' is missing but a required field",
        ));
    };
    if time.contains('.') {
        return Err(rows::TIME_DOTTED.error(&[namespace]));
    }
    if time.is_empty() {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "'timeField' must be a field name",
        ));
    }
    if let Some(meta) = spec.get("metaField") {
        match meta.as_str() {
            None => {
                return Err(Error::type_mismatch(format!(
                    "BSON field 'create.timeseries.metaField' is the wrong type '{}', expected type 'string'",
                    crate::value::type_name(meta)
                )));
            }
            Some("_id") => return Err(rows::META_ID.error(&[])),
            Some(meta) if meta == time => return Err(rows::META_TIME.error(&[])),
            Some(meta) if meta.contains('.') => return Err(rows::META_DOTTED.error(&[namespace])),
            Some(_) => {}
        }
    }
    with_spans(spec, profile)
}

/// Adds the index on the `metaField` and the `timeField`, which versions since 6.3 create with the
/// collection.
pub(super) fn add_default_index(
    collection: &mut Collection,
    namespace: &Namespace,
    profile: ServerProfile,
) -> Result<()> {
    let (Some(meta), Some(time)) = (&collection.meta_field, &collection.time_field) else {
        return Ok(());
    };
    if !profile.version.at_least(6, 3) {
        return Ok(());
    }
    let spec = doc! { "key": { meta: 1, time: 1 }, "name": format!("{meta}_1_{time}_1") };
    let index = index_spec::parse(&spec, profile, collection.collation.as_ref())?;
    collection.add_index(index, &namespace.to_string())
}

fn check_fields(spec: &Document, command: &str, profile: ServerProfile) -> Result<()> {
    for name in spec.keys() {
        match name.as_str() {
            "bucketRoundingSeconds" => rows::ROUNDING_VERSION.check(profile, true, &[&command])?,
            "granularity" | "bucketMaxSpanSeconds" => {}
            "timeField" | "metaField" if command == "create" => {}
            other => {
                return Err(Error::new(
                    code::UNKNOWN_FIELD,
                    format!("BSON field '{command}.timeseries.{other}' is an unknown field."),
                ));
            }
        }
    }
    if let Some(granularity) = spec.get("granularity") {
        let name = granularity.as_str().unwrap_or_default();
        if max_span(name).is_none() {
            return Err(rows::GRANULARITY.error(&[&name]));
        }
    }
    Ok(())
}

fn seconds(spec: &Document, name: &str) -> Option<i64> {
    let number = spec.get(name).and_then(Number::from_bson)?;
    Some(number.to_saturated_i64())
}

/// Completes the spans of buckets.
fn with_spans(spec: &Document, profile: ServerProfile) -> Result<Document> {
    let mut stored = spec.clone();
    let (span, rounding) = (
        seconds(spec, "bucketMaxSpanSeconds"),
        seconds(spec, "bucketRoundingSeconds"),
    );
    let given = spec.get_str("granularity").ok();
    let later = profile.version.at_least(6, 3);
    let granularity = given.unwrap_or("seconds");
    let default = max_span(granularity).unwrap_or(3_600);
    let other = span.is_some_and(|span| span != i64::from(default));
    rows::MAX_SPAN.check(profile, other, &[&default])?;
    if given.is_some() || !later || (span.is_none() && rounding.is_none()) {
        let verb = if profile.version.at_least(8, 0) {
            "Time-series 'bucketMaxSpanSeconds' cannot be set"
        } else {
            "Timeseries 'bucketMaxSpanSeconds' is not configurable"
        };
        rows::SPAN_AND_GRANULARITY
            .check(profile, other, &[&default])
            .map_err(|error| Error {
                message: format!("{verb}{}", error.message),
                ..error
            })?;
        rows::ROUNDING_AND_GRANULARITY.check(profile, rounding.is_some(), &[])?;
        stored.insert("granularity", granularity);
        stored.insert("bucketMaxSpanSeconds", default);
    } else if span != rounding {
        return Err(rows::SPAN_AND_ROUNDING.error(&[]));
    }
    Ok(stored)
}

/// `timeseries` of a `collMod` command: the option of the collection afterwards.
pub(super) fn modified(old: &Document, change: &Document, profile: ServerProfile) -> Result<Document> {
    check_fields(change, "collMod", profile)?;
    let mut new = old.clone();
    let invalid = |message: &str| Err(Error::new(code::INVALID_OPTIONS, message));
    let (span, rounding) = (
        seconds(change, "bucketMaxSpanSeconds"),
        seconds(change, "bucketRoundingSeconds"),
    );
    if let Ok(granularity) = change.get_str("granularity") {
        let rank = |name: &str| max_span(name).unwrap_or_default();
        if span.is_some_and(|span| span != i64::from(rank(granularity))) {
            return invalid(
                "Timeseries 'bucketMaxSpanSeconds' is not configurable to a value other than the default for the provided granularity",
            );
        }
        if rounding.is_some() {
            return invalid(
                "Timeseries 'bucketRoundingSeconds' is not configurable alongside the granularity parameter",
            );
        }
        // A custom span has no granularity, and any granularity with a greater span may follow.
        let current = old.get_str("granularity").map_or_else(
            |_| seconds(old, "bucketMaxSpanSeconds").unwrap_or_default(),
            |name| i64::from(rank(name)),
        );
        if i64::from(rank(granularity)) < current {
            return Err(rows::TRANSITION.error(&[]));
        }
        new.insert("granularity", granularity);
        new.insert("bucketMaxSpanSeconds", rank(granularity));
        new.remove("bucketRoundingSeconds");
        return Ok(new);
    }
    match (span, rounding) {
        (None, None) => Ok(new),
        (Some(span), Some(rounding)) if span == rounding => {
            if span < seconds(old, "bucketMaxSpanSeconds").unwrap_or_default() {
                return invalid(
                    "Timeseries 'bucketMaxSpanSeconds' needs to be equal or greater to transition",
                );
            }
            new.remove("granularity");
            new.insert("bucketMaxSpanSeconds", span as i32);
            new.insert("bucketRoundingSeconds", span as i32);
            Ok(new)
        }
        (Some(_), Some(_)) => {
            invalid("Timeseries 'bucketRoundingSeconds' needs to be equal to 'bucketMaxSpanSeconds'")
        }
        _ => invalid(
            "Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' need to be set alongside each other",
        ),
    }
}

/// Whether a path is the field or below it.
fn is_within(path: &str, field: &str) -> bool {
    path.strip_prefix(field)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Checks an index specification for a time series collection.
pub(super) fn check_index(collection: &Collection, spec: &Document, profile: ServerProfile) -> Result<()> {
    let Some(time) = &collection.time_field else {
        return Ok(());
    };
    let meta = collection.meta_field.as_deref();
    let is_meta = |path: &str| meta.is_some_and(|meta| is_within(path, meta));
    let empty = Document::new();
    let key = spec.get_document("key").unwrap_or(&empty);
    let partial = spec.get_document("partialFilterExpression").ok();
    let on_measurement = key.keys().any(|path| path != time && !is_meta(path));
    for (name, value) in spec {
        match name.as_str() {
            "partialFilterExpression" => {
                rows::INDEX_PARTIAL.check(profile, true, &[])?;
                rows::INDEX_PARTIAL_COLLATION.check(profile, spec.contains_key("collation"), &[])?;
            }
            "sparse" => {
                rows::INDEX_SPARSE_BEFORE_6.check(profile, true, &[])?;
                rows::INDEX_SPARSE.check(profile, on_measurement, &[])?;
            }
            "unique" if truthy(value) => return Err(rows::INDEX_UNIQUE.error(&[])),
            "key" => {
                if IndexType::of(key) == IndexType::Text {
                    return Err(rows::INDEX_TEXT.error(&[]));
                }
                check_key(key, time, meta, profile)?;
            }
            _ => {}
        }
    }
    if spec.contains_key("expireAfterSeconds") {
        rows::INDEX_TTL_BEFORE_7.check(profile, true, &[])?;
        let on_meta = partial.is_some_and(|filter| filter.keys().all(|path| is_meta(path)));
        rows::INDEX_TTL.check(profile, !on_meta, &[])?;
        let other = key.keys().next().is_some_and(|path| path != time);
        rows::INDEX_TTL_FIELD.check(profile, key.len() == 1 && other, &[])?;
    }
    Ok(())
}

fn check_key(key: &Document, time: &str, meta: Option<&str>, profile: ServerProfile) -> Result<()> {
    let invalid = |error: Error| Error {
        message: format!(
            "BadValue: Invalid index spec for time-series collection: {}. {}",
            format::document(key),
            error.message
        ),
        ..error
    };
    for (path, value) in key {
        let shown = format!("{path}: {}", format::bson(value));
        let ordered = Number::from_bson(value).is_some();
        if path == time {
            if !ordered {
                return Err(invalid(rows::INDEX_TIME_TYPE.error(&[&shown])));
            }
        } else if !meta.is_some_and(|meta| is_within(path, meta)) {
            let fields = match meta {
                Some(meta) => format!("'{time}' and '{meta}' fields."),
                None => format!("'{time}' field."),
            };
            rows::INDEX_MEASUREMENT
                .check(profile, true, &[&fields, path])
                .map_err(invalid)?;
            let wildcard = path == "$**" || path.ends_with(".$**");
            rows::INDEX_WILDCARD.check(profile, wildcard, &[])?;
            rows::INDEX_WILDCARD_BEFORE_7.check(profile, wildcard, &[])?;
            let allowed = ordered || value.as_str() == Some("2dsphere");
            rows::INDEX_MEASUREMENT_TYPE
                .check(profile, !allowed, &[&shown])
                .map_err(invalid)?;
        }
    }
    Ok(())
}

/// Checks a statement of `update` on a time series collection.
pub(super) fn check_update(
    call: &Call<'_>,
    collection: &Collection,
    statement: &Document,
    namespace: &Namespace,
) -> Result<()> {
    if collection.time_field.is_none() {
        return Ok(());
    }
    let profile = call.deployment.profile();
    let on = |name: &str| statement.get(name).is_some_and(truthy);
    let Some(meta) = &collection.meta_field else {
        // The order of the checks has changed in 7.0.
        if call.deployment.version.at_least(7, 0) {
            check_update_kind(on("multi"), on("upsert"))?;
        }
        return Err(rows::UPDATE_NO_META.error(&[]));
    };
    check_update_kind(on("multi"), on("upsert"))?;
    if let Ok(query) = statement.get_document("q") {
        check_query(query, meta)?;
    }
    match statement.get("u") {
        Some(Bson::Array(_)) => Err(rows::UPDATE_PIPELINE.error(&[])),
        Some(Bson::Document(update)) => {
            let changed = update.values().filter_map(Bson::as_document);
            let other = changed
                .flat_map(Document::keys)
                .any(|path| !is_within(path, meta));
            rows::UPDATE_FIELD.check(profile, other, &[meta])
        }
        _ => Ok(()),
    }?;
    let buckets = buckets(namespace);
    rows::TRANSACTION_UPDATE.check(profile, call.in_transaction(), &[&buckets])
}

/// The collection in which MongoDB stores the measurements, as messages name it.
fn buckets(namespace: &Namespace) -> String {
    format!("{}.system.buckets.{}", namespace.database, namespace.collection)
}

fn check_update_kind(multi: bool, upsert: bool) -> Result<()> {
    if !multi {
        return Err(rows::UPDATE_ONE.error(&[]));
    }
    if upsert {
        return Err(rows::UPSERT.error(&[]));
    }
    Ok(())
}

/// Checks a statement of `delete` on a time series collection.
pub(super) fn check_delete(
    call: &Call<'_>,
    collection: &Collection,
    statement: &Document,
    namespace: &Namespace,
) -> Result<()> {
    let profile = call.deployment.profile();
    if collection.time_field.is_none() {
        return Ok(());
    }
    let one = statement.get("limit").is_some_and(truthy);
    let in_transaction = call.in_transaction() && !one;
    rows::TRANSACTION_DELETE.check(profile, in_transaction, &[&buckets(namespace)])?;
    if !rows::DELETE_QUERY.applies(profile) {
        return Ok(());
    }
    let query = statement.get_document("q").ok();
    let filtered = query.is_some_and(|query| !query.is_empty());
    let meta = collection.meta_field.as_deref();
    rows::DELETE_NO_META.check(profile, filtered && meta.is_none(), &[])?;
    rows::DELETE_ONE.check(profile, one, &[])?;
    match (query, meta) {
        (Some(query), Some(meta)) => check_query(query, meta),
        _ => Ok(()),
    }
}

fn check_query(query: &Document, meta: &str) -> Result<()> {
    for (name, value) in query {
        match (name.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(clauses)) => {
                for clause in clauses.iter().filter_map(Bson::as_document) {
                    check_query(clause, meta)?;
                }
            }
            ("$expr" | "$where", _) => {
                return Err(Error::new(
                    code::INVALID_OPTIONS,
                    format!(
                        "Cannot use {name} when performing an update or delete on a time-series collection"
                    ),
                ));
            }
            (name, _) if name.starts_with('$') || is_within(name, meta) => {}
            _ => return Err(rows::UPDATE_QUERY.error(&[&meta])),
        }
    }
    Ok(())
}

/// Checks `findAndModify` on a time series collection.
pub(super) fn check_find_and_modify(
    call: &Call<'_>,
    collection: &Collection,
    namespace: &Namespace,
) -> Result<()> {
    if collection.time_field.is_none() {
        return Ok(());
    }
    rows::FIND_AND_MODIFY.check(call.deployment.profile(), true, &[namespace])?;
    let updates = call.body.contains_key("update");
    let sorts = call.args().document("sort")?.is_some_and(|sort| !sort.is_empty());
    rows::FIND_AND_MODIFY_SORT.check(call.deployment.profile(), sorts, &[])?;
    rows::FIND_AND_MODIFY_UPDATE.check(call.deployment.profile(), updates, &[])
}

/// Fails on an insert in a transaction.
pub(super) fn check_insert(call: &Call<'_>, collection: &Collection, namespace: &Namespace) -> Result<()> {
    let in_transaction = call.in_transaction() && collection.time_field.is_some();
    rows::TRANSACTION.check(call.deployment.profile(), in_transaction, &[namespace])
}
