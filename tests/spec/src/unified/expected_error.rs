//! `expectError`: compares an error of the driver with the expected one.

use std::collections::BTreeMap;

use marula_driver::{
    ClientBulkWriteError, Error, ErrorKind,
    bson::{Bson, Document, doc},
};

use super::{
    matcher::{Lookup, matches, matches_root, show},
    operation::bulk::client_result,
};

/// Compares an error with the expected one.
///
/// # Errors
/// Returns the first difference.
pub(crate) fn check(expected: &Document, error: &Error, lookup: &dyn Lookup) -> Result<(), String> {
    expected
        .iter()
        .try_for_each(|(key, wanted)| one(key, wanted, error, lookup))
        .map_err(|why| format!("{why}; error: {error:#}"))
}

fn one(key: &str, wanted: &Bson, error: &Error, lookup: &dyn Lookup) -> Result<(), String> {
    let is = |name: &str, actual: bool| match wanted {
        Bson::Boolean(wanted) if *wanted == actual => Ok(()),
        _ => Err(format!("{name}: expected {}, found {actual}", show(wanted))),
    };
    match (key, wanted) {
        ("isError", _) => Ok(()),
        ("isClientError", _) => is(key, is_client_error(error)),
        ("isTimeoutError", _) => is(key, matches!(error.kind(), ErrorKind::Timeout(_))),
        ("errorContains", Bson::String(part)) => {
            let part = part.to_lowercase();
            if texts(error)
                .iter()
                .any(|text| text.to_lowercase().contains(&part))
            {
                Ok(())
            } else {
                Err(format!("errorContains: \"{part}\" not found"))
            }
        }
        ("errorCode", wanted) => {
            let code = top_level(error).and_then(Error::code).map(Bson::Int32);
            matches(wanted, code.as_ref(), false, lookup).map_err(|why| format!("errorCode {why}"))
        }
        ("errorCodeName", Bson::String(name)) => {
            if code_names(error)
                .iter()
                .any(|other| other.eq_ignore_ascii_case(name))
            {
                Ok(())
            } else {
                Err(format!(
                    "errorCodeName: expected {name}, found {:?}",
                    code_names(error)
                ))
            }
        }
        ("errorLabelsContain", Bson::Array(labels)) => {
            labels.iter().try_for_each(|label| match label.as_str() {
                Some(label) if error.contains_label(label) => Ok(()),
                _ => Err(format!("errorLabelsContain: missing label {}", show(label))),
            })
        }
        ("errorLabelsOmit", Bson::Array(labels)) => {
            labels.iter().try_for_each(|label| match label.as_str() {
                Some(label) if !error.contains_label(label) => Ok(()),
                _ => Err(format!("errorLabelsOmit: unexpected label {}", show(label))),
            })
        }
        ("errorResponse", Bson::Document(wanted)) => {
            let response = error
                .server_response()
                .ok_or("errorResponse: no server response")?;
            let response = marula_driver::bson::decode_document(response.as_bytes())
                .map_err(|e| format!("errorResponse: malformed: {e}"))?;
            matches_root(wanted, &response, lookup).map_err(|why| format!("errorResponse {why}"))
        }
        ("expectResult", wanted) => {
            let partial = partial_result(error).map(Bson::Document);
            matches(wanted, partial.as_ref(), true, lookup).map_err(|why| format!("expectResult {why}"))
        }
        ("writeErrors", Bson::Document(wanted)) => {
            let errors = &client_bulk_write(key, error)?.write_errors;
            if errors.len() != wanted.len() {
                return Err(format!("writeErrors: found {} errors", errors.len()));
            }
            errors.iter().try_for_each(|error| {
                let found = doc! { "code": error.code, "message": &error.message };
                match wanted.get(error.index.to_string()) {
                    Some(Bson::Document(wanted)) => matches_root(wanted, &found, lookup)
                        .map_err(|why| format!("writeErrors.{} {why}", error.index)),
                    _ => Err(format!("writeErrors: unexpected error {error}")),
                }
            })
        }
        ("writeConcernErrors", Bson::Array(wanted)) => {
            let errors = &client_bulk_write(key, error)?.write_concern_errors;
            if errors.len() != wanted.len() {
                return Err(format!("writeConcernErrors: found {} errors", errors.len()));
            }
            errors.iter().zip(wanted).try_for_each(|(error, wanted)| {
                let found =
                    doc! { "code": error.code, "codeName": &error.code_name, "message": &error.message };
                match wanted {
                    Bson::Document(wanted) => matches_root(wanted, &found, lookup)
                        .map_err(|why| format!("writeConcernErrors {why}")),
                    _ => Err(format!("writeConcernErrors: not a document: {}", show(wanted))),
                }
            })
        }
        _ => Err(format!("unknown expectation {key}: {}", show(wanted))),
    }
}

