//! `$out` and `$merge`: write the result of a pipeline to a collection.

use super::Pipeline;
use crate::command::insert::prepare;
use crate::command::shard_key;
use crate::error::{Error, Result, code};
use crate::query::path;
use crate::query::{Env, Filter};
use crate::refusal::aggregation as rows;
use crate::storage::collection::Replacing;
use crate::storage::index::Index;
use crate::storage::{Catalog, Collection, Namespace, RecordId};
use bson::oid::ObjectId;
use bson::{Bson, Document, Timestamp, doc};

/// `whenMatched` of `$merge`.
#[derive(Debug, Clone)]
enum Matched {
    Replace,
    Keep,
    Merge,
    Fail,
    Pipeline(Pipeline, Vec<(String, crate::expression::Expression)>),
}

/// `whenNotMatched` of `$merge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotMatched {
    Insert,
    Discard,
    Fail,
}

/// A `$out` or `$merge` stage.
#[derive(Debug, Clone)]
pub(crate) enum Output {
    Out {
        database: Option<String>,
        collection: String,
    },
    Merge {
        database: Option<String>,
        collection: String,
        /// `None`: the shard key and `_id`.
        on: Option<Vec<String>>,
        matched: Box<MergeRule>,
    },
}

/// `whenMatched` and `whenNotMatched` of `$merge`.
#[derive(Debug, Clone)]
pub(crate) struct MergeRule {
    matched: Matched,
    not_matched: NotMatched,
}

fn target(value: &Bson, stage: &str, keys: [&str; 2]) -> Result<(Option<String>, String)> {
    match value {
        Bson::String(collection) => Ok((None, collection.clone())),
        Bson::Document(fields) => {
            let text = |name: &str| match fields.get(name) {
                None => Ok(None),
                Some(Bson::String(text)) => Ok(Some(text.clone())),
                Some(_) => Err(Error::type_mismatch(format!(
                    "BSON field '{stage}.{name}' is the wrong type, expected type 'string'"
                ))),
            };
            if let Some(other) = fields.keys().find(|name| !keys.contains(&name.as_str())) {
                return Err(Error::new(
                    code::UNKNOWN_FIELD,
                    format!("BSON field '{stage}.{other}' is an unknown field."),
                ));
            }
            let collection = text(keys[1])?.ok_or_else(|| {
                Error::new(
                    code::MISSING_FIELD,
                    format!("BSON field '{stage}.{}' is missing but a required field", keys[1]),
                )
            })?;
            Ok((text(keys[0])?, collection))
        }
        other => Err(Error::new(
            16990,
            format!(
                "{stage} only supports a string or object argument, but found {}",
                crate::value::type_name(other)
            ),
        )),
    }
}

impl MergeRule {
    fn parse(fields: &Document, env: &Env) -> Result<MergeRule> {
        let not_matched = match fields
            .get("whenNotMatched")
            .map(|value| value.as_str().unwrap_or(""))
        {
            None | Some("insert") => NotMatched::Insert,
            Some("discard") => NotMatched::Discard,
            Some("fail") => NotMatched::Fail,
            Some(other) => {
                return Err(Error::bad_value(format!(
                    "Enumeration value '{other}' for field '$merge.whenNotMatched' is not a valid value."
                )));
            }
        };
        let mode = match fields.get("whenMatched") {
            None => "merge",
            Some(Bson::String(mode)) => mode.as_str(),
            Some(_) => "pipeline",
        };
        let inserts = not_matched == NotMatched::Insert;
        let only_inserts = matches!(mode, "keepExisting" | "fail");
        let otherwise = fields.get_str("whenNotMatched").unwrap_or("insert");
        rows::MERGE_MODES.check(env.profile, only_inserts && !inserts, &[&mode, &otherwise])?;
        let defines = fields.contains_key("let");
        rows::MERGE_LET.check(env.profile, defines && mode != "pipeline", &[&mode])?;
        let matched = Matched::parse(fields, env)?;
        Ok(MergeRule { matched, not_matched })
    }
}

