//! Parsing of the fields of a command that identify its session and its transaction: `lsid`,
//! `txnNumber`, `autocommit`.

use crate::error::{Error, Result, code};
use crate::value::type_name;
use crate::violation::ViolationKind;
use bson::spec::BinarySubtype;
use bson::{Bson, Document};

/// The session and the transaction of a command and the cursor it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) session: Option<Vec<u8>>,
    /// The `txnNumber` of a transaction; `None` for retryable writes.
    pub(crate) transaction: Option<i64>,
}

impl Owner {
    /// The session and transaction of a command.
    pub(crate) fn of(body: &Document) -> Result<Owner> {
        let transaction = transaction_number(body)?.filter(|_| body.contains_key("autocommit"));
        Ok(Owner {
            session: session_id(body)?,
            transaction,
        })
    }

    /// Fails if a `getMore` of `requester` is in another session or transaction than the cursor.
    pub(crate) fn check(&self, cursor: i64, requester: &Owner) -> Result<()> {
        let reject = |code: i32, reason: String| {
            Err(Error::new(
                code,
                format!("Cannot run getMore on cursor {cursor}, which was {reason}"),
            )
            .violating(ViolationKind::CursorSession))
        };
        match (&self.session, &requester.session) {
            (None, Some(requester)) => {
                return reject(
                    50736,
                    format!("not created in a session, in session {}", shown(requester)),
                );
            }
            (Some(own), None) => {
                return reject(
                    50737,
                    format!("created in session {}, without an lsid", shown(own)),
                );
            }
            (Some(own), Some(requester)) if own != requester => {
                return reject(
                    50738,
                    format!(
                        "created in session {}, in session {}",
                        shown(own),
                        shown(requester)
                    ),
                );
            }
            _ => {}
        }
        match (self.transaction, requester.transaction) {
            (None, Some(requester)) => reject(
                50739,
                format!("not created in a transaction, in transaction {requester}"),
            ),
            (Some(own), None) => reject(
                50740,
                format!("created in transaction {own}, without a txnNumber"),
            ),
            (Some(own), Some(requester)) if own != requester => reject(
                50741,
                format!("created in transaction {own}, in transaction {requester}"),
            ),
            _ => Ok(()),
        }
    }
}

/// Formats a session id as a UUID.
pub(crate) fn shown(id: &[u8]) -> String {
    <[u8; 16]>::try_from(id).map_or_else(
        |_| "?".to_owned(),
        |bytes| bson::Uuid::from_bytes(bytes).to_string(),
    )
}

/// Parses `txnNumber`.
pub(crate) fn transaction_number(body: &Document) -> Result<Option<i64>> {
    match body.get("txnNumber") {
        None => Ok(None),
        Some(Bson::Int64(number)) => Ok(Some(*number)),
        Some(other) => Err(wrong_type("txnNumber", other, "long")),
    }
}

/// The session id and the transaction number of a command that must have both.
pub(crate) fn transaction_id(body: &Document) -> Result<(Vec<u8>, i64)> {
    let invalid = |message: &str| Error::new(code::INVALID_OPTIONS, message);
    let number = transaction_number(body)?
        .ok_or_else(|| invalid("'autocommit' and 'startTransaction' require a 'txnNumber'"))?;
    let id = session_id(body)?
        .ok_or_else(|| invalid("Transaction number requires a session ID to also be specified"))?;
    Ok((id, number))
}

/// Parses `lsid` and returns its `id`.
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