/// The error of a client bulk write.
fn client_bulk_write<'a>(key: &str, error: &'a Error) -> Result<&'a ClientBulkWriteError, String> {
    match error.kind() {
        ErrorKind::ClientBulkWrite(bulk) => Ok(bulk),
        _ => Err(format!("{key} requires an error of a client bulk write")),
    }
}

/// The error that codes and texts are compared with: of a client bulk write, only the top-level
/// error.
fn top_level(error: &Error) -> Option<&Error> {
    match error.kind() {
        ErrorKind::ClientBulkWrite(bulk) => bulk.error.as_ref(),
        _ => Some(error),
    }
}

/// Returns whether the error is not a server error. Network errors are client errors.
fn is_client_error(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Command(_) | ErrorKind::Write(_) => false,
        // A refused login; others fail before the server answers.
        ErrorKind::Authentication(_) => error.code().is_none(),
        ErrorKind::Timeout(timeout) => timeout.cause().is_none_or(is_client_error),
        ErrorKind::BulkWrite(bulk) => {
            bulk.write_errors.is_empty()
                && bulk.write_concern_error.is_none()
                && bulk.interrupted_by.as_ref().is_none_or(is_client_error)
        }
        ErrorKind::ClientBulkWrite(bulk) => {
            bulk.write_errors.is_empty()
                && bulk.write_concern_errors.is_empty()
                && bulk.error.as_ref().is_none_or(is_client_error)
        }
        _ => true,
    }
}

/// The messages of an error with its sources, and of all errors of a bulk write.
fn texts(error: &Error) -> Vec<String> {
    let Some(error) = top_level(error) else {
        return Vec::new();
    };
    let mut texts = vec![format!("{error:#}")];
    if let ErrorKind::BulkWrite(bulk) = error.kind() {
        texts.extend(bulk.write_errors.iter().map(ToString::to_string));
        texts.extend(bulk.write_concern_error.as_ref().map(ToString::to_string));
    }
    texts
}

fn code_names(error: &Error) -> Vec<String> {
    let Some(error) = top_level(error) else {
        return Vec::new();
    };
    let mut names: Vec<String> = error.code_name().map(str::to_owned).into_iter().collect();
    names.extend(
        error
            .write_concern_error()
            .map(|e| e.code_name.clone())
            .filter(|name| !name.is_empty()),
    );
    names
}

/// The partial result of a failed bulk write.
fn partial_result(error: &Error) -> Option<Document> {
    let bulk = match error.kind() {
        ErrorKind::BulkWrite(bulk) => bulk,
        ErrorKind::ClientBulkWrite(bulk) => return bulk.partial_result.as_ref().map(client_result),
        _ => return None,
    };
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let size = |ids: &BTreeMap<usize, Bson>| i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let by_index = |ids: &BTreeMap<usize, Bson>| -> Document {
        ids.iter()
            .map(|(index, id)| (index.to_string(), id.clone()))
            .collect()
    };
    Some(doc! {
        "insertedCount": size(&bulk.inserted_ids),
        "matchedCount": number(bulk.matched_count),
        "modifiedCount": number(bulk.modified_count),
        "deletedCount": number(bulk.deleted_count),
        "upsertedCount": size(&bulk.upserted_ids),
        "insertedIds": by_index(&bulk.inserted_ids),
        "upsertedIds": by_index(&bulk.upserted_ids),
    })
}

#[cfg(test)]
mod tests {
    use marula_driver::options::ClientOptions;

    use super::*;
    use crate::unified::entity::Entities;

    fn checked(expected: &Document) -> Result<(), String> {
        let error = ClientOptions::parse("mongodb://a:0").expect_err("a bad port");
        check(expected, &error, &Entities::default())
    }

    #[test]
    fn client_errors_are_not_server_errors() {
        assert_eq!(
            checked(&doc! { "isError": true, "isClientError": true, "isTimeoutError": false }),
            Ok(())
        );
        assert_eq!(checked(&doc! { "errorContains": "BETWEEN 1 and 65535" }), Ok(()));
        assert_eq!(
            checked(&doc! { "errorLabelsOmit": ["RetryableWriteError"] }),
            Ok(())
        );
        for wrong in [
            doc! { "isClientError": false },
            doc! { "isTimeoutError": true },
            doc! { "errorContains": "other text" },
            doc! { "errorCode": 11000 },
            doc! { "errorCodeName": "DuplicateKey" },
            doc! { "errorLabelsContain": ["RetryableWriteError"] },
            doc! { "errorResponse": {} },
            doc! { "expectResult": { "insertedCount": 0 } },
            doc! { "writeErrors": {} },
            doc! { "writeConcernErrors": [] },
        ] {
            let why = checked(&wrong).expect_err("a mismatch");
            assert!(why.contains("65535"), "{wrong}: {why}");
        }
    }
}
