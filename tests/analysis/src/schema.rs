//! The encrypted fields of a collection: those of a JSON schema or of `encryptedFields`.

use std::collections::BTreeMap;

use bson::{Binary, Bson, Document};

use crate::{
    error::{Analyzed, reject},
    queryable::QueryableField,
};

/// The encrypted fields by their paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    fields: BTreeMap<String, Field>,
    is_queryable: bool,
}

/// How a field is encrypted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    /// Client-side field level encryption.
    Plain(PlainField),
    /// Queryable Encryption.
    Queryable(QueryableField),
}

/// A field with the keyword `encrypt`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlainField {
    pub(crate) is_random: bool,
    pub(crate) key: Key,
    /// `bsonType`. Empty: any type.
    pub(crate) types: Vec<String>,
}

/// The data key of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    Id(Binary),
    /// The field of the document with the alternate name of the key, as a JSON pointer.
    Pointer(String),
}

/// `keyId` and `algorithm` of the enclosing `encryptMetadata`.
#[derive(Clone, Debug, Default)]
struct Inherited {
    key: Option<Bson>,
    algorithm: Option<Bson>,
}

/// Where a path leads to.
#[derive(Debug)]
pub(crate) enum Target<'s> {
    Plain,
    Encrypted(&'s Field),
    /// Below an encrypted field, with the rest of the path.
    Below(String),
}

/// Keywords that a schema of the client cannot have: they do not concern encryption.
const REMOTE_ONLY: [&str; 10] = [
    "required",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "enum",
    "minItems",
    "maxItems",
    "title",
];

impl Schema {
    /// Reads the schema of a command.
    pub(crate) fn read(schema: &Document, is_remote: bool) -> Analyzed<Self> {
        let mut fields = BTreeMap::new();
        read_object(schema, "", is_remote, &Inherited::default(), &mut fields)?;
        if fields.contains_key("_id") {
            return reject("Invalid schema containing the 'encrypt' keyword.");
        }
        Ok(Self {
            fields,
            is_queryable: false,
        })
    }

    /// Reads the schema of a collection in `encryptionInformation`.
    pub(crate) fn of_fields(encrypted_fields: &Document) -> Analyzed<Self> {
        let fields = encrypted_fields.get_array("fields").into_iter().flatten();
        let fields = fields.filter_map(Bson::as_document).map(|field| {
            let (path, field) = QueryableField::read(field)?;
            Ok((path, Field::Queryable(field)))
        });
        Ok(Self {
            fields: fields.collect::<Analyzed<_>>()?,
            is_queryable: true,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether the collection has fields of Queryable Encryption.
    pub(crate) fn is_queryable(&self) -> bool {
        self.is_queryable && !self.is_empty()
    }

    /// Where a path leads to.
    pub(crate) fn target(&self, path: &str) -> Target<'_> {
        if let Some(field) = self.fields.get(path) {
            return Target::Encrypted(field);
        }
        let below = self
            .fields
            .keys()
            .find_map(|field| path.strip_prefix(field.as_str())?.strip_prefix('.'));
        match below {
            Some(rest) => Target::Below(rest.to_owned()),
            None => Target::Plain,
        }
    }
}

fn read_object(
    schema: &Document,
    path: &str,
    is_remote: bool,
    inherited: &Inherited,
    fields: &mut BTreeMap<String, Field>,
) -> Analyzed {
    let mut inherited = inherited.clone();
    if let Ok(metadata) = schema.get_document("encryptMetadata") {
        inherited.key = metadata.get("keyId").cloned().or(inherited.key);
        inherited.algorithm = metadata.get("algorithm").cloned().or(inherited.algorithm);
    }
    for (keyword, value) in schema {
        if !is_remote && REMOTE_ONLY.contains(&keyword.as_str()) {
            return reject(format!(
                "JSON schema keyword '{keyword}' is only allowed with a remote schema"
            ));
        }
        if keyword != "properties" && encrypts(value) {
            return reject("Invalid schema containing the 'encrypt' keyword.");
        }
    }
    let Ok(properties) = schema.get_document("properties") else {
        return Ok(());
    };
    for (name, property) in properties {
        let Bson::Document(property) = property else {
            return reject("Invalid schema: a property must be an object");
        };
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        match property.get_document("encrypt") {
            Ok(encrypt) => {
                if let Some(other) = property.keys().find(|key| *key != "encrypt") {
                    return reject(format!("'encrypt' cannot be used in conjunction with '{other}'"));
                }
                fields.insert(path, Field::Plain(read_field(encrypt, &inherited)?));
            }
            Err(_) => read_object(property, &path, is_remote, &inherited, fields)?,
        }
    }
    let has_encrypted = encrypts(&Bson::Document(properties.clone()));
    if has_encrypted && schema.get_str("bsonType").or(schema.get_str("type")).ok() != Some("object") {
        return reject("Invalid schema containing the 'encrypt' keyword.");
    }
    Ok(())
}

fn read_field(encrypt: &Document, inherited: &Inherited) -> Analyzed<PlainField> {
    if let Ok(name @ ("null" | "minKey" | "maxKey" | "undefined")) = encrypt.get_str("bsonType") {
        return reject(format!("Cannot encrypt element of type: {name}"));
    }
    let key = match encrypt.get("keyId").or(inherited.key.as_ref()) {
        Some(Bson::String(pointer)) => Key::Pointer(pointer.clone()),
        Some(Bson::Array(keys)) => match keys.as_slice() {
            [Bson::Binary(id)] => Key::Id(id.clone()),
            _ => return reject("Invalid schema: keyId must have one UUID"),
        },
        _ => return reject("Invalid schema: keyId is missing"),
    };
    let is_random = match encrypt.get("algorithm").or(inherited.algorithm.as_ref()) {
        Some(Bson::String(name)) if name.ends_with("-Random") => true,
        Some(Bson::String(name)) if name.ends_with("-Deterministic") => false,
        _ => return reject("Invalid schema: the algorithm is missing or unknown"),
    };
    let types = match encrypt.get("bsonType") {
        Some(Bson::String(name)) => vec![name.clone()],
        Some(Bson::Array(names)) => {
            let names = names.iter().filter_map(Bson::as_str);
            names.map(ToOwned::to_owned).collect()
        }
        _ => Vec::new(),
    };
    Ok(PlainField {
        is_random,
        key,
        types,
    })
}

/// Whether a part of a schema contains the keyword `encrypt`.
fn encrypts(schema: &Bson) -> bool {
    match schema {
        Bson::Document(schema) => schema
            .iter()
            .any(|(keyword, value)| keyword == "encrypt" || encrypts(value)),
        Bson::Array(schemas) => schemas.iter().any(encrypts),
        _ => false,
    }
}
