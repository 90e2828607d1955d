//! `create`, `drop`, `dropDatabase`.

use super::args::Args;
use super::{Call, encrypted_fields, timeseries};
use crate::error::{Error, Result, code};
use crate::query::Filter;
use crate::refusal::ServerProfile;
use crate::refusal::collections as rows;
use crate::storage::collection::{Capped, Collection, Validator, View};
use crate::storage::{Namespace, namespace};
use crate::value::collation::Collation;
use crate::value::number::Number;
use crate::value::{format, identical_documents, truthy};
use bson::{Bson, DateTime, Document, doc};

/// The maximum size of a capped collection, in bytes.
pub(super) const MAX_CAPPED_SIZE: i64 = 1 << 50;
/// The number of documents that the limit of a capped collection must be less than.
pub(super) const MAX_CAPPED_DOCUMENTS: i64 = 1 << 31;

pub(crate) fn create(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    namespace.check_creatable()?;
    let collection = with_options(call, &namespace)?;
    super::transaction_rules::check_create(call, &collection)?;
    let mut catalog = call.catalog();
    if let Some(existing) = catalog.get(&namespace) {
        return exists(call, &namespace, existing, &collection).map(|()| Document::new());
    }
    catalog.check_creatable(&namespace)?;
    if let Some(view) = &collection.view {
        super::view::check_graph(&catalog, &namespace, view)?;
    }
    catalog.create(&namespace, collection);
    call.advance_clock();
    Ok(Document::new())
}

/// `create` of an existing collection. Since 7.0 it succeeds outside of transactions if the options
/// are the same.
fn exists(
    call: &Call<'_>,
    namespace: &Namespace,
    existing: &Collection,
    collection: &Collection,
) -> Result<()> {
    let profile = call.deployment.profile();
    rows::EXISTS_4_2.check(profile, true, &[namespace])?;
    rows::VIEW_EXISTS_BEFORE_7.check(profile, existing.view.is_some(), &[namespace])?;
    let kind = match existing.time_field {
        Some(_) => "A timeseries c",
        None => "C",
    };
    rows::EXISTS_BEFORE_7
        .check(profile, true, &[namespace])
        .map_err(|error| Error {
            message: format!("{kind}{}", error.message),
            ..error
        })?;
    if !call.in_transaction() && identical_documents(&existing.options, &collection.options) {
        return Ok(());
    }
    Err(rows::EXISTS.error(&[namespace, &format::document(&existing.options)]))
}

/// Returns a new collection with the options of a `create` command.
fn with_options(call: &Call<'_>, namespace: &Namespace) -> Result<Collection> {
    let args = call.args();
    let profile = call.deployment.profile();
    check_version(call.body, profile)?;
    if args.get("temp").is_some() {
        return Err(rows::TEMP.error(&[]));
    }
    if args.document("collation")?.is_some_and(Document::is_empty) {
        return Err(rows::COLLATION_EMPTY.error(&[]));
    }
    let collation = Collation::parse_field(call.body)?;
    let mut collection = Collection::new(collation);
    let mut options = Document::new();
    match args.get("clusteredIndex") {
        Some(clustered) if !matches!(clustered, Bson::Boolean(false)) => {
            set_clustered(call, namespace, &mut collection, &mut options)?;
        }
        _ => set_capped(&args, profile, &mut collection, &mut options)?,
    }
    if let Some(fields) = args.document("encryptedFields")? {
        let checked = encrypted_fields::checked(&namespace.collection, fields)?;
        options.insert("encryptedFields", checked);
        encrypted_fields::check_kind(call.body)?;
        rows::ENCRYPTED_STANDALONE.check(profile, true, &[])?;
    }
    if let Some(spec) = args.document("timeseries")? {
        let spec = timeseries::options(call, spec, namespace)?;
        collection.time_field = spec.get_str("timeField").ok().map(str::to_owned);
        collection.meta_field = spec.get_str("metaField").ok().map(str::to_owned);
        options.insert("timeseries", spec);
        // Measurements need not have unique `_id`s.
        if let Some(index) = collection.indexes.first_mut() {
            index.unique = false;
        }
        timeseries::add_default_index(&mut collection, namespace, profile)?;
    }
    if let Some(seconds) = args.get("expireAfterSeconds") {
        let plain = collection.time_field.is_none() && !options.contains_key("clusteredIndex");
        rows::EXPIRE_5.check(profile, plain, &[])?;
        rows::EXPIRE.check(profile, plain, &[])?;
        check_expiry(&args, profile)?;
        options.insert("expireAfterSeconds", seconds.clone());
    }
    if let Some(images) = args.document("changeStreamPreAndPostImages")? {
        if !matches!(images.get("enabled"), Some(Bson::Boolean(_))) {
            return Err(Error::new(
                code::MISSING_FIELD,
                "BSON field 'changeStreamPreAndPostImages.enabled' is missing but a required field",
            ));
        }
        check_images(namespace, profile)?;
        let on_view = call.body.contains_key("viewOn") && images.get_bool("enabled").unwrap_or(false);
        rows::VIEW_IMAGES.check(profile, on_view, &[])?;
        options.insert("changeStreamPreAndPostImages", images.clone());
    }
    set_view(call, &mut collection, &mut options)?;
    check_validator(call.body, namespace, &collection)?;
    set_validator(&mut collection, &mut options, call)?;
    if let Some(collation) = &collection.collation {
        options.insert("collation", collation.to_document());
    }
    encrypted_fields::check_options(&options)?;
    collection.options = options;
    Ok(collection)
}

