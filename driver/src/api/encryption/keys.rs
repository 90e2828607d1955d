//! The documents of the key vault.

use super::ClientEncryption;
use crate::{
    Collection, Cursor, Result,
    bson::{Bson, Document, Uuid, doc},
    types::write_result::DeleteResult,
};

/// The methods read and change the documents of the key vault, with the time limit of the options. Dropping their futures: see
/// [Cancel safety](crate::action#cancel-safety).
impl ClientEncryption {
    fn key_documents(&self) -> Collection<Document> {
        self.engine.key_vault().clone_with_type()
    }

    /// Deletes the key with this `_id`. Values that it encrypted can then not be decrypted.
    ///
    /// # Errors
    /// Those of [`delete_one`](Collection::delete_one).
    pub async fn delete_key(&self, id: Uuid) -> Result<DeleteResult> {
        self.key_documents().delete_one(doc! { "_id": id }).await
    }

    /// The key with this `_id`. Its material is encrypted.
    ///
    /// # Errors
    /// Those of [`find_one`](Collection::find_one).
    pub async fn get_key(&self, id: Uuid) -> Result<Option<Document>> {
        self.key_documents().find_one(doc! { "_id": id }).await
    }

    /// All keys.
    ///
    /// # Errors
    /// Those of [`find`](Collection::find).
    pub async fn get_keys(&self) -> Result<Cursor<Document>> {
        self.key_documents().find(doc! {}).await
    }

    /// The key with this alternate name.
    ///
    /// # Errors
    /// Those of [`find_one`](Collection::find_one).
    pub async fn get_key_by_alt_name(&self, name: impl AsRef<str>) -> Result<Option<Document>> {
        self.key_documents()
            .find_one(doc! { "keyAltNames": name.as_ref() })
            .await
    }

    /// Adds an alternate name to the key with this `_id`, and returns the key before the change. `None` if there is no such
    /// key.
    ///
    /// # Errors
    /// Those of [`find_one_and_update`](Collection::find_one_and_update), e.g. if another key has the name and the key vault
    /// has the unique index.
    pub async fn add_key_alt_name(&self, id: Uuid, name: impl AsRef<str>) -> Result<Option<Document>> {
        let update = doc! { "$addToSet": { "keyAltNames": name.as_ref() } };
        self.key_documents()
            .find_one_and_update(doc! { "_id": id }, update)
            .await
    }

    /// Removes an alternate name from the key with this `_id`, and returns the key before the change. `None` if there is no
    /// such key. The field `keyAltNames` is removed with its last name.
    ///
    /// # Errors
    /// Those of [`find_one_and_update`](Collection::find_one_and_update).
    pub async fn remove_key_alt_name(&self, id: Uuid, name: impl AsRef<str>) -> Result<Option<Document>> {
        let name = match name.as_ref() {
            // It would be read as a field or a variable.
            name if name.starts_with('$') => Bson::from(doc! { "$literal": name }),
            name => Bson::from(name),
        };
        let update = doc! { "$set": { "keyAltNames": { "$cond": [
            { "$eq": ["$keyAltNames", [name.clone()]] },
            "$$REMOVE",
            { "$filter": { "input": "$keyAltNames", "cond": { "$ne": ["$$this", name] } } },
        ] } } };
        self.key_documents()
            .find_one_and_update(doc! { "_id": id }, vec![update])
            .await
    }
}
