//! Object operators: `$mergeObjects`, `$getField`, `$setField`, `$unsetField`, and the sizes of
//! documents and binary data.

use super::{Function, Named, NamedFunction, Scope};
use crate::aggregate::accumulator::{Kind, State};
use crate::error::{Error, Result};
use crate::value::{document_size, is_nullish, type_name};
use bson::Bson;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$mergeObjects",
        min: 0,
        max: usize::MAX,
        run: merge,
    },
    Function {
        name: "$bsonSize",
        min: 1,
        max: 1,
        run: bson_size,
    },
    Function {
        name: "$binarySize",
        min: 1,
        max: 1,
        run: binary_size,
    },
];

pub(super) const NAMED: &[NamedFunction] = &[
    NamedFunction {
        name: "$getField",
        required: &["field", "input"],
        optional: &[],
        run: get,
    },
    NamedFunction {
        name: "$setField",
        required: &["field", "input", "value"],
        optional: &[],
        run: |n, _| set(n, n.required("value")),
    },
    NamedFunction {
        name: "$unsetField",
        required: &["field", "input"],
        optional: &[],
        run: |n, _| set(n, &Bson::Undefined),
    },
];

fn merge(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    let items = match arguments {
        [Bson::Array(items)] => items,
        other => other,
    };
    let mut state = State::new(Kind::MergeObjects);
    for item in items {
        state.add(item.clone(), scope.env)?;
    }
    Ok(state.finish())
}

fn bson_size(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    match &arguments[0] {
        value if is_nullish(value) => Ok(Bson::Null),
        Bson::Document(document) => Ok(Bson::Int32(document_size(document) as i32)),
        other => Err(Error::new(
            31393,
            format!("$bsonSize requires a document input, found: {}", type_name(other)),
        )),
    }
}

fn binary_size(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    match &arguments[0] {
        value if is_nullish(value) => Ok(Bson::Null),
        Bson::String(text) => Ok(Bson::Int32(text.len() as i32)),
        Bson::Binary(binary) => Ok(Bson::Int32(binary.bytes.len() as i32)),
        other => Err(Error::new(
            51276,
            format!(
                "$binarySize requires a string or BinData argument, found: {}",
                type_name(other)
            ),
        )),
    }
}

fn field(named: &Named) -> Result<&str> {
    match named.required("field") {
        Bson::String(field) => Ok(field),
        other => Err(Error::new(
            3_041_704,
            format!(
                "{} requires 'field' to evaluate to type String, but got {}",
                named.operator,
                type_name(other)
            ),
        )),
    }
}

fn get(named: &Named, _: &Scope<'_>) -> Result<Bson> {
    let field = field(named)?;
    match named.required("input") {
        Bson::Null => Ok(Bson::Null),
        Bson::Document(document) => Ok(document.get(field).cloned().unwrap_or(Bson::Undefined)),
        _ => Ok(Bson::Undefined),
    }
}

fn set(named: &Named, value: &Bson) -> Result<Bson> {
    let field = field(named)?;
    match named.required("input") {
        input if is_nullish(input) => Ok(Bson::Null),
        Bson::Document(document) => {
            let mut changed = document.clone();
            if matches!(value, Bson::Undefined) {
                changed.remove(field);
            } else {
                changed.insert(field, value.clone());
            }
            Ok(Bson::Document(changed))
        }
        other => Err(Error::new(
            4_161_105,
            format!(
                "{} requires 'input' to evaluate to type Object, but got {}",
                named.operator,
                type_name(other)
            ),
        )),
    }
}