fn is_internal(namespace: &Namespace) -> bool {
    matches!(namespace.database.as_str(), "admin" | "local" | "config")
}

/// Fails if the database does not have pre- and post-images.
pub(super) fn check_images(namespace: &Namespace, profile: ServerProfile) -> Result<()> {
    rows::IMAGES_DATABASE.check(profile, is_internal(namespace), &[&namespace.database])
}

/// Fails if the command has a validator, and the database has none.
pub(super) fn check_validator(body: &Document, namespace: &Namespace, collection: &Collection) -> Result<()> {
    let given = body
        .get_document("validator")
        .is_ok_and(|validator| !validator.is_empty());
    if given && is_internal(namespace) {
        return Err(rows::VALIDATOR_DATABASE.error(&[namespace, &collection.uuid, &namespace.database]));
    }
    Ok(())
}

/// Fails on operators that a validator must not have.
fn check_validator_operators(filter: &Document) -> Result<()> {
    let is_near = |name: &String| matches!(name.as_str(), "$near" | "$nearSphere" | "$geoNear");
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$text" | "$where", _) => return Err(rows::VALIDATOR_CONTEXT.error(&[name])),
            ("$and" | "$or" | "$nor", Bson::Array(clauses)) => {
                for clause in clauses.iter().filter_map(Bson::as_document) {
                    check_validator_operators(clause)?;
                }
            }
            (_, Bson::Document(operators)) if operators.keys().any(is_near) => {
                return Err(rows::VALIDATOR_NEAR.error(&[]));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Fails on the options that the version does not have.
fn check_version(body: &Document, profile: ServerProfile) -> Result<()> {
    let later = [
        ("timeseries", &rows::CREATE_TIMESERIES_VERSION),
        ("expireAfterSeconds", &rows::CREATE_TIMESERIES_VERSION),
        ("clusteredIndex", &rows::CREATE_CLUSTERED_VERSION),
        ("changeStreamPreAndPostImages", &rows::CREATE_IMAGES_VERSION),
        ("encryptedFields", &rows::CREATE_ENCRYPTED_VERSION),
    ];
    for (name, row) in later {
        if body.contains_key(name) {
            rows::CREATE_OPTION_4_2.check(profile, true, &[&name, &format::document(body)])?;
            row.check(profile, true, &[&name])?;
        }
    }
    let clustered = body.get("clusteredIndex");
    let is_document = clustered.and_then(Bson::as_document).is_some();
    rows::CREATE_CLUSTERED_TYPE.check(profile, is_document, &[])
}

/// The stored size of a capped collection: before 7.0, rounded up to a multiple of 256.
pub(super) fn rounded(size: i64, profile: ServerProfile) -> i64 {
    if profile.version.at_least(7, 0) {
        return size;
    }
    (size as u64).div_ceil(256) as i64 * 256
}

/// `capped`, `size` and `max`.
fn set_capped(
    args: &Args<'_>,
    profile: ServerProfile,
    collection: &mut Collection,
    options: &mut Document,
) -> Result<()> {
    let (size, max) = (args.integer("size")?, args.integer("max")?);
    let capped = args.flag("capped", false)?;
    if let Some(size) = size {
        rows::CAPPED_SIZE_4_2.check(profile, size < 0, &[])?;
        rows::CAPPED_SIZE_BEFORE_8.check(profile, size < 1, &[&size])?;
        rows::CAPPED_SIZE.check(profile, size < 1, &[&size])?;
        rows::CAPPED_SIZE_MAXIMUM_BEFORE_8.check(profile, size > MAX_CAPPED_SIZE, &[&size])?;
        rows::CAPPED_SIZE_MAXIMUM.check(profile, size > MAX_CAPPED_SIZE, &[&size])?;
    }
    if let Some(max) = max {
        let too_large = max >= MAX_CAPPED_DOCUMENTS;
        rows::CAPPED_MAX_4_2.check(profile, too_large, &[])?;
        rows::CAPPED_MAX_BEFORE_8.check(profile, too_large, &[&max])?;
        rows::CAPPED_MAX.check(profile, too_large, &[&max])?;
    }
    match (capped, size) {
        (true, None) => return Err(rows::CAPPED_SIZE_MISSING.error(&[])),
        (false, Some(_)) => return Err(rows::CAPPED_MISSING.error(&[])),
        (false, None) if max.is_some() => return Err(rows::CAPPED_MISSING.error(&[])),
        (false, None) => return Ok(()),
        (true, Some(size)) => {
            let max = max.filter(|max| *max > 0);
            let size = rounded(size, profile);
            options.insert("capped", true);
            options.insert("size", size);
            if let Some(max) = max {
                options.insert("max", max);
            }
            collection.capped = Some(Capped {
                size: size as usize,
                max: max.and_then(|max| usize::try_from(max).ok()),
            });
        }
    }
    Ok(())
}

/// `clusteredIndex`.
fn set_clustered(
    call: &Call<'_>,
    namespace: &Namespace,
    collection: &mut Collection,
    options: &mut Document,
) -> Result<()> {
    let args = call.args();
    let profile = call.deployment.profile();
    let clustered = args.get("clusteredIndex").unwrap_or(&Bson::Null);
    if args.get("size").is_some() {
        return Err(rows::CLUSTERED_SIZE.error(&[]));
    }
    if args.get("max").is_some() {
        return Err(rows::CLUSTERED_MAX.error(&[]));
    }
    if args.flag("capped", false)? {
        return Err(rows::CLUSTERED_CAPPED.error(&[]));
    }
    let clustered = check_clustered(clustered, namespace, profile)?;
    if let Some(index) = collection.indexes.first_mut() {
        index.spec = clustered.clone();
        index.spec.insert("clustered", true);
        index.name = clustered.get_str("name").unwrap_or("_id_").to_owned();
    }
    options.insert("clusteredIndex", clustered);
    Ok(())
}

/// Checks `expireAfterSeconds` of a time series or clustered collection.
pub(super) fn check_expiry(args: &Args<'_>, profile: ServerProfile) -> Result<()> {
    let seconds = args.integer("expireAfterSeconds")?.unwrap_or(0);
    rows::EXPIRE_NEGATIVE.check(profile, seconds < 0, &[])?;
    let now = DateTime::now().timestamp_millis() / 1000;
    rows::EXPIRE_RANGE_BEFORE_8.check(profile, seconds > now, &[])?;
    let shown = format!("{now}) found {seconds}");
    rows::EXPIRE_RANGE.check(profile, seconds > now, &[&shown])
}

/// Makes the collection a view if the command has `viewOn`.
fn set_view(call: &Call<'_>, collection: &mut Collection, options: &mut Document) -> Result<()> {
    let args = call.args();
    let pipeline = args.array("pipeline")?;
    let Some(on) = args.string("viewOn")? else {
        return match pipeline {
            Some(_) => {
                rows::PIPELINE_4_2.check(call.deployment.profile(), true, &[])?;
                Err(rows::PIPELINE.error(&[]))
            }
            None => Ok(()),
        };
    };
    if on.is_empty() {
        return Err(rows::VIEW_ON_EMPTY.error(&[]));
    }
    rows::CLUSTERED_VIEW
        .check(
            call.deployment.profile(),
            options.contains_key("clusteredIndex"),
            &[],
        )
        .map_err(|error| Error {
            message: format!("'{}' cannot be given together with 'viewOn'", error.message),
            ..error
        })?;
    if let Some(other) = options.keys().next() {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            format!("'{other}' cannot be given together with 'viewOn'"),
        ));
    }
    let view = View {
        on: on.to_owned(),
        pipeline: pipeline.cloned().unwrap_or_default(),
    };
    super::view::check_definition(call, &view, collection.collation.clone())?;
    options.insert("viewOn", on);
    options.insert("pipeline", view.pipeline.clone());
    collection.view = Some(view);
    Ok(())
}

