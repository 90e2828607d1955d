//! The maintained fields in updates: the version is incremented, and the times are set.

use crate::bson::{Bson, DateTime, Document, doc};
use crate::collection::pipeline;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::schema_version::SchemaVersion;
use crate::update::Compiled;

/// Adds the changes of the maintained fields to an update, except for those that it changes itself.
/// An update that consists of `$setOnInsert` only changes them only where it inserts.
///
/// # Errors
/// [`Error::InvalidUpdate`] for an upsert that cannot store the version of the document that it inserts.
pub(super) fn add<D: Model>(compiled: &mut Compiled, upsert: bool) -> Result<()> {
    let behavior = D::BEHAVIOR;
    let now = DateTime::now();
    match compiled {
        Compiled::Operators { update, .. } => {
            let created = behavior.created_at.filter(|_| upsert);
            let schema = behavior.schema.filter(|_| upsert);
            // Such an update changes no stored document.
            let only_inserts = update.keys().all(|operator| operator == "$setOnInsert");
            let (increment, set) = if only_inserts {
                ("$setOnInsert", "$setOnInsert")
            } else {
                ("$inc", "$set")
            };
            let is_maintained = upsert || !only_inserts;
            let changes: [(Option<&str>, &str, Bson); 4] = [
                (
                    behavior.version.filter(|_| is_maintained),
                    increment,
                    Bson::Int32(1),
                ),
                (
                    behavior.updated_at.filter(|_| is_maintained),
                    set,
                    Bson::DateTime(now),
                ),
                (created, "$setOnInsert", Bson::DateTime(now)),
                (
                    schema.map(|schema| schema.field),
                    "$setOnInsert",
                    schema.map_or(Bson::Null, SchemaVersion::stored),
                ),
            ];
            for (field, operator, value) in changes {
                if let Some(field) = field.filter(|field| !changes_field(update, field)) {
                    insert(update, operator, field, value);
                }
            }
        }
        Compiled::Pipeline(stages) => {
            // Without the field, an inserted document has version 1.
            let lost = behavior.schema.filter(|schema| upsert && schema.version > 1);
            if let Some(schema) = lost.filter(|schema| !stages.iter().any(|s| sets_field(s, schema.field))) {
                return Err(Error::update(
                    schema.field,
                    "an upsert by a pipeline does not show whether it inserts a document, so that it cannot store the version of \
                     one; use operators, or set the field in the pipeline",
                ));
            }
            let schema = behavior.schema.map(|schema| schema.field);
            let kept = [behavior.version, behavior.created_at, schema];
            pipeline::keep(stages, &kept.into_iter().flatten().collect::<Vec<_>>());
            let mut fields = Document::new();
            if let Some(field) = behavior.version {
                let old = doc! { "$ifNull": [format!("${field}"), 0] };
                fields.insert(field, doc! { "$add": [old, 1] });
            }
            if let Some(field) = behavior.updated_at {
                fields.insert(field, now);
            }
            if let Some(field) = behavior.created_at.filter(|_| upsert) {
                fields.insert(field, doc! { "$ifNull": [format!("${field}"), now] });
            }
            if !fields.is_empty() {
                stages.push(doc! { "$set": fields });
            }
        }
    }
    Ok(())
}

/// Whether a stage sets a field.
fn sets_field(stage: &Document, field: &str) -> bool {
    ["$set", "$addFields"].iter().any(|name| {
        stage
            .get_document(name)
            .is_ok_and(|fields| fields.contains_key(field))
    })
}

/// Whether an update changes a field.
fn changes_field(update: &Document, field: &str) -> bool {
    update.iter().any(|(operator, fields)| {
        let Bson::Document(fields) = fields else {
            return false;
        };
        fields.iter().any(|(path, value)| {
            let is_target = operator == "$rename" && value.as_str() == Some(field);
            path == field || is_target
        })
    })
}

fn insert(update: &mut Document, operator: &str, field: &str, value: Bson) {
    match update.get_document_mut(operator) {
        Ok(fields) => {
            fields.insert(field, value);
        }
        Err(_) => {
            update.insert(operator, doc! { field: value });
        }
    }
}
