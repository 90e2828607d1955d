//! The fields of a command that name its session and its transaction: `lsid`, `txnNumber`, `autocommit`, and what they must be.

use crate::error::{Error, Result, code};
use crate::value::type_name;
use crate::violation::ViolationKind;
use bson::spec::BinarySubtype;
use bson::{Bson, Document};

/// The session and the transaction that a command, or the cursor that it made, belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) session: Option<Vec<u8>>,
    /// The number of the transaction; retryable writes are none.
    pub(crate) transaction: Option<i64>,
}

impl Owner {
    /// The owner that a command names.
    pub(crate) fn of(body: &Document) -> Result<Owner> {
        let transaction = transaction_number(body)?.filter(|_| body.contains_key("autocommit"));
        Ok(Owner {
            session: session_id(body)?,
            transaction,
        })
    }

    /// Fails if a `getMore` of `asker` must not read this owner's cursor.
    pub(crate) fn check(&self, cursor: i64, asker: &Owner) -> Result<()> {
        let refuse = |code: i32, why: String| {
            Err(Error::new(
                code,
                format!("Cannot run getMore on cursor {cursor}, which was {why}"),
            )
            .violating(ViolationKind::CursorSession))
        };
        match (&self.session, &asker.session) {
            (None, Some(asker)) => {
                return refuse(
                    50736,
                    format!("not created in a session, in session {}", shown(asker)),
                );
            }
            (Some(own), None) => {
                return refuse(
                    50737,
                    format!("created in session {}, without an lsid", shown(own)),
                );
            }
            (Some(own), Some(asker)) if own != asker => {
                return refuse(
                    50738,
                    format!("created in session {}, in session {}", shown(own), shown(asker)),
                );
            }
            _ => {}
        }
        match (self.transaction, asker.transaction) {
            (None, Some(asker)) => refuse(
                50739,
                format!("not created in a transaction, in transaction {asker}"),
            ),
            (Some(own), None) => refuse(
                50740,
                format!("created in transaction {own}, without a txnNumber"),
            ),
            (Some(own), Some(asker)) if own != asker => refuse(
                50741,
                format!("created in transaction {own}, in transaction {asker}"),
            ),
            _ => Ok(()),
        }
    }
}

/// A session's id as text: a UUID.
pub(crate) fn shown(id: &[u8]) -> String {
    <[u8; 16]>::try_from(id).map_or_else(
        |_| "?".to_owned(),
        |bytes| bson::Uuid::from_bytes(bytes).to_string(),
    )
}

/// The `txnNumber`.
pub(crate) fn transaction_number(body: &Document) -> Result<Option<i64>> {
    match body.get("txnNumber") {
        None => Ok(None),
        Some(Bson::Int64(number)) => Ok(Some(*number)),
        Some(other) => Err(wrong_type("txnNumber", other, "long")),
    }
}

/// The session and the number of a command in a transaction.
pub(crate) fn transaction_id(body: &Document) -> Result<(Vec<u8>, i64)> {
    let invalid = |message: &str| Error::new(code::INVALID_OPTIONS, message);
    let number = transaction_number(body)?
        .ok_or_else(|| invalid("'autocommit' and 'startTransaction' need a 'txnNumber'"))?;
    let id = session_id(body)?
        .ok_or_else(|| invalid("Transaction number requires a session ID to also be specified"))?;
    Ok((id, number))
}

/// The id of a command's `lsid`.
pub(crate) fn session_id(body: &Document) -> Result<Option<Vec<u8>>> {
    match body.get("lsid") {
        None => Ok(None),
        Some(Bson::Document(lsid)) => lsid_id(lsid).map(Some),
        Some(other) => Err(wrong_type("lsid", other, "object")),
    }
}

fn lsid_id(lsid: &Document) -> Result<Vec<u8>> {
    const FIELDS: [&str; 4] = ["id", "uid", "txnNumber", "txnUUID"];
    if let Some(field) = lsid.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(Error::new(
            code::UNKNOWN_FIELD,
            format!("BSON field 'OperationSessionInfo.lsid.{field}' is an unknown field."),
        )
        .violating(ViolationKind::SessionFields));
    }
    match lsid.get("id") {
        None => Err(Error::new(
            code::MISSING_FIELD,
            "BSON field 'OperationSessionInfo.lsid.id' is missing but a required field",
        )
        .violating(ViolationKind::SessionFields)),
        Some(Bson::Binary(binary)) if binary.subtype == BinarySubtype::Uuid => match binary.bytes.len() {
            16 => Ok(binary.bytes.clone()),
            _ => Err(Error::new(
                code::INVALID_UUID,
                "uuid must be a 16-byte binary field with UUID (4) subtype",
            )
            .violating(ViolationKind::SessionFields)),
        },
        Some(Bson::Binary(_)) => Err(Error::type_mismatch(
            "BSON field 'OperationSessionInfo.lsid.id' is the wrong binData type, expected type 'UUID'",
        )
        .violating(ViolationKind::SessionFields)),
        Some(other) => Err(wrong_type("lsid.id", other, "binData")),
    }
}

fn wrong_type(field: &str, value: &Bson, expected: &str) -> Error {
    Error::type_mismatch(format!(
        "BSON field 'OperationSessionInfo.{field}' is the wrong type '{}', expected type '{expected}'",
        type_name(value)
    ))
    .violating(ViolationKind::SessionFields)
}
