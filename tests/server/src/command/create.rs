//! `create`, `drop`, `dropDatabase`.

use super::{Call, encrypted_fields};
use crate::error::{Error, Result, code};
use crate::query::Filter;
use crate::storage::collection::{Capped, Collection, Validator, View};
use crate::storage::{Namespace, namespace};
use crate::value::collation::Collation;
use bson::{Bson, Document, doc};

pub(crate) fn create(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    namespace.check_creatable()?;
    let collection = with_options(call)?;
    super::transaction_rules::check_create(call, &collection)?;
    let mut catalog = call.catalog();
    if let Some(existing) = catalog.get(&namespace) {
        // Creating an identical collection again succeeds outside of a transaction.
        if !call.in_transaction() && crate::value::identical_documents(&existing.options, &collection.options)
        {
            return Ok(Document::new());
        }
        return Err(Error::new(
            code::NAMESPACE_EXISTS,
            format!(
                "namespace {namespace} already exists, but with different options: {}",
                existing.options
            ),
        ));
    }
    catalog.check_creatable(&namespace)?;
    if let Some(view) = &collection.view {
        super::view::check_graph(&catalog, &namespace, view)?;
    }
    catalog.create(&namespace, collection);
    call.advance_clock();
    Ok(Document::new())
}

/// Returns a new collection with the options of a `create` command.
fn with_options(call: &Call<'_>) -> Result<Collection> {
    let args = call.args();
    if args.get("temp").is_some() {
        return Err(Error::not_served("create with temp"));
    }
    let collation = Collation::parse_field(call.body)?;
    let mut collection = Collection::new(collation);
    let mut options = Document::new();
    let capped = args.flag("capped", false)?;
    match (capped, args.integer("size")?) {
        (true, None) => {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "the 'size' field is required when 'capped' is true",
            ));
        }
        (true, Some(size)) if size <= 0 => {
            return Err(Error::new(
                51024,
                format!("BSON field 'size' value must be >= 1, actual value '{size}'"),
            ));
        }
        (true, Some(size)) => {
            let max = args
                .integer("max")?
                .and_then(|max| usize::try_from(max).ok())
                .filter(|max| *max > 0);
            // MongoDB rounds sizes up to a multiple of 256.
            let size = (size as u64).div_ceil(256) * 256;
            options.insert("capped", true);
            options.insert("size", size as i64);
            if let Some(max) = max {
                options.insert("max", max as i64);
            }
            collection.capped = Some(Capped {
                size: size as usize,
                max,
            });
        }
        (false, Some(_)) => {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "the 'capped' field needs to be true when either the 'size' or 'max' fields are present",
            ));
        }
        (false, None) => {}
    }
    let timeseries = args.document("timeseries")?;
    if let Some(spec) = timeseries {
        collection.time_field = Some(check_timeseries(spec)?);
        options.insert("timeseries", spec.clone());
        // Measurements need not have unique `_id`s.
        if let Some(index) = collection.indexes.first_mut() {
            index.unique = false;
        }
    }
    if let Some(clustered) = args.get("clusteredIndex") {
        let clustered = check_clustered(clustered)?;
        if let Some(index) = collection.indexes.first_mut() {
            index.spec = clustered.clone();
            index.spec.insert("clustered", true);
            index.name = clustered.get_str("name").unwrap_or("_id_").to_owned();
        }
        options.insert("clusteredIndex", clustered);
    }
    if let Some(seconds) = args.get("expireAfterSeconds") {
        if timeseries.is_none() && !options.contains_key("clusteredIndex") {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
            ));
        }
        options.insert("expireAfterSeconds", seconds.clone());
    }
    if let Some(images) = args.document("changeStreamPreAndPostImages")? {
        if !matches!(images.get("enabled"), Some(Bson::Boolean(_))) {
            return Err(Error::new(
                code::MISSING_FIELD,
                "BSON field 'changeStreamPreAndPostImages.enabled' is missing but a required field",
            ));
        }
        options.insert("changeStreamPreAndPostImages", images.clone());
    }
    if let Some(fields) = args.document("encryptedFields")? {
        let name = call.body.get_str("create").unwrap_or_default();
        options.insert("encryptedFields", encrypted_fields::checked(name, fields)?);
    }
    set_view(call, &mut collection, &mut options)?;
    set_validator(&mut collection, &mut options, call)?;
    if let Some(collation) = &collection.collation {
        options.insert("collation", collation.to_document());
    }
    encrypted_fields::check_options(&options)?;
    collection.options = options;
    Ok(collection)
}

