//! The fields in which two documents of one model differ.

use crate::base::{
    bson::{Bson, Document},
    error::{Error, Result},
};

/// What an update changes, by the paths of the fields.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub(super) set: Document,
    /// The values are not used by the server.
    pub(super) unset: Document,
    /// The paths of the documents of which single fields are changed.
    pub(super) inside: Vec<String>,
    /// The tags of the variants of the document itself, whose fields are changed.
    pub(super) tags: Vec<(String, Bson)>,
}

impl Difference {
    /// The difference of two documents with the `$jsonSchema` of a model.
    ///
    /// # Errors
    /// [`Error::InvalidUpdate`] for a field that differs and whose name cannot be in a path.
    pub(super) fn of(schema: &Document, before: Document, after: Document) -> Result<Self> {
        let mut difference = Difference::default();
        let tags = tags(schema);
        let tags = tags.into_iter().filter_map(|name| {
            let tag = before.get(&name)?.clone();
            Some((name, tag))
        });
        let tags: Vec<_> = tags.collect();
        difference.add_fields(schema, "", before, after)?;
        if !difference.is_empty() {
            difference.tags = tags;
        }
        Ok(difference)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.unset.is_empty()
    }

    /// Adds the fields of a document that differ. `prefix`: its path with a dot, or nothing.
    fn add_fields(
        &mut self,
        schema: &Document,
        prefix: &str,
        mut before: Document,
        after: Document,
    ) -> Result<()> {
        for (name, value) in after {
            let old = before.remove(&name);
            if old.as_ref() == Some(&value) {
                continue;
            }
            let path = path_of(prefix, &name)?;
            match (old, value) {
                (Some(Bson::Document(old)), Bson::Document(new)) => match fields_of(schema, &name) {
                    Some(fields) if has_paths(&old) && has_paths(&new) => {
                        self.inside.push(path.clone());
                        self.add_fields(fields, &format!("{path}."), old, new)?;
                    }
                    _ => {
                        self.set.insert(path, new);
                    }
                },
                (_, value) => {
                    self.set.insert(path, value);
                }
            }
        }
        for (name, _) in before {
            self.unset.insert(path_of(prefix, &name)?, "");
        }
        Ok(())
    }
}

/// The schema of a field that is an embedded document with fields of its own, and not a value of an enum or a map.
fn fields_of<'s>(schema: &'s Document, name: &str) -> Option<&'s Document> {
    let own = schema
        .get_document("properties")
        .and_then(|fields| fields.get_document(name));
    if let Ok(field) = own {
        let is_struct = field.contains_key("properties") && !has_variants(field);
        return is_struct.then_some(field);
    }
    // The fields of flattened structs.
    let flattened = schema.get_array("allOf").into_iter().flatten();
    let mut structs = flattened
        .filter_map(Bson::as_document)
        .filter(|schema| !has_variants(schema));
    structs.find_map(|schema| fields_of(schema, name))
}

/// Whether a schema is that of an enum with data, or flattens one.
fn has_variants(schema: &Document) -> bool {
    let flattened = schema.get_array("allOf").into_iter().flatten();
    schema.contains_key("anyOf") || flattened.filter_map(Bson::as_document).any(has_variants)
}

/// The names of the fields that have one value in each variant of an enum, for a document that is one or flattens one.
fn tags(schema: &Document) -> Vec<String> {
    let mut names = Vec::new();
    let variants = schema.get_array("anyOf").into_iter().flatten();
    for variant in variants.filter_map(Bson::as_document) {
        let properties = variant.get_document("properties").into_iter().flatten();
        for (name, property) in properties {
            let values = property.as_document().and_then(|p| p.get_array("enum").ok());
            if values.is_some_and(|values| values.len() == 1) && !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    let flattened = schema.get_array("allOf").into_iter().flatten();
    for inner in flattened.filter_map(Bson::as_document).flat_map(tags) {
        if !names.contains(&inner) {
            names.push(inner);
        }
    }
    names
}

/// Whether all fields can be named in a path.
fn has_paths(document: &Document) -> bool {
    document.keys().all(|name| is_in_paths(name))
}

fn is_in_paths(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.contains(['.', '\0'])
}

fn path_of(prefix: &str, name: &str) -> Result<String> {
    if !is_in_paths(name) {
        return Err(Error::update(
            name.replace('\0', ""),
            "a name with a dot, and one that is empty or begins with `$`, cannot be in the path of an update; save the whole document",
        ));
    }
    Ok(format!("{prefix}{name}"))
}
