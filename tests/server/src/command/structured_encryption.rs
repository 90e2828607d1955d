//! Queryable Encryption: the rewriting of commands with `encryptionInformation`, and the maintenance of the state collections,
//! `compactStructuredEncryptionData` and `cleanupStructuredEncryptionData`.

use super::Call;
use crate::encryption::{has_information, rewrite};
use crate::error::{Error, Result, code};
use crate::storage::Namespace;
use crate::version::Version;
use bson::{Bson, Document, doc};
use std::borrow::Cow;

const INFORMATION: &str = "encryptionInformation";
const NOT_ENCRYPTED: i32 = 6_346_807;

/// Whether the command has the field `encryptionInformation`.
pub(super) fn accepts_information(command: &str) -> bool {
    matches!(
        command,
        "find" | "count" | "distinct" | "aggregate" | "insert" | "update" | "delete" | "findAndModify"
    )
}

/// Fails if the version has no Queryable Encryption, or only the first version of its protocol.
pub(super) fn check_version(command: &str, version: Version, body: &Document) -> Result<()> {
    if version.at_least(7, 0) || !has_information(body) {
        return Ok(());
    }
    if version.at_least(6, 0) {
        return Err(Error::not_served("version 1 of Queryable Encryption"));
    }
    Err(Error::new(
        code::UNKNOWN_FIELD,
        format!("BSON field '{command}.{INFORMATION}' is an unknown field."),
    ))
}

/// The fields of a command without payloads of Queryable Encryption.
pub(super) fn without_payloads<'c>(call: &Call<'c>) -> Result<Cow<'c, Document>> {
    let is_encrypted =
        has_information(call.body) && (accepts_information(call.name) || call.name == "bulkWrite");
    if is_encrypted {
        let mut catalog = call.catalog();
        return rewrite(&mut catalog, call.db, call.name, call.body).map(Cow::Owned);
    }
    if call.name == "explain"
        && let Some(Bson::Document(explained)) = call.body.get(call.key)
        && has_information(explained)
    {
        let name = match explained.keys().next().map_or("", String::as_str) {
            "findandmodify" => "findAndModify",
            name => name,
        };
        // Nothing is written.
        let mut catalog = call.catalog().clone();
        let mut body = call.body.clone();
        body.insert(call.key, rewrite(&mut catalog, call.db, name, explained)?);
        return Ok(Cow::Owned(body));
    }
    Ok(Cow::Borrowed(call.body))
}

pub(crate) fn compact(call: &Call<'_>) -> Result<Document> {
    call.args().required_document("compactionTokens")?;
    let read = empty_ecoc(call)?;
    let unchanged = doc! { "read": 0_i64, "inserted": 0_i64, "updated": 0_i64, "deleted": 0_i64 };
    Ok(doc! { "stats": { "ecoc": { "read": read, "deleted": read }, "esc": unchanged } })
}

pub(crate) fn cleanup(call: &Call<'_>) -> Result<Document> {
    call.args().required_document("cleanupTokens")?;
    let read = empty_ecoc(call)?;
    let unchanged = doc! { "read": 0_i64, "inserted": 0_i64, "updated": 0_i64, "deleted": 0_i64 };
    Ok(doc! { "stats": { "ecoc": { "read": read, "deleted": read }, "esc": unchanged } })
}

/// Removes the entries of ECOC. Those of ESC are kept, so that the positions of stored values remain known.
fn empty_ecoc(call: &Call<'_>) -> Result<i64> {
    let namespace = call.namespace()?;
    let mut catalog = call.catalog();
    let collection = catalog.get(&namespace).ok_or_else(|| {
        Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("Collection '{namespace}' does not exist"),
        )
    })?;
    let ecoc = collection
        .options
        .get_document("encryptedFields")
        .ok()
        .and_then(|fields| fields.get_str("ecocCollection").ok())
        .ok_or_else(|| Error::new(NOT_ENCRYPTED, "Target namespace is not an encrypted collection"))?;
    let ecoc = Namespace::new(&namespace.database, ecoc)?;
    let Some(collection) = catalog.get_mut(&ecoc) else {
        return Ok(0);
    };
    let ids: Vec<_> = collection.records().map(|(id, _)| id).collect();
    for id in &ids {
        if collection.remove(*id).is_some() {
            call.advance_clock();
        }
    }
    Ok(i64::try_from(ids.len()).unwrap_or(i64::MAX))
}