impl Matched {
    fn parse(fields: &Document, env: &Env) -> Result<Matched> {
        Ok(match fields.get("whenMatched") {
            None => Matched::Merge,
            Some(Bson::String(mode)) => match mode.as_str() {
                "replace" => Matched::Replace,
                "keepExisting" => Matched::Keep,
                "merge" => Matched::Merge,
                "fail" => Matched::Fail,
                other => {
                    return Err(Error::bad_value(format!(
                        "Enumeration value '{other}' for field '$merge.whenMatched' is not a valid value."
                    )));
                }
            },
            Some(Bson::Array(stages)) => {
                let mut inner = env.clone();
                let mut variables = Vec::new();
                let mut defined = match fields.get("let") {
                    Some(Bson::Document(defined)) => defined.clone(),
                    _ => Document::new(),
                };
                let new = defined.entry("new".to_owned()).or_insert_with(|| "$$ROOT".into());
                let other = *new != Bson::from("$$ROOT");
                rows::MERGE_LET_NEW.check(env.profile, other, &[])?;
                for (name, value) in &defined {
                    variables.push((name.clone(), crate::expression::Expression::parse(value, env)?));
                    inner.variables.insert(name.clone(), Bson::Null);
                }
                Matched::Pipeline(Pipeline::parse_update(stages, &inner)?, variables)
            }
            Some(other) => {
                return Err(Error::new(
                    51191,
                    format!(
                        "$merge 'whenMatched' field must be either a string or an array, but found {}",
                        crate::value::type_name(other)
                    ),
                ));
            }
        })
    }
}

impl Output {
    pub(super) fn parse_out(argument: &Bson, env: &Env) -> Result<Output> {
        let text = argument.as_str().is_some();
        rows::OUT_OBJECT.check(env.profile, !text, &[&crate::value::type_name(argument)])?;
        if let Bson::Document(fields) = argument
            && fields.contains_key("timeseries")
        {
            rows::OUT_TIME_SERIES.check(env.profile, true, &[])?;
            return Err(Error::not_served("timeseries of $out"));
        }
        let (database, collection) = target(argument, "$out", ["db", "coll"])?;
        Ok(Output::Out { database, collection })
    }

    pub(super) fn parse_merge(argument: &Bson, env: &Env) -> Result<Output> {
        let whole;
        let fields = match argument {
            Bson::String(_) => {
                whole = doc! { "into": argument.clone() };
                &whole
            }
            Bson::Document(fields) => fields,
            _ => {
                return Err(Error::type_mismatch(format!(
                    "$merge requires a string or object argument, but found {}",
                    crate::value::type_name(argument)
                )));
            }
        };
        if let Some(name) = fields.keys().find(|name| {
            !matches!(
                name.as_str(),
                "into" | "on" | "let" | "whenMatched" | "whenNotMatched"
            )
        }) {
            return Err(Error::new(
                code::UNKNOWN_FIELD,
                format!("BSON field '$merge.{name}' is an unknown field."),
            ));
        }
        let into = fields.get("into").ok_or_else(|| {
            Error::new(
                code::MISSING_FIELD,
                "BSON field '$merge.into' is missing but a required field",
            )
        })?;
        let (database, collection) = target(into, "$merge.into", ["db", "coll"])?;
        let on = match fields.get("on") {
            None => None,
            Some(on) => Some(on_fields(on, env)?),
        };
        let rule = MergeRule::parse(fields, env)?;
        Ok(Output::Merge {
            database,
            collection,
            on,
            matched: Box::new(rule),
        })
    }

    /// Fails if the target collection is not allowed. `read` is the collection of the `aggregate`.
    pub(crate) fn check_target(&self, target: &Namespace, read: Option<&Namespace>, env: &Env) -> Result<()> {
        let profile = env.profile;
        let (database, collection) = (&target.database, &target.collection);
        let internal = matches!(database.as_str(), "admin" | "config" | "local");
        let special = collection.starts_with("system.");
        match self {
            Output::Out { .. } => {
                rows::OUT_SPECIAL.check(profile, special, &[collection])?;
                rows::OUT_INTERNAL.check(profile, internal, &[database])
            }
            Output::Merge { .. } => {
                rows::MERGE_SPECIAL.check(profile, special, &[collection])?;
                rows::MERGE_INTERNAL.check(profile, internal, &[database])?;
                rows::MERGE_SAME_COLLECTION.check(profile, read == Some(target), &[])
            }
        }
    }

