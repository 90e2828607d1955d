//! The parts of a `$jsonSchema`, from which the derives make the schema of a model.

use crate::bson::{Bson, Document, doc};
use crate::form::FormOf;

/// The key of the entry of `encryptedFields` in the schema of an encrypted field. [`without_marks`] removes it: no
/// keyword of a schema contains NUL.
pub(crate) const ENCRYPTED: &str = "\0encrypted";
/// The key of a schema whose fields have no paths: that of the values of a map or of an opaque field, if it has
/// encrypted fields.
pub(crate) const UNREACHABLE: &str = "\0unreachable";

/// The types whose schema is being made. A type that contains itself has no constraint inside, since
/// MongoDB has no references between schemas.
#[derive(Debug, Default)]
pub struct OuterTypes {
    types: Vec<&'static str>,
    /// Those that contain themselves.
    recursive: Vec<&'static str>,
    /// Those that contain encrypted fields.
    encrypted: Vec<&'static str>,
}

impl OuterTypes {
    /// The schema of a type that has fields, unless it is made already.
    pub fn enter(&mut self, name: &'static str, schema: impl FnOnce(&mut Self) -> Document) -> Document {
        if self.types.contains(&name) {
            self.recursive.push(name);
            return Document::new();
        }
        self.types.push(name);
        let made = schema(self);
        self.types.pop();
        if has_encrypted(&made) {
            self.encrypted.push(name);
        }
        made
    }

    /// A type that contains itself and encrypted fields.
    pub(crate) fn recursive_encrypted(&self) -> Option<&'static str> {
        let mut encrypted = self.encrypted.iter().copied();
        encrypted.find(|name| self.recursive.contains(name))
    }
}

/// Returns the schema of a type. A function, since a type can contain itself.
pub type SchemaOf = fn(&mut OuterTypes) -> Document;

/// The fields of a struct, as the derives generate them.
#[derive(Debug)]
pub struct FieldTable {
    /// Whether the type is a struct with fields, which a derive describes.
    pub is_present: bool,
    /// The stored names that serde reads.
    pub read: &'static [&'static str],
    /// Stored name and schema of each field.
    pub schemas: &'static [(&'static str, SchemaOf, Constraint)],
    /// The forms of the fields that can have converted parts; see [`Form::Fields`](crate::form::Form::Fields).
    pub forms: &'static [(Option<&'static str>, FormOf)],
}

impl FieldTable {
    /// No fields.
    pub const NONE: FieldTable = FieldTable {
        is_present: false,
        read: &[],
        schemas: &[],
        forms: &[],
    };

    /// The schema of the type with these fields, unless the type is inside of itself; empty for a type without a table.
    /// The name has the arguments of generic types: those of the same type with others are different types.
    pub(crate) fn json_schema(&self, name: &'static str, outer: &mut OuterTypes) -> Document {
        if !self.is_present {
            return Document::new();
        }
        outer.enter(name, |outer| {
            let object = ObjectSchema::default();
            let fields = self.schemas.iter();
            let object = fields.fold(object, |object, (name, schema, constraint)| {
                let schema = schema(outer);
                match constraint {
                    Constraint::Required => object.field(name, schema, true),
                    Constraint::Optional => object.field(name, schema, false),
                    Constraint::Flattened => object.flattened(schema),
                    Constraint::Opaque => object.opaque(name, schema),
                }
            });
            object.finish()
        })
    }
}

/// How the schema of a document constrains a field.
#[derive(Clone, Copy, Debug)]
pub enum Constraint {
    /// Each document has the field.
    Required,
    /// The field may be missing.
    Optional,
    /// The fields of the value are fields of the document.
    Flattened,
    /// The stored form of the field is not known.
    Opaque,
}

/// The schema of an encrypted field, with its entry of `encryptedFields`.
pub(crate) fn encrypted(field: Document) -> Document {
    let mut schema = types(&["binData"]);
    schema.insert(ENCRYPTED, field);
    schema
}

fn has_encrypted(schema: &Document) -> bool {
    schema
        .iter()
        .any(|(keyword, value)| keyword == ENCRYPTED || contains_encrypted(value))
}

