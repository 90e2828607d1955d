//! Placeholders: values with the way in which libmongocrypt is to encrypt them.

use bson::{Binary, Bson, Document, doc, serialize_to_vec, spec::BinarySubtype};

use crate::{
    bson_type::type_name,
    error::{Analyzed, reject},
    schema::{Field, Key, PlainField, Schema, Target},
    schemas::Schemas,
};

const DETERMINISTIC: i32 = 1;
const RANDOM: i32 = 2;

/// What the marked values of a command have in common.
#[derive(Debug)]
pub(crate) struct Marker<'s> {
    /// The schema of the collection that a part of the command refers to.
    pub(crate) schema: &'s Schema,
    /// Those of all collections.
    pub(crate) schemas: &'s Schemas,
    pub(crate) database: &'s str,
    /// The number of placeholders so far.
    pub(crate) count: usize,
    /// The number of queries for ranges so far.
    pub(crate) range_count: i32,
}

/// Whether a value is encrypted explicitly.
pub(crate) fn is_encrypted(value: &Bson) -> bool {
    matches!(value, Bson::Binary(binary) if binary.subtype == BinarySubtype::Encrypted)
}

impl Marker<'_> {
    /// The placeholder of a value to store. `document`: where the alternate name of a key is found.
    fn mark_stored(&mut self, field: &Field, value: &Bson, document: Option<&Document>) -> Analyzed<Bson> {
        match field {
            Field::Plain(field) => self.mark(field, value, document),
            Field::Queryable(_) if is_encrypted(value) => Ok(value.clone()),
            Field::Queryable(field) => {
                check_timestamp(value)?;
                self.count += 1;
                field.stored(value)
            }
        }
    }

    /// The placeholder of a value. `document`: where the alternate name of a key is found.
    pub(crate) fn mark(
        &mut self,
        field: &PlainField,
        value: &Bson,
        document: Option<&Document>,
    ) -> Analyzed<Bson> {
        check_type(field, value)?;
        let algorithm = if field.is_random { RANDOM } else { DETERMINISTIC };
        let mut placeholder = doc! { "a": algorithm };
        match (&field.key, document) {
            (Key::Id(id), _) => placeholder.insert("ki", id.clone()),
            (Key::Pointer(pointer), Some(document)) => {
                match document.get_str(pointer.trim_start_matches('/')) {
                    Ok(name) => placeholder.insert("ka", name),
                    Err(_) => {
                        return reject(format!("keyId pointer '{pointer}' must point to a string field"));
                    }
                }
            }
            (Key::Pointer(_), None) => return reject("A non-static (JSONPointer) keyId is not supported."),
        };
        placeholder.insert("v", value.clone());
        self.count += 1;
        let mut bytes = vec![0];
        bytes.extend(serialize_to_vec(&placeholder).expect("a document"));
        Ok(Bson::Binary(Binary {
            subtype: BinarySubtype::Encrypted,
            bytes,
        }))
    }

    /// Marks the fields of a document that is stored.
    pub(crate) fn mark_document(&mut self, document: &Document) -> Analyzed<Document> {
        self.mark_below(document, "", Some(document))
    }

    /// As [`mark_document`](Self::mark_document), for a value at a path. `root`: the whole document, if it is known.
    pub(crate) fn mark_at(&mut self, path: &str, value: &Bson, root: Option<&Document>) -> Analyzed<Bson> {
        match (self.schema.target(path), value) {
            (Target::Encrypted(field), value) => {
                let field = field.clone();
                self.mark_stored(&field, value, root)
            }
            (_, Bson::Document(document)) => Ok(Bson::Document(self.mark_below(document, path, root)?)),
            _ => Ok(value.clone()),
        }
    }

    fn mark_below(&mut self, document: &Document, path: &str, root: Option<&Document>) -> Analyzed<Document> {
        let mut marked = Document::new();
        for (key, value) in document {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            marked.insert(key, self.mark_at(&path, value, root)?);
        }
        Ok(marked)
    }
}

fn check_type(field: &PlainField, value: &Bson) -> Analyzed {
    check_timestamp(value)?;
    let is_rejected = match value {
        Bson::MinKey | Bson::MaxKey | Bson::Null | Bson::Undefined => true,
        Bson::Array(_)
        | Bson::Document(_)
        | Bson::Double(_)
        | Bson::Decimal128(_)
        | Bson::Boolean(_)
        | Bson::JavaScriptCodeWithScope(_) => !field.is_random,
        _ => false,
    };
    let name = type_name(value);
    if is_rejected || is_encrypted(value) {
        return reject(format!("Cannot encrypt element of type: {name}"));
    }
    if !field.types.is_empty() && !field.types.iter().any(|allowed| allowed == name) {
        let allowed = field.types.join(", ");
        return reject(format!(
            "Cannot encrypt element of type: {name} because schema requires that type is one of: [ {allowed} ]"
        ));
    }
    Ok(())
}

fn check_timestamp(value: &Bson) -> Analyzed {
    if matches!(value, Bson::Timestamp(time) if time.time == 0 && time.increment == 0) {
        return reject("A command that inserts cannot supply Timestamp(0, 0) for an encrypted field");
    }
    Ok(())
}