/// Makes the collection a view if the command has `viewOn`.
fn set_view(call: &Call<'_>, collection: &mut Collection, options: &mut Document) -> Result<()> {
    let args = call.args();
    let pipeline = args.array("pipeline")?;
    let Some(on) = args.string("viewOn")? else {
        return match pipeline {
            Some(_) => Err(Error::new(
                code::INVALID_OPTIONS,
                "'pipeline' requires 'viewOn' to also be specified",
            )),
            None => Ok(()),
        };
    };
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
    let body = call.body;
    let text = |name: &str, allowed: &[&str]| match body.get(name) {
        None => Ok(None),
        Some(Bson::String(text)) if allowed.contains(&text.as_str()) => Ok(Some(text.clone())),
        Some(other) => Err(Error::bad_value(format!(
            "Enumeration value '{}' for field '{name}' is not a valid value.",
            other.as_str().unwrap_or("?")
        ))),
    };
    let level = text("validationLevel", &["off", "strict", "moderate"])?;
    let action = text("validationAction", &["error", "warn", "errorAndLog"])?;
    match body.get("validator") {
        None => {}
        Some(Bson::Document(spec)) => {
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

fn check_timeseries(spec: &Document) -> Result<String> {
    if let Some(field) = spec.keys().find(|field| {
        !matches!(
            field.as_str(),
            "timeField" | "metaField" | "granularity" | "bucketMaxSpanSeconds" | "bucketRoundingSeconds"
        )
    }) {
        return Err(Error::new(
            code::UNKNOWN_FIELD,
            format!("BSON field 'timeseries.{field}' is an unknown field."),
        ));
    }
    match spec.get("timeField") {
        Some(Bson::String(field)) if !field.is_empty() && !field.contains('.') && field != "_id" => {
            Ok(field.clone())
        }
        Some(_) => Err(Error::new(
            code::INVALID_OPTIONS,
            "'timeField' must be a field name other than '_id', without dots",
        )),
        None => Err(Error::new(
            code::MISSING_FIELD,
            "BSON field 'timeseries.timeField' is missing but a required field",
        )),
    }
}

fn check_clustered(spec: &Bson) -> Result<Document> {
    let Bson::Document(spec) = spec else {
        return Err(Error::type_mismatch(
            "BSON field 'clusteredIndex' is the wrong type, expected type 'object'",
        ));
    };
    let on_id = spec.get_document("key").is_ok_and(|key| {
        key.len() == 1
            && key
                .get("_id")
                .and_then(crate::value::number::Number::from_bson)
                .is_some_and(|n| n.to_f64() == 1.0)
    });
    if !on_id || !spec.get_bool("unique").unwrap_or(false) {
        return Err(Error::new(
            197,
            "The field 'clusteredIndex' requires {key: {_id: 1}, unique: true}",
        ));
    }
    let name = spec.get_str("name").unwrap_or("_id_").to_owned();
    Ok(doc! { "v": 2, "key": { "_id": 1 }, "name": name, "unique": true })
}

pub(crate) fn drop(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let dropped = call.catalog().drop_collection(&namespace);
    match dropped {
        Some(collection) => {
            call.advance_clock();
            Ok(doc! { "nIndexesWas": collection.indexes.len() as i32, "ns": namespace.to_string() })
        }
        // Since 7.0, dropping a collection that does not exist succeeds.
        None if call.deployment.version.at_least(7, 0) => Ok(Document::new()),
        None => Err(Error::new(code::NAMESPACE_NOT_FOUND, "ns not found")),
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
    if call.catalog().drop_database(call.db) {
        call.advance_clock();
        return Ok(doc! { "dropped": call.db });
    }
    Ok(Document::new())
}

/// Returns the collection of the command; fails if it does not exist.
pub(crate) fn existing<'c>(
    catalog: &'c mut crate::storage::Catalog,
    namespace: &Namespace,
) -> Result<&'c mut Collection> {
    catalog.get_mut(namespace).ok_or_else(|| {
        Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns does not exist: {namespace}"),
        )
    })
}
