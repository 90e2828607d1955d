//! The parts of a `$jsonSchema`, from which the derives make the schema of a model.

use std::any::{TypeId, type_name};

use crate::{
    base::bson::{Bson, Document, doc},
    form::json_schema::stated::{hiding, one_of},
};

mod stated;

pub use stated::{converted_as, unknown};

/// The key of the entry of `encryptedFields` in the schema of an encrypted field. [`without_marks`] removes it: no
/// keyword of a schema contains NUL.
pub(crate) const ENCRYPTED: &str = "\0encrypted";
/// The key of a schema whose fields have no paths: that of the values of a map or of an opaque field, if it has
/// encrypted fields.
pub(crate) const UNREACHABLE: &str = "\0unreachable";
/// The key of the schema of the values of a map without encrypted fields.
const VALUES: &str = "\0values";

/// The types whose schema is being made. A type that contains itself has no constraint inside, since
/// MongoDB has no references between schemas.
#[derive(Debug, Default)]
pub struct OuterTypes {
    types: Vec<SchemaType>,
    /// Those that contain themselves.
    recursive: Vec<SchemaType>,
    /// Those that contain encrypted fields.
    encrypted: Vec<SchemaType>,
    /// Those whose encrypted fields are found where they contain themselves.
    marked: Vec<SchemaType>,
}

/// A type that has a schema. Types with the same name, such as those of two blocks, are different ones, as are those of a
/// generic type with other arguments; types that differ only by lifetimes are the same one.
#[derive(Clone, Copy, Debug)]
pub struct SchemaType {
    id: TypeId,
    name: &'static str,
}

impl SchemaType {
    /// The type `T`.
    #[must_use]
    pub fn of<T: ?Sized>() -> Self {
        SchemaType {
            id: typeid::of::<T>(),
            name: type_name::<T>(),
        }
    }
}

impl PartialEq for SchemaType {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl OuterTypes {
    /// The schema of a type that has fields, unless it is made already.
    pub fn enter(&mut self, ty: SchemaType, schema: impl FnOnce(&mut Self) -> Document) -> Document {
        if self.types.contains(&ty) {
            self.recursive.push(ty);
            if self.marked.contains(&ty) {
                let field = [(ENCRYPTED.to_owned(), Document::new().into())];
                return hiding(Document::new(), one_of(vec![field.into_iter().collect()]));
            }
            return Document::new();
        }
        self.types.push(ty);
        let made = schema(self);
        self.types.pop();
        if has_encrypted(&made) {
            self.encrypted.push(ty);
        }
        made
    }

    /// The name of a type that contains itself and encrypted fields.
    pub(crate) fn recursive_encrypted(&self) -> Option<&'static str> {
        self.all_recursive().next().map(|ty| ty.name)
    }

    fn all_recursive(&self) -> impl Iterator<Item = SchemaType> {
        let encrypted = self.encrypted.iter().copied();
        encrypted.filter(|ty| self.recursive.contains(ty))
    }

    /// For the schema of the same type, in which the values of a type that contains itself and encrypted fields are of unknown
    /// form where the type is inside of itself. `None` if there is no such type.
    pub(crate) fn marking(&self) -> Option<Self> {
        let marked: Vec<_> = self.all_recursive().collect();
        (!marked.is_empty()).then(|| OuterTypes {
            marked,
            ..OuterTypes::default()
        })
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
    /// Whether the type in whose form a field is stored can be one of documents, as far as its name shows.
    pub has_documents: bool,
}

impl FieldTable {
    /// No fields.
    pub const NONE: FieldTable = FieldTable {
        is_present: false,
        read: &[],
        schemas: &[],
        has_documents: false,
    };

    /// The schema of the type with these fields, unless the type is inside of itself; empty for a type without a table.
    pub(crate) fn json_schema(&self, ty: SchemaType, outer: &mut OuterTypes) -> Document {
        if !self.is_present {
            return Document::new();
        }
        outer.enter(ty, |outer| {
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
    let key = if has_encrypted(&values) {
        UNREACHABLE
    } else {
        VALUES
    };
    if !values.is_empty() {
        schema.insert(key, values);
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

/// An array of items with these schemas, in this order.
pub(crate) fn tuple(items: &[&dyn Fn(&mut OuterTypes) -> Document], outer: &mut OuterTypes) -> Document {
    let schemas: Vec<Document> = items.iter().map(|schema| schema(outer)).collect();
    let mut all = array(Document::new(), Some(items.len()));
    if schemas.iter().any(|schema| !schema.is_empty()) {
        all.insert("items", schemas);
    }
    all
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

/// Whether a path leads to an array, or through one, by the `$jsonSchema` of a model.
pub(crate) fn is_in_array(schema: &Document, path: &str) -> bool {
    let is_array = match schema.get("bsonType") {
        Some(Bson::String(name)) => name == "array",
        Some(Bson::Array(names)) => names.iter().any(|name| name.as_str() == Some("array")),
        _ => schema.contains_key("items"),
    };
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let fields = schema.get_document("properties").ok();
    let field = fields.and_then(|fields| fields.get_document(name).ok());
    let parts = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema.get_array(key).ok());
    is_array
        || !path.is_empty() && field.is_some_and(|field| is_in_array(field, rest))
        || parts
            .flatten()
            .filter_map(Bson::as_document)
            .any(|part| is_in_array(part, path))
}

/// The paths of the encrypted fields in the values of a schema, also of those that cannot be encrypted there, such as those
/// of array elements. Those in a value whose form is not known have its path.
pub(crate) fn encrypted_paths(schema: &Document) -> Vec<String> {
    let mut paths = Vec::new();
    add_paths(schema, "", &mut paths);
    paths
}

fn add_paths(schema: &Document, path: &str, paths: &mut Vec<String>) {
    let add = |path: &str, paths: &mut Vec<String>| {
        if !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    };
    if schema.contains_key(ENCRYPTED) {
        return add(path, paths);
    }
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties", Bson::Document(properties)) => {
                for (name, property) in properties {
                    let Bson::Document(property) = property else {
                        continue;
                    };
                    let dot = if path.is_empty() { "" } else { "." };
                    add_paths(property, &format!("{path}{dot}{name}"), paths);
                }
            }
            (UNREACHABLE, value) if contains_encrypted(value) => add(path, paths),
            (_, Bson::Document(schema)) => add_paths(schema, path, paths),
            (_, Bson::Array(schemas)) => {
                let schemas = schemas.iter().filter_map(Bson::as_document);
                schemas.for_each(|schema| add_paths(schema, path, paths));
            }
            _ => {}
        }
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
        if (is_object && schema.len() > 1 && !schema.contains_key(VALUES)) || is_enum {
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