/// Whether a part of a schema has encrypted fields.
pub(crate) fn contains_encrypted(value: &Bson) -> bool {
    match value {
        Bson::Document(schema) => has_encrypted(schema),
        Bson::Array(schemas) => schemas.iter().any(contains_encrypted),
        _ => false,
    }
}

/// The schema as the server has it.
pub(crate) fn without_marks(schema: Document) -> Document {
    let kept = schema
        .into_iter()
        .filter(|(keyword, _)| !keyword.starts_with('\0'));
    kept.map(|(keyword, value)| {
        let value = match value {
            Bson::Document(schema) => without_marks(schema).into(),
            Bson::Array(values) => values
                .into_iter()
                .map(value_without_marks)
                .collect::<Vec<_>>()
                .into(),
            value => value,
        };
        (keyword, value)
    })
    .collect()
}

fn value_without_marks(value: Bson) -> Bson {
    match value {
        Bson::Document(schema) => without_marks(schema).into(),
        value => value,
    }
}

/// Maps with values of a schema, which is not constrained.
pub(crate) fn map(values: Document) -> Document {
    let mut schema = types(&["object"]);
    if has_encrypted(&values) {
        schema.insert(UNREACHABLE, values);
    }
    schema
}

/// Values of these BSON types.
#[must_use]
pub fn types(names: &[&str]) -> Document {
    match names {
        [name] => doc! { "bsonType": *name },
        names => doc! { "bsonType": names },
    }
}

/// Integers between two bounds.
pub(crate) fn integers(minimum: i64, maximum: i64) -> Document {
    let mut schema = types(&["int", "long"]);
    for (name, bound, limit) in [("minimum", minimum, i64::MIN), ("maximum", maximum, i64::MAX)] {
        if bound != limit {
            schema.insert(name, bound);
        }
    }
    schema
}

/// Arrays with elements of a schema, of a fixed length if there is one.
pub(crate) fn array(items: Document, length: Option<usize>) -> Document {
    let mut schema = types(&["array"]);
    if let Some(length) = length.and_then(|length| i64::try_from(length).ok()) {
        schema.insert("minItems", length);
        schema.insert("maxItems", length);
    }
    if !items.is_empty() {
        schema.insert("items", items);
    }
    schema
}

/// Null, or a value of the schema.
pub(crate) fn nullable(mut schema: Document) -> Document {
    if schema.is_empty() || permits_null(&schema) {
        return schema;
    }
    match schema.get("bsonType") {
        Some(Bson::String(name)) => {
            let names = vec![name.clone(), "null".to_owned()];
            schema.insert("bsonType", names);
            schema
        }
        Some(Bson::Array(names)) => {
            let mut names = names.clone();
            names.push("null".into());
            schema.insert("bsonType", names);
            schema
        }
        _ => any_of(&[], vec![types(&["null"]), schema]),
    }
}

fn permits_null(schema: &Document) -> bool {
    let is_null = |name: &Bson| name.as_str() == Some("null");
    match (schema.get("bsonType"), schema.get("anyOf")) {
        (Some(Bson::Array(names)), _) => names.iter().any(is_null),
        (Some(name), _) => is_null(name),
        (None, Some(Bson::Array(schemas))) => schemas
            .iter()
            .any(|s| s.as_document().is_some_and(|s| s.is_empty() || permits_null(s))),
        (None, _) => schema.is_empty(),
    }
}

/// One of the strings, or a value of one of the schemas. No constraint if a schema has none.
#[must_use]
pub fn any_of(names: &[&str], schemas: Vec<Document>) -> Document {
    if schemas.iter().any(Document::is_empty) {
        // Without a constraint, but encrypted fields must not be lost.
        let encrypted: Vec<_> = schemas
            .into_iter()
            .filter(has_encrypted)
            .map(Bson::Document)
            .collect();
        if encrypted.is_empty() {
            return Document::new();
        }
        return [(UNREACHABLE.to_owned(), Bson::Array(encrypted))]
            .into_iter()
            .collect();
    }
    let mut all = schemas;
    if !names.is_empty() {
        all.insert(0, doc! { "enum": names });
    }
    match <[Document; 1]>::try_from(all) {
        Ok([one]) => one,
        Err(all) if all.is_empty() => Document::new(),
        Err(all) => doc! { "anyOf": all },
    }
}

