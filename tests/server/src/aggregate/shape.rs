//! The stages `$addFields` (`$set`) and `$unwind`.

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::query::Env;
use crate::query::path;
use bson::{Bson, Document};

/// A `$addFields` or `$set` stage: the dotted path of each field, and its expression.
#[derive(Debug, Clone)]
pub(crate) struct AddFields(Vec<(String, Expression)>);

impl AddFields {
    /// Parses the argument of the stage. Errors contain the name `stage` of the request.
    pub(super) fn parse(stage: &str, spec: &Document, env: &Env) -> Result<AddFields> {
        Self::parse_fields(spec, env).map_err(|error| error.caused(&format!("Invalid {stage}")))
    }

    fn parse_fields(spec: &Document, env: &Env) -> Result<AddFields> {
        if spec.is_empty() {
            return Err(Error::new(40177, "specification must have at least one field"));
        }
        let mut fields = Vec::new();
        for (name, value) in spec {
            collect(name, value, env, &mut fields)?;
        }
        for (index, (path, _)) in fields.iter().enumerate() {
            for (earlier, _) in &fields[..index] {
                let contains = |outer: &str, inner: &str| {
                    inner
                        .strip_prefix(outer)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                if contains(earlier, path) || contains(path, earlier) {
                    return Err(Error::new(
                        40176,
                        format!(
                            "specification contains two conflicting paths. Cannot specify both '{path}' and '{earlier}'"
                        ),
                    ));
                }
            }
        }
        Ok(AddFields(fields))
    }

    pub(super) fn apply(&self, document: &Document, env: &Env) -> Result<Document> {
        let mut changed = document.clone();
        for (path, expression) in &self.0 {
            let value = expression.evaluate(document, env)?;
            set_path(&mut changed, path, &value);
        }
        Ok(changed)
    }
}

/// Adds the fields of an argument with their dotted paths.
fn collect(name: &str, value: &Bson, env: &Env, fields: &mut Vec<(String, Expression)>) -> Result<()> {
    path::check_field_path(name)?;
    match value {
        // An object without operators contains nested fields.
        Bson::Document(inner) if !inner.is_empty() && !inner.keys().any(|key| key.starts_with('$')) => {
            for (inner_name, inner_value) in inner {
                collect(&format!("{name}.{inner_name}"), inner_value, env, fields)?;
            }
            Ok(())
        }
        other => {
            fields.push((name.to_owned(), Expression::parse(other, env)?));
            Ok(())
        }
    }
}

/// Sets the value at a dotted path, with the semantics of `$addFields`: in every element if the
/// path traverses arrays, and a missing value (`Undefined`) removes the field.
pub(super) fn set_path(document: &mut Document, path: &str, value: &Bson) {
    let parts: Vec<&str> = path.split('.').collect();
    set(document, &parts, value);
}

fn set(document: &mut Document, parts: &[&str], value: &Bson) {
    let Some((first, rest)) = parts.split_first() else {
        return;
    };
    if rest.is_empty() {
        if matches!(value, Bson::Undefined) {
            document.remove(first);
        } else {
            document.insert(*first, value.clone());
        }
        return;
    }
    if matches!(value, Bson::Undefined) && !document.contains_key(first) {
        return;
    }
    let child = document
        .entry(*first)
        .or_insert_with(|| Bson::Document(Document::new()));
    set_within(child, rest, value);
}

/// Sets a field in a value: in a document, or in every element of an array. A scalar is replaced by
/// a document.
fn set_within(child: &mut Bson, parts: &[&str], value: &Bson) {
    match child {
        Bson::Document(inner) => set(inner, parts, value),
        Bson::Array(items) => items.iter_mut().for_each(|item| set_within(item, parts, value)),
        _ if matches!(value, Bson::Undefined) => {}
        other => {
            let mut inner = Document::new();
            set(&mut inner, parts, value);
            *other = Bson::Document(inner);
        }
    }
}

/// A `$unwind` stage.
#[derive(Debug, Clone)]
pub(crate) struct Unwind {
    /// The path without `$`.
    path: String,
    /// `includeArrayIndex`
    index_field: Option<String>,
    /// `preserveNullAndEmptyArrays`
    preserve: bool,
}

impl Unwind {
    pub(super) fn parse(spec: &Bson) -> Result<Unwind> {
        let mut unwind = Unwind {
            path: String::new(),
            index_field: None,
            preserve: false,
        };
        let path = match spec {
            Bson::String(path) => path.clone(),
            Bson::Document(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("path", Bson::String(_)) => {}
                        ("path", _) => {
                            return Err(Error::new(
                                28808,
                                "expected a string as the path for $unwind stage",
                            ));
                        }
                        ("includeArrayIndex", Bson::String(field))
                            if !field.is_empty() && !field.starts_with('$') =>
                        {
                            unwind.index_field = Some(field.clone());
                        }
                        ("includeArrayIndex", _) => {
                            return Err(Error::new(
                                28810,
                                "expected a non-empty string for the includeArrayIndex option to $unwind stage",
                            ));
                        }
                        ("preserveNullAndEmptyArrays", Bson::Boolean(on)) => unwind.preserve = *on,
                        ("preserveNullAndEmptyArrays", _) => {
                            return Err(Error::new(
                                28809,
                                "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage",
                            ));
                        }
                        (other, _) => {
                            return Err(Error::new(
                                28811,
                                format!("unrecognized option to $unwind stage: {other}"),
                            ));
                        }
                    }
                }
                fields
                    .get_str("path")
                    .map_err(|_| Error::new(28812, "no path specified to $unwind stage"))?
                    .to_owned()
            }
            _ => {
                return Err(Error::new(
                    15981,
                    "expected either a string or an object as specification for $unwind stage",
                ));
            }
        };
        unwind.path = path
            .strip_prefix('$')
            .filter(|path| !path.is_empty() && !path.starts_with('$'))
            .ok_or_else(|| {
                Error::new(
                    28818,
                    format!("path option to $unwind stage should be prefixed with a '$': {path}"),
                )
            })?
            .to_owned();
        Ok(unwind)
    }

    /// Returns the documents that one document is replaced by.
    pub(super) fn run(&self, document: Document) -> Vec<Document> {
        let value = path::get(&document, &self.path).cloned();
        let with_index = |mut document: Document, index: Bson| {
            if let Some(field) = &self.index_field {
                path::set(&mut document, field, index);
            }
            document
        };
        match value {
            Some(Bson::Array(items)) if items.is_empty() => {
                if !self.preserve {
                    return Vec::new();
                }
                let mut kept = document;
                remove(&mut kept, &self.path);
                vec![with_index(kept, Bson::Null)]
            }
            Some(Bson::Array(items)) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| {
                    let mut row = document.clone();
                    path::set(&mut row, &self.path, item);
                    with_index(row, Bson::Int64(index as i64))
                })
                .collect(),
            None | Some(Bson::Null | Bson::Undefined) if !self.preserve => Vec::new(),
            _ => vec![with_index(document, Bson::Null)],
        }
    }
}

/// Removes the field at a dotted path. Arrays are not traversed.
fn remove(document: &mut Document, path: &str) {
    match path.split_once('.') {
        None => {
            document.remove(path);
        }
        Some((first, rest)) => {
            if let Some(Bson::Document(inner)) = document.get_mut(first) {
                remove(inner, rest);
            }
        }
    }
}