    /// The namespace of the target collection.
    pub(crate) fn namespace(&self, default_database: &str) -> Result<Namespace> {
        let (Output::Out { database, collection }
        | Output::Merge {
            database, collection, ..
        }) = self;
        Namespace::new(database.as_deref().unwrap_or(default_database), collection)
    }

    /// Writes the documents to the target collection.
    pub(crate) fn write(
        &self,
        documents: Vec<Document>,
        catalog: &mut Catalog,
        database: &str,
        env: &Env,
        now: &dyn Fn() -> Timestamp,
        bypass: bool,
    ) -> Result<()> {
        let namespace = self.namespace(database)?;
        match self {
            Output::Out { .. } => {
                // The content is replaced atomically; indexes and options are kept.
                let mut target = match catalog.get(&namespace) {
                    Some(existing) if existing.capped.is_some() => {
                        return Err(rows::OUT_CAPPED.error(&[&namespace]));
                    }
                    Some(existing) if existing.time_field.is_some() => {
                        check_out_to_time_series(&namespace, env)?;
                        emptied(existing)
                    }
                    Some(existing) => emptied(existing),
                    None => {
                        catalog.check_creatable(&namespace)?;
                        Collection::new(None)
                    }
                };
                for document in documents {
                    target.insert(prepare(&document, true, now)?, &namespace.to_string(), bypass)?;
                }
                catalog.put(&namespace, target);
                Ok(())
            }
            Output::Merge { on, matched, .. } => {
                let collection = catalog.get_or_create(&namespace)?;
                if let Some(on) = on {
                    check_unique_on(collection, on, env)?;
                }
                if collection.time_field.is_some() && !documents.is_empty() {
                    return Err(merge_into_time_series(&namespace, env));
                }
                let on = on.clone().unwrap_or_else(|| collection.document_key());
                for document in documents {
                    merge_one(collection, &namespace, &on, matched, document, env, now, bypass).map_err(
                        |error| match error.code {
                            code::DUPLICATE_KEY => error.caused("$merge failed due to a DuplicateKey error"),
                            _ => error,
                        },
                    )?;
                }
                Ok(())
            }
        }
    }
}

fn emptied(existing: &Collection) -> Collection {
    let mut target = existing.clone();
    let ids: Vec<RecordId> = target.records().map(|(id, _)| id).collect();
    for id in ids {
        target.remove(id);
    }
    target
}

/// Parses `on` of `$merge`.
fn on_fields(on: &Bson, env: &Env) -> Result<Vec<String>> {
    let items = match on {
        Bson::String(field) => return Ok(vec![field.clone()]),
        Bson::Array(items) => items,
        other => {
            return Err(Error::new(
                51186,
                format!(
                    "$merge 'on' field must be either a string or an array of strings, but found {}",
                    crate::value::type_name(other)
                ),
            ));
        }
    };
    if items.is_empty() {
        return Err(Error::new(
            51187,
            "If explicitly specifying $merge 'on' array, it must contain at least one field",
        ));
    }
    let mut fields: Vec<String> = Vec::with_capacity(items.len());
    for item in items {
        let Bson::String(field) = item else {
            return Err(Error::new(
                51134,
                format!(
                    "$merge 'on' array elements must be strings, but found {}",
                    crate::value::type_name(item)
                ),
            ));
        };
        rows::MERGE_DUPLICATE_ON.check(env.profile, fields.contains(field), &[field])?;
        fields.push(field.clone());
    }
    Ok(fields)
}

/// Fails if the version has no `$out` to time series collections.
fn check_out_to_time_series(namespace: &Namespace, env: &Env) -> Result<()> {
    rows::OUT_INTO_TIME_SERIES.check(env.profile, true, &[namespace])?;
    if !env.profile.version.at_least(7, 1) {
        return Err(Error::not_served("$out to a time series collection on mongos"));
    }
    Ok(())
}

/// The error of the first document that `$merge` would write.
fn merge_into_time_series(namespace: &Namespace, env: &Env) -> Error {
    let refused = [
        &rows::MERGE_INTO_TIME_SERIES_BEFORE_7,
        &rows::MERGE_INTO_TIME_SERIES,
    ];
    refused.iter().find(|row| row.applies(env.profile)).map_or_else(
        || Error::not_served("$merge into a time series collection on mongos"),
        |row| row.error(&[namespace]),
    )
}