/// The schema of a value whose stored form is not known: no constraint, but the encrypted fields of the values in it are
/// found.
#[must_use]
pub fn unknown(outer: &mut OuterTypes, values: &[SchemaOf]) -> Document {
    let schemas = values.iter().map(|schema| schema(outer));
    any_of(&[], std::iter::once(Document::new()).chain(schemas).collect())
}

/// The schema of a value of another type than `stored`, in whose form it is stored. If `stored` can have documents in it,
/// and has fewer encrypted fields than a value in the other type, those of that value are found.
#[must_use]
pub fn stored_as(outer: &mut OuterTypes, stored: SchemaOf, values: &[SchemaOf]) -> Document {
    let mut schema = stored(outer);
    if !is_scalar(&schema)
        && let Some(Bson::Array(hidden)) = unknown(outer, values).remove(UNREACHABLE)
        && hidden.iter().map(count_encrypted).max() > Some(count_encrypted(&schema.clone().into()))
    {
        schema.insert(UNREACHABLE, hidden);
    }
    schema
}

/// Whether the values of a schema are neither documents nor arrays of documents.
fn is_scalar(schema: &Document) -> bool {
    let name_is_scalar = |name: &Bson| match name.as_str() {
        Some("array") => schema.get_document("items").is_ok_and(is_scalar),
        Some(name) => name != "object",
        None => false,
    };
    match schema.get("bsonType") {
        Some(Bson::Array(names)) => names.iter().all(name_is_scalar),
        Some(name) => name_is_scalar(name),
        None => schema.len() == 1 && schema.contains_key("enum"),
    }
}

fn count_encrypted(value: &Bson) -> usize {
    match value {
        Bson::Document(schema) if schema.contains_key(ENCRYPTED) => 1,
        Bson::Document(schema) => schema.iter().map(|(_, value)| count_encrypted(value)).sum(),
        Bson::Array(schemas) => schemas.iter().map(count_encrypted).sum(),
        _ => 0,
    }
}

/// The schema of a flattened value with encrypted fields, which may be missing as a whole: its properties are kept, so
/// that the encrypted fields are found.
fn without_requirements(mut schema: Document) -> Document {
    if !permits_null(&schema) {
        return schema;
    }
    schema.remove("required");
    if schema.get("bsonType").is_some() {
        schema.insert("bsonType", "object");
    }
    schema
}

/// The schema of a document with fields. Other fields are permitted.
#[derive(Debug, Default)]
pub struct ObjectSchema {
    required: Vec<Bson>,
    properties: Document,
    flattened: Vec<Bson>,
}

impl ObjectSchema {
    /// Adds a field. It may be missing if `is_required` is `false`, or if it may be null: then a
    /// missing field is read as null.
    #[must_use]
    pub fn field(mut self, name: &str, schema: Document, is_required: bool) -> Self {
        if is_required && !schema.is_empty() && !permits_null(&schema) {
            self.required.push(name.into());
        }
        if !schema.is_empty() {
            self.properties.insert(name, schema);
        }
        self
    }

    /// Adds a field whose stored form is not known. `schema` is that of its type.
    #[must_use]
    pub fn opaque(mut self, name: &str, schema: Document) -> Self {
        if has_encrypted(&schema) {
            let mark: Document = [(UNREACHABLE.to_owned(), Bson::Document(schema))]
                .into_iter()
                .collect();
            self.properties.insert(name, mark);
        }
        self
    }

    /// Adds the fields of a flattened value. A map adds none.
    #[must_use]
    pub fn flattened(mut self, schema: Document) -> Self {
        if has_encrypted(&schema) {
            self.flattened.push(without_requirements(schema).into());
            return self;
        }
        let is_object = schema.get_str("bsonType").is_ok_and(|name| name == "object");
        let is_enum = schema.contains_key("anyOf") && !permits_null(&schema);
        if (is_object && schema.len() > 1) || is_enum {
            self.flattened.push(schema.into());
        }
        self
    }

    /// The schema.
    #[must_use]
    pub fn finish(self) -> Document {
        let mut schema = types(&["object"]);
        for (name, values) in [("required", self.required), ("allOf", self.flattened)] {
            if !values.is_empty() {
                schema.insert(name, values);
            }
        }
        if !self.properties.is_empty() {
            schema.insert("properties", self.properties);
        }
        schema
    }
}