/// Sets `validator`, `validationLevel` and `validationAction` from a `create` or `collMod` command.
pub(crate) fn set_validator(
    collection: &mut Collection,
    options: &mut Document,
    call: &Call<'_>,
) -> Result<()> {
    let (body, command, profile) = (call.body, call.name, call.deployment.profile());
    let text = |name: &str, allowed: &[&str]| match body.get(name) {
        None => Ok(None),
        Some(Bson::String(text)) if allowed.contains(&text.as_str()) => Ok(Some(text.clone())),
        Some(other) => Err(Error::bad_value(format!(
            "Enumeration value '{}' for field '{command}.{name}' is not a valid value.",
            other.as_str().unwrap_or("?")
        ))),
    };
    let level = text("validationLevel", &["off", "strict", "moderate"])?;
    let action = text("validationAction", &["error", "warn", "errorAndLog"])?;
    if action.as_deref() == Some("errorAndLog") {
        rows::VALIDATION_ACTION_4.check(profile, true, &[&"errorAndLog"])?;
        rows::VALIDATION_ACTION.check(profile, true, &[&"errorAndLog", &command])?;
    }
    match body.get("validator") {
        None => {}
        Some(Bson::Document(spec)) => {
            check_validator_operators(spec)?;
            let filter = Filter::parse(spec, &call.definition_env(collection.collation.clone()))?;
            if spec.is_empty() {
                options.remove("validator");
                collection.validator = None;
            } else {
                options.insert("validator", spec.clone());
                collection.validator = Some(Validator {
                    filter,
                    spec: spec.clone(),
                    enforced: true,
                    moderate: false,
                });
            }
        }
        Some(_) => {
            return Err(Error::type_mismatch(
                "BSON field 'validator' is the wrong type, expected type 'object'",
            ));
        }
    }
    if let Some(level) = level {
        options.insert("validationLevel", level);
    }
    if let Some(action) = action {
        options.insert("validationAction", action);
    }
    if collection.validator.is_some() {
        for (name, default) in [("validationLevel", "strict"), ("validationAction", "error")] {
            if !options.contains_key(name) {
                options.insert(name, default);
            }
        }
    }
    if let Some(validator) = &mut collection.validator {
        let is = |name: &str, value: &str| options.get_str(name).is_ok_and(|text| text == value);
        validator.enforced = !is("validationLevel", "off") && !is("validationAction", "warn");
        validator.moderate = is("validationLevel", "moderate");
    }
    Ok(())
}

