//! Updates with an aggregation pipeline: the stages that a model accepts.
//!
//! A stage that creates a new document loses fields that the ODM maintains, and can contain plain values of encrypted
//! fields. The stages are sent as they are or refused, so that what is sent is what the application wrote.

use crate::{
    ast::part::RawPart,
    base::{
        bson::{Bson, Document, doc},
        error::{Error, Result},
    },
    models::model::Model,
    query::handle::{protection::is_about, rows::Rows},
};

/// Rejects stages that can set or remove a field that the model maintains or encrypts or that a scope fixes, or `_id` if `gets_id`.
/// Without such fields every stage is accepted.
pub(in crate::query) fn check<'s, D: Model>(
    stages: impl Iterator<Item = &'s Document>,
    encrypted: &[String],
    fixed: &[&str],
    gets_id: bool,
) -> Result<()> {
    let behavior = D::BEHAVIOR;
    let schema = behavior.schema.map(|schema| schema.field);
    let kept = [behavior.version, behavior.created_at, schema];
    if kept.iter().all(Option::is_none) && encrypted.is_empty() && fixed.is_empty() && !gets_id {
        return check_update_time(stages, behavior.updated_at);
    }
    let maintained = kept
        .into_iter()
        .chain([behavior.updated_at, Some("_id")])
        .flatten();
    for (operator, argument) in stages.flatten() {
        let Some(changed) = changed(operator, argument) else {
            return Err(Error::update(
                "",
                format!(
                    "the stage `{operator}` can set or remove fields that model `{}` maintains or encrypts, or that its kind or a scope fixes: updates accept `$set`, \
                     `$addFields` and `$unset` of other fields; to replace a document use `replace` or `save`, and to send any stage \
                     `driver()`",
                    D::NAME
                ),
            ));
        };
        let is_changed = |field: &str| changed.iter().any(|name| is_about(name, field));
        if let Some(field) = encrypted.iter().find(|field| is_changed(field)) {
            let reason = "the field is encrypted, and the stages of an update cannot set it, because the values of expressions are sent as \
                          they are; use `set`, and set the other fields of a document that contains it by their own paths";
            return Err(Error::update(field.clone(), reason));
        }
        if let Some(field) = fixed.iter().find(|field| is_changed(field)) {
            return Err(Rows::fixed_field(field));
        }
        if let Some(field) = maintained.clone().find(|field| is_changed(field)) {
            return Err(Error::update(field, MAINTAINED));
        }
    }
    Ok(())
}

const MAINTAINED: &str =
    "the stages of an update cannot change this field, which the ODM maintains; use operators";

/// Rejects stages that set the time of the update, which the ODM sets after them.
fn check_update_time<'s>(
    mut stages: impl Iterator<Item = &'s Document>,
    updated_at: Option<&'static str>,
) -> Result<()> {
    let Some(field) = updated_at else {
        return Ok(());
    };
    let names_it = |(operator, argument): (&String, &Bson)| {
        changed(operator, argument).is_some_and(|names| names.contains(&field))
    };
    if stages.any(|stage| stage.iter().any(names_it)) {
        return Err(Error::update(field, MAINTAINED));
    }
    Ok(())
}

/// The fields that a stage sets or removes; `None` if it is a stage that can change any field.
fn changed<'a>(operator: &str, argument: &'a Bson) -> Option<Vec<&'a str>> {
    match (operator, argument) {
        ("$set" | "$addFields", Bson::Document(fields)) => Some(fields.keys().map(String::as_str).collect()),
        ("$unset", Bson::String(field)) => Some(vec![field]),
        ("$unset", Bson::Array(fields)) => fields.iter().map(Bson::as_str).collect(),
        _ => None,
    }
}

/// Whether a stage can give an inserted document its id.
pub(in crate::query) fn can_give_id(stage: &Document) -> bool {
    let is_other = |(operator, argument): (&String, &Bson)| match changed(operator, argument) {
        Some(fields) => operator != "$unset" && fields.contains(&"_id"),
        None => true,
    };
    stage.iter().any(is_other)
}

/// Adds an id for the document that the upsert may insert. The stages keep the id of an existing document.
///
/// For an `ObjectId` the pipeline does not change, since the server adds one itself.
pub(in crate::query) fn add_id<D: Model>(stages: &mut Vec<RawPart>, id: Bson) -> Result<()> {
    if matches!(id, Bson::ObjectId(_)) {
        return Ok(());
    }
    // The fields that are encrypted or fixed were checked before.
    check::<D>(stages.iter().map(|stage| &stage.document), &[], &[], true)?;
    stages.push(RawPart::checked(doc! { "$set": { "_id": {
        "$cond": [{ "$eq": [{ "$type": "$_id" }, "missing"] }, { "$literal": id }, "$_id"]
    } } }));
    Ok(())
}