/// Whether the index is on exactly these fields.
fn is_on(index: &Index, on: &[String]) -> bool {
    let pattern = index.key_pattern();
    pattern.len() == on.len() && on.iter().all(|field| pattern.contains_key(field))
}

fn check_unique_on(collection: &Collection, on: &[String], env: &Env) -> Result<()> {
    let found = collection.indexes.iter().any(|index| {
        (index.unique || index.name == "_id_")
            && index.partial.is_none()
            && index.collation == env.collation
            && is_on(index, on)
    });
    rows::MERGE_ON_INDEX.check(env.profile, !found, &[])?;
    rows::MERGE_ON_INDEX_ROUTER.check(env.profile, !found, &[])
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one merge, all different in kind"
)]
fn merge_one(
    collection: &mut Collection,
    namespace: &Namespace,
    on: &[String],
    rule: &MergeRule,
    mut document: Document,
    env: &Env,
    now: &dyn Fn() -> Timestamp,
    bypass: bool,
) -> Result<()> {
    if on.iter().any(|field| field == "_id") && !document.contains_key("_id") {
        document.insert("_id", ObjectId::new());
    }
    let mut all = Vec::new();
    let sparse = collection
        .indexes
        .iter()
        .any(|index| index.sparse && is_on(index, on));
    for field in on {
        let value = path::get(&document, field).cloned().unwrap_or(Bson::Null);
        let missing = matches!(value, Bson::Null | Bson::Undefined);
        rows::MERGE_ON_ARRAY.check(env.profile, matches!(value, Bson::Array(_)), &[])?;
        rows::MERGE_ON_MISSING.check(env.profile, missing, &[])?;
        rows::MERGE_ON_SPARSE.check(env.profile, missing && sparse, &[])?;
        all.push(Bson::Document(doc! { field: { "$eq": value } }));
    }
    let filter = Filter::parse(&doc! { "$and": all }, env)?;
    let name = namespace.to_string();
    let found = collection.matching(&filter, env)?.first().copied();
    let Some(id) = found else {
        return match rule.not_matched {
            NotMatched::Insert => collection
                .insert(prepare(&document, true, now)?, &name, bypass)
                .map(|_| ()),
            NotMatched::Discard => Ok(()),
            NotMatched::Fail => Err(Error::new(
                13113,
                "$merge could not find a matching document in the target collection for at least one document in the source collection",
            )),
        };
    };
    let old = collection
        .record(id)
        .map(|old| old.as_ref().clone())
        .unwrap_or_default();
    let new = match &rule.matched {
        Matched::Keep => return Ok(()),
        Matched::Fail => {
            let key: Document = on
                .iter()
                .filter_map(|field| Some((field.clone(), path::get(&document, field)?.clone())))
                .collect();
            let pattern: Document = on.iter().map(|field| (field.clone(), Bson::Int32(1))).collect();
            return Err(Error::new(
                code::DUPLICATE_KEY,
                format!("E11000 duplicate key error collection: {namespace} dup key: {key}"),
            )
            .with("keyPattern", pattern)
            .with("keyValue", key));
        }
        Matched::Replace => {
            let mut new = document;
            if !new.contains_key("_id") {
                new.insert("_id", old.get("_id").cloned().unwrap_or(Bson::Null));
            }
            new
        }
        Matched::Merge => {
            let mut new = old.clone();
            new.extend(document);
            new
        }
        Matched::Pipeline(pipeline, variables) => {
            let mut inner = env.clone();
            for (name, value) in variables {
                inner
                    .variables
                    .insert(name.clone(), value.evaluate(&document, env)?);
            }
            pipeline.run_on_one(old.clone(), &inner)?
        }
    };
    if shard_key::is_changed(collection, &old, &new) {
        return Err(shard_key::merge_change());
    }
    if new.get("_id") != old.get("_id") {
        return Err(Error::new(
            code::IMMUTABLE_FIELD,
            "$merge failed to update the matching document, did you attempt to modify the _id or the shard key? :: caused by :: the immutable field '_id' was found to have been altered",
        ));
    }
    collection.replace(id, new, &name, Replacing { bypass, whole: true })
}
