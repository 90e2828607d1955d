//! Documents and updates: insert and update payloads become stored values, and their tags are added to `__safeContent__`.

use super::payload::InsertPayload;
use super::schema::EncryptedCollection;
use super::{SAFE_CONTENT, malformed, state, stored};
use crate::error::{Error, Result};
use crate::storage::Catalog;
use bson::{Bson, Document, doc};

/// Stores the values of a command.
pub(super) struct Writes<'c> {
    pub(super) catalog: &'c mut Catalog,
    /// `None`: the collection is not encrypted.
    pub(super) collection: Option<&'c EncryptedCollection>,
}

impl Writes<'_> {
    /// Replaces the payloads of a document to insert, or of a replacement.
    pub(super) fn document(&mut self, document: &Document) -> Result<Document> {
        let mut tags = Vec::new();
        let mut stored = self.below("", document, &mut tags)?;
        if !tags.is_empty() {
            stored.insert(SAFE_CONTENT, tags);
        }
        Ok(stored)
    }

    /// Replaces the payloads of an update.
    pub(super) fn update(&mut self, update: &Bson) -> Result<Bson> {
        let Bson::Document(update) = update else {
            return Ok(update.clone());
        };
        if !update.keys().next().is_some_and(|key| key.starts_with('$')) {
            return self.document(update).map(Bson::Document);
        }
        let mut tags = Vec::new();
        let mut stored = Document::new();
        for (operator, values) in update {
            let values = match (operator.as_str(), values) {
                ("$set" | "$setOnInsert", Bson::Document(values)) => {
                    Bson::Document(self.below("", values, &mut tags)?)
                }
                (_, values) => values.clone(),
            };
            stored.insert(operator, values);
        }
        if !tags.is_empty() {
            let added = doc! { "$each": tags };
            match stored.get_mut("$push") {
                Some(Bson::Document(push)) => {
                    push.insert(SAFE_CONTENT, added);
                }
                _ => {
                    stored.insert("$push", doc! { SAFE_CONTENT: added });
                }
            }
        }
        Ok(Bson::Document(stored))
    }

    fn below(&mut self, path: &str, document: &Document, tags: &mut Vec<Bson>) -> Result<Document> {
        let mut stored = Document::new();
        for (name, value) in document {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            let value = match value {
                Bson::Document(inner) => Bson::Document(self.below(&path, inner, tags)?),
                value => self.value(&path, value, tags)?,
            };
            stored.insert(name, value);
        }
        Ok(stored)
    }

    fn value(&mut self, path: &str, value: &Bson, tags: &mut Vec<Bson>) -> Result<Bson> {
        let Some(payload) = InsertPayload::read(value)? else {
            return Ok(value.clone());
        };
        let collection = self
            .collection
            .filter(|collection| collection.encrypts(path))
            .ok_or_else(|| malformed(&format!("'{path}' is not one of the encrypted fields")))?;
        let positions = state::add(self.catalog, collection, path, &payload)?;
        tags.extend(positions.iter().map(|(_, tag)| state::generic(*tag)));
        stored::value(&payload, &positions)
    }
}

/// A document after an update, without the tags of values that the update has removed.
pub(crate) fn without_removed_tags(old: &Document, mut new: Document) -> Result<Document> {
    let kept: Vec<Vec<u8>> = stored::tags(&new).into_iter().map(<[u8]>::to_vec).collect();
    let removed: Vec<&[u8]> = stored::tags(old)
        .into_iter()
        .filter(|tag| !kept.iter().any(|kept| kept == tag))
        .collect();
    match new.get_mut(SAFE_CONTENT) {
        None => {}
        Some(Bson::Array(tags)) => {
            tags.retain(|tag| !matches!(tag, Bson::Binary(tag) if removed.contains(&tag.bytes.as_slice())));
        }
        Some(_) => return Err(Error::bad_value(format!("{SAFE_CONTENT} must be an array"))),
    }
    Ok(new)
}
