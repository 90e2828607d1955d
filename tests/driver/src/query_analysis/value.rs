//! Placeholders: values with the way in which libmongocrypt is to encrypt them.

use marula_driver::bson::{Binary, BinarySubtype, Bson, Document, doc, to_vec};

use super::{
    error::{Analyzed, reject},
    schema::{Field, Key, Schema, Target},
};

const DETERMINISTIC: i32 = 1;
const RANDOM: i32 = 2;

/// What the marked values of a command have in common.
#[derive(Debug)]
pub(super) struct Marker<'s> {
    pub(super) schema: &'s Schema,
    /// The number of placeholders so far.
    pub(super) count: usize,
}

impl Marker<'_> {
    /// The placeholder of a value. `document`: where the alternate name of a key is found.
    pub(super) fn mark(
        &mut self,
        field: &Field,
        value: &Bson,
        document: Option<&Document>,
    ) -> Analyzed<Bson> {
        // Encrypted explicitly.
        if matches!(value, Bson::Binary(binary) if binary.subtype == BinarySubtype::Encrypted) {
            return Ok(value.clone());
        }
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
        bytes.extend(to_vec(&placeholder).expect("a document"));
        Ok(Bson::Binary(Binary {
            subtype: BinarySubtype::Encrypted,
            bytes,
        }))
    }

    /// Marks the fields of a document that is stored.
    pub(super) fn mark_document(&mut self, document: &Document) -> Analyzed<Document> {
        self.mark_below(document, "", Some(document))
    }

    /// As [`mark_document`](Self::mark_document), for a value at a path. `root`: the whole document, if it is known.
    pub(super) fn mark_at(&mut self, path: &str, value: &Bson, root: Option<&Document>) -> Analyzed<Bson> {
        match (self.schema.target(path), value) {
            (Target::Encrypted(field), value) => {
                let field = field.clone();
                self.mark(&field, value, root)
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

fn check_type(field: &Field, value: &Bson) -> Analyzed {
    let name = match value {
        Bson::Array(_) if !field.is_random => "array",
        Bson::Document(_) if !field.is_random => "object",
        Bson::Double(_) if !field.is_random => "double",
        Bson::Decimal128(_) if !field.is_random => "decimal",
        Bson::Boolean(_) if !field.is_random => "bool",
        Bson::JavaScriptCodeWithScope(_) if !field.is_random => "javascriptWithScope",
        Bson::MinKey => "minKey",
        Bson::MaxKey => "maxKey",
        Bson::Null => "null",
        Bson::Undefined => "undefined",
        Bson::Timestamp(time) if time.time == 0 && time.increment == 0 => {
            return reject("A command that inserts cannot supply Timestamp(0, 0) for an encrypted field");
        }
        _ => return Ok(()),
    };
    reject(format!("Cannot encrypt element of type: {name}"))
}
