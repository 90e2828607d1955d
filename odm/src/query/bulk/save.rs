//! A save in a bulk write: a replacement with a version, or an upsert.

use crate::{
    base::{
        bson::DateTime,
        error::{Error, Result},
    },
    driver::WriteModel,
    models::model::Model,
    query::{
        bulk::versions::{Built, Effect, Replaced, id_key},
        handle::{Collection, protection::first_encrypted},
        write::{
            encoded::for_save,
            save::{keeping, of_saved},
        },
    },
};

/// A save in a bulk write.
pub(in crate::query) fn saved<D: Model>(
    collection: &Collection<D>,
    document: &D,
) -> Result<Built<WriteModel>> {
    let gate = collection.gate()?;
    let encoded = for_save(&gate, document)?;
    let filter = of_saved(&gate, &encoded)?;
    let filter = match &encoded.version {
        Some(version) => version.of(filter),
        None => filter,
    };
    let model = match D::BEHAVIOR.created_at {
        None => WriteModel::replace_one(filter, &*encoded.raw),
        Some(field) if first_encrypted::<D>().is_some() => {
            return Err(Error::update(
                field,
                "the save of a bulk write keeps `created_at` by a pipeline, which cannot set encrypted fields; use `Collection::save`",
            ));
        }
        Some(field) => {
            let now = encoded.written.updated_at.unwrap_or_else(DateTime::now);
            WriteModel::update_one(filter, vec![keeping(field, now, &encoded.raw)?])
        }
    };
    if encoded.was_stored() {
        let replaced = Replaced {
            filter: of_saved(&gate, &encoded)?.to_document(),
            is_by_id: true,
            must_exist: true,
            kept: D::BEHAVIOR.created_at,
            sent: encoded.raw.into_raw(),
        };
        return Ok(Built {
            model,
            effect: Effect::Replaces(Box::new(replaced)),
            requirement: None,
        });
    }
    Ok(Built {
        model: model.upsert(true),
        effect: match encoded.version {
            Some(_) => Effect::Saves(id_key(&encoded.raw)),
            None => Effect::Matches,
        },
        requirement: None,
    })
}
