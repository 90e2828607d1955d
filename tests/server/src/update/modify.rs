//! Modifies the value at a path and creates missing embedded documents.

use crate::error::{Error, Result, code};
use crate::query::path::Part;
use crate::value::format;
use bson::{Bson, Document};

/// The modification of a value.
pub(crate) enum Change {
    Keep,
    Set(Bson),
    Remove,
}

/// The maximum number of nulls by which an update may extend an array.
const MAX_PADDING: usize = 1_500_000;

/// Replaces the value at a path with the result of a function of the current value.
pub(crate) fn modify(
    document: &mut Document,
    path: &[Part],
    change: &mut dyn FnMut(Option<&Bson>) -> Result<Change>,
) -> Result<()> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(());
    };
    if rest.is_empty() {
        match change(document.get(&first.name))? {
            Change::Keep => {}
            Change::Set(value) => {
                document.insert(&first.name, value);
            }
            Change::Remove => {
                document.remove(&first.name);
            }
        }
        return Ok(());
    }
    match document.get_mut(&first.name) {
        Some(value) => modify_value(value, &first.name, rest, change),
        None => {
            if let Change::Set(value) = change(None)? {
                document.insert(&first.name, nest(rest, value));
            }
            Ok(())
        }
    }
}

fn modify_value(
    value: &mut Bson,
    name: &str,
    path: &[Part],
    change: &mut dyn FnMut(Option<&Bson>) -> Result<Change>,
) -> Result<()> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(());
    };
    match value {
        Bson::Document(document) => modify(document, path, change),
        Bson::Array(items) => {
            let Some(index) = first.index else {
                return match change(None)? {
                    Change::Set(_) => Err(not_viable(&first.name, name, &Bson::Array(std::mem::take(items)))),
                    _ => Ok(()),
                };
            };
            match items.get_mut(index) {
                Some(item) if rest.is_empty() => {
                    match change(Some(item))? {
                        Change::Keep => {}
                        Change::Set(value) => *item = value,
                        // Removing an element would shift the following ones.
                        Change::Remove => *item = Bson::Null,
                    }
                    Ok(())
                }
                Some(item) => modify_value(item, &first.name, rest, change),
                None => {
                    if let Change::Set(value) = change(None)? {
                        if index - items.len() > MAX_PADDING {
                            return Err(Error::new(
                                code::CANNOT_CREATE_INDEX,
                                format!("can't backfill more than {MAX_PADDING} elements"),
                            ));
                        }
                        items.resize(index, Bson::Null);
                        items.push(nest(rest, value));
                    }
                    Ok(())
                }
            }
        }
        other => match change(None)? {
            Change::Set(_) => Err(not_viable(&first.name, name, other)),
            _ => Ok(()),
        },
    }
}

fn not_viable(field: &str, parent: &str, value: &Bson) -> Error {
    Error::new(
        code::PATH_NOT_VIABLE,
        format!(
            "Cannot create field '{field}' in element {{{parent}: {}}}",
            format::bson(value)
        ),
    )
}

/// Wraps the value in documents for the rest of a path. Numeric components create fields, not
/// arrays.
fn nest(path: &[Part], value: Bson) -> Bson {
    path.iter().rev().fold(value, |inner, part| {
        let mut document = Document::new();
        document.insert(&part.name, inner);
        Bson::Document(document)
    })
}
