//! The maintained fields in updates: the version is incremented, and the times are set.

use crate::{
    ast::{
        part::RawPart,
        update::{Changes, Operator},
    },
    base::{
        bson::{Bson, DateTime, Document, doc},
        error::{Error, Result},
    },
    models::model::Model,
};

/// Adds the changes of the maintained fields to an update, except for those that it changes itself.
/// An update that consists of `$setOnInsert` only changes them only where it inserts.
///
/// # Errors
/// [`Error::InvalidUpdate`] for an upsert that cannot store the version of the document that it inserts.
pub(crate) fn add<D: Model>(changes: &mut Changes, upsert: bool) -> Result<()> {
    let behavior = D::BEHAVIOR;
    let now = DateTime::now();
    match changes {
        Changes::Operators(operators) => {
            // Such an update changes no stored document.
            let only_inserts = operators.only_insert();
            let (increment, set) = if only_inserts {
                (Operator::SetOnInsert, Operator::SetOnInsert)
            } else {
                (Operator::Inc, Operator::Set)
            };
            if upsert || !only_inserts {
                if let Some(field) = behavior.version {
                    operators.add(increment, field, Bson::Int32(1));
                }
                if let Some(field) = behavior.updated_at {
                    operators.add(set, field, Bson::DateTime(now));
                }
            }
            if upsert {
                if let Some(field) = behavior.created_at {
                    operators.add(Operator::SetOnInsert, field, Bson::DateTime(now));
                }
                if let Some(schema) = behavior.schema {
                    operators.add(Operator::SetOnInsert, schema.field, schema.stored());
                }
            }
        }
        Changes::Stages(stages) => {
            // Without the field, an inserted document has version 1.
            if let Some(schema) = behavior.schema.filter(|schema| upsert && schema.version > 1) {
                return Err(Error::update(
                    schema.field,
                    "an upsert by a pipeline does not show whether it inserts a document, so that it cannot store the version of \
                     one; use operators",
                ));
            }
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
                stages.push(RawPart::checked(doc! { "$set": fields }));
            }
        }
    }
    Ok(())
}