fn check_clustered(spec: &Bson, namespace: &Namespace, profile: ServerProfile) -> Result<Document> {
    let spec = match spec {
        Bson::Document(spec) => spec,
        Bson::Boolean(_) => {
            rows::CLUSTERED_LEGACY_5.check(profile, true, &[namespace])?;
            return Err(rows::CLUSTERED_LEGACY.error(&[]));
        }
        _ => {
            return Err(Error::new(
                5_979_702,
                "'clusteredIndex' has to be a boolean or object.",
            ));
        }
    };
    for name in spec.keys() {
        if !matches!(name.as_str(), "v" | "key" | "name" | "unique") {
            return Err(Error::new(
                code::UNKNOWN_FIELD,
                format!("BSON field 'create.clusteredIndex.{name}' is an unknown field."),
            ));
        }
    }
    for name in ["key", "unique"] {
        if !spec.contains_key(name) {
            return Err(Error::new(
                code::MISSING_FIELD,
                format!("BSON field 'create.clusteredIndex.{name}' is missing but a required field"),
            ));
        }
    }
    if !spec.get("unique").is_some_and(truthy) {
        return Err(rows::CLUSTERED_UNIQUE.error(&[]));
    }
    let on_id = spec.get_document("key").is_ok_and(|key| {
        let direction = key.get("_id").and_then(Number::from_bson);
        key.len() == 1 && direction.is_some_and(|direction| direction.to_f64() == 1.0)
    });
    if !on_id {
        return Err(rows::CLUSTERED_KEY.error(&[]));
    }
    let name = spec.get_str("name").unwrap_or("_id_").to_owned();
    Ok(doc! { "v": 2, "key": { "_id": 1 }, "name": name, "unique": true })
}

pub(crate) fn drop(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let builds = &call.deployment.index_builds;
    builds.check_drop(call.deployment.profile(), &namespace)?;
    let dropped = call.catalog().drop_collection(&namespace);
    match dropped {
        Some(collection) => {
            call.advance_clock();
            Ok(doc! { "nIndexesWas": collection.indexes.len() as i32, "ns": namespace.to_string() })
        }
        None => {
            rows::DROP_MISSING.check(call.deployment.profile(), true, &[])?;
            Ok(Document::new())
        }
    }
}

pub(crate) fn drop_database(call: &Call<'_>) -> Result<Document> {
    namespace::check_database(call.db)?;
    if call.args().integer(call.key)? != Some(1) {
        return Err(Error::new(5255100, "have to pass 1 as 'dropDatabase' parameter"));
    }
    if matches!(call.db, "admin" | "config" | "local") {
        return Err(Error::new(
            code::ILLEGAL_OPERATION,
            format!("Dropping the '{}' database is prohibited.", call.db),
        ));
    }
    let builds = &call.deployment.index_builds;
    builds.check_drop_database(call.deployment.profile(), call.db)?;
    if call.catalog().drop_database(call.db) {
        call.advance_clock();
        return Ok(doc! { "dropped": call.db });
    }
    Ok(Document::new())
}
