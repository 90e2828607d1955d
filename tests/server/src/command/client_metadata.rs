//! Validation of the client metadata: the `client` document of `hello`.

use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::value::document_size;
use crate::violation::ViolationKind;
use crate::wire::connection::Client;
use bson::{Bson, Document};

/// The maximum size for drivers and mongos, in bytes.
const MAX_SIZE: usize = 512;
/// The maximum size for mongod, in bytes: mongos forwards the metadata with additions.
const MAX_MONGOD_SIZE: usize = 1024;
const MAX_APP_NAME_SIZE: usize = 128;

/// Fails if the server rejects the document.
pub(super) fn check(deployment: &Deployment, client: &Client, body: &Document) -> Result<()> {
    let Some(metadata) = body.get("client") else {
        return Ok(());
    };
    let limit = if deployment.is_mongos() {
        MAX_SIZE
    } else {
        MAX_MONGOD_SIZE
    };
    if client.handshake_complete {
        return Err(Error::new(
            code::CLIENT_METADATA_CANNOT_BE_MUTATED,
            "The client metadata document may only be sent in the first hello",
        )
        .violating(ViolationKind::ClientMetadata));
    }
    check_document(metadata, limit).map_err(|error| error.violating(ViolationKind::ClientMetadata))
}

/// Whether the document is larger than the handshake specification allows, though the server may
/// accept it.
pub(super) fn is_too_long_for_drivers(body: &Document) -> bool {
    matches!(body.get("client"), Some(Bson::Document(metadata)) if document_size(metadata) > MAX_SIZE)
}

fn check_document(metadata: &Bson, limit: usize) -> Result<()> {
    let Bson::Document(metadata) = metadata else {
        return Err(Error::type_mismatch(
            "The client metadata document must be a document",
        ));
    };
    if document_size(metadata) > limit {
        return Err(Error::new(
            code::CLIENT_METADATA_DOCUMENT_TOO_LARGE,
            format!("The client metadata document must be less then or equal to {limit} bytes"),
        ));
    }
    if let Some(application) = sub_document(metadata, "application")? {
        match application.get("name") {
            None => {}
            Some(Bson::String(name)) if name.len() > MAX_APP_NAME_SIZE => {
                return Err(Error::new(
                    code::CLIENT_METADATA_APP_NAME_TOO_LARGE,
                    format!(
                        "The 'application.name' field must be less then or equal to {MAX_APP_NAME_SIZE} bytes in the client \
                         metadata document"
                    ),
                ));
            }
            Some(Bson::String(_)) => {}
            Some(_) => return Err(not_a_string("application.name")),
        }
    }
    for (name, required) in [("driver", ["name", "version"].as_slice()), ("os", &["type"])] {
        let Some(part) = sub_document(metadata, name)? else {
            return Err(missing(&format!("sub-document '{name}'")));
        };
        for field in required {
            match part.get(field) {
                Some(Bson::String(_)) => {}
                Some(_) => return Err(not_a_string(&format!("{name}.{field}"))),
                None => return Err(missing(&format!("field '{name}.{field}'"))),
            }
        }
    }
    Ok(())
}

fn sub_document<'m>(metadata: &'m Document, name: &str) -> Result<Option<&'m Document>> {
    match metadata.get(name) {
        None => Ok(None),
        Some(Bson::Document(part)) => Ok(Some(part)),
        Some(_) => Err(Error::type_mismatch(format!(
            "The '{name}' field is required to be a BSON document in the client metadata document"
        ))),
    }
}

fn missing(what: &str) -> Error {
    Error::new(
        code::CLIENT_METADATA_MISSING_FIELD,
        format!("Missing required {what} in the client metadata document"),
    )
}

fn not_a_string(field: &str) -> Error {
    Error::type_mismatch(format!(
        "The '{field}' field must be a string in the client metadata document"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn metadata_documents() {
        let whole = doc! { "driver": { "name": "d", "version": "1" }, "os": { "type": "Linux" } };
        let with = |name: &str, value: Bson| {
            let mut changed = whole.clone();
            changed.insert(name, value);
            changed
        };
        for (metadata, expected) in [
            (whole.clone(), 0),
            (doc! { "os": { "type": "Linux" } }, 183),
            (with("driver", doc! { "name": "d" }.into()), 183),
            (with("driver", doc! { "name": 1, "version": "1" }.into()), 14),
            (with("os", "Linux".into()), 14),
            (with("os", doc! {}.into()), 183),
            (with("application", doc! { "name": "x".repeat(129) }.into()), 184),
            (with("application", doc! { "name": "x".repeat(128) }.into()), 0),
            (with("platform", "x".repeat(512).into()), 185),
        ] {
            let code = check_document(&metadata.clone().into(), MAX_SIZE)
                .err()
                .map_or(0, |e| e.code);
            assert_eq!(code, expected, "{metadata}");
        }
        assert!(is_too_long_for_drivers(
            &doc! { "client": with("platform", "x".repeat(512).into()) }
        ));
        assert!(!is_too_long_for_drivers(&doc! { "client": whole }));
    }
}
