//! The maintained fields in updates: the version is incremented, and the times are set.

use crate::bson::{Bson, DateTime, Document, doc};
use crate::model::Model;
use crate::update::Compiled;

/// Adds the changes of the maintained fields to an update, except for those that it changes itself.
pub(super) fn add<D: Model>(compiled: &mut Compiled, upsert: bool) {
    let behavior = D::BEHAVIOR;
    let now = DateTime::now();
    match compiled {
        Compiled::Operators { update, .. } => {
            let created = behavior.created_at.filter(|_| upsert);
            let changes: [(Option<&str>, &str, Bson); 3] = [
                (behavior.version, "$inc", Bson::Int32(1)),
                (behavior.updated_at, "$set", Bson::DateTime(now)),
                (created, "$setOnInsert", Bson::DateTime(now)),
            ];
            for (field, operator, value) in changes {
                if let Some(field) = field.filter(|field| !changes_field(update, field)) {
                    insert(update, operator, field, value);
                }
            }
        }
        Compiled::Pipeline(stages) => {
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
