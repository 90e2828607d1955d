//! The collections and the index of a collection for Queryable Encryption ([Client Side Encryption], "Queryable Encryption
//! Create and Drop Collection Helpers").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use crate::{
    Error, Result,
    bson::{Document, RawDocument, doc},
    proto::description::HelloReply,
};

/// `maxWireVersion` of MongoDB 7.0.
const WIRE_VERSION: i32 = 21;

/// The names of the state collections, in the order in which they are created and dropped.
pub(super) fn state_collections(name: &str, encrypted_fields: &RawDocument) -> [String; 2] {
    [("escCollection", "esc"), ("ecocCollection", "ecoc")].map(|(field, suffix)| {
        match encrypted_fields.get_str(field) {
            Ok(name) => name.to_owned(),
            Err(_) => format!("enxcol_.{name}.{suffix}"),
        }
    })
}

/// The clustered index of the state collections.
pub(super) fn clustered_index() -> Document {
    doc! { "key": { "_id": 1 }, "unique": true }
}

/// The key of the index on the encrypted collection.
pub(super) fn index_keys() -> Document {
    doc! { "__safeContent__": 1 }
}

/// Rejects servers without the current version of Queryable Encryption, and standalones, which have none.
pub(super) fn check_server(server: &HelloReply) -> Result<()> {
    if server.max_wire_version < WIRE_VERSION {
        return Err(Error::unsupported(
            "Driver support of Queryable Encryption is incompatible with server. Upgrade server to use Queryable Encryption.",
        ));
    }
    if !server.is_mongos() && !server.is_replica_set_member() {
        return Err(Error::unsupported(
            "a collection for Queryable Encryption requires a replica set or a sharded cluster, the server is a standalone",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::rawdoc;

    #[test]
    fn servers_without_encrypted_collections_are_rejected() {
        let standalone = HelloReply {
            max_wire_version: WIRE_VERSION,
            ..HelloReply::default()
        };
        let error = check_server(&standalone).unwrap_err().to_string();
        assert!(error.contains("the server is a standalone"), "{error}");
        let member = HelloReply {
            set_name: Some("rs".into()),
            ..standalone
        };
        check_server(&member).unwrap();
        let old = HelloReply {
            max_wire_version: WIRE_VERSION - 1,
            ..member
        };
        check_server(&old).unwrap_err();
    }

    #[test]
    fn state_collections_have_default_names() {
        let names = state_collections("people", &rawdoc! { "fields": [] });
        assert_eq!(names, ["enxcol_.people.esc", "enxcol_.people.ecoc"]);
        let names = state_collections("people", &rawdoc! { "escCollection": "a", "ecocCollection": "b" });
        assert_eq!(names, ["a", "b"]);
    }
}
