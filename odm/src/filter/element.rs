//! Conditions on an enum variant or a range inside an array: they are placed on one element, by an `$elemMatch` that the path
//! implies.

use crate::bson::{Bson, Document, doc};
use crate::error::{Error, Result};
use crate::filter::combine::{self, element_condition};
use crate::path::{Implied, RawPath};

/// Operators that the server evaluates at the top level of a query only.
const TOP_LEVEL_ONLY: [&str; 2] = ["$near", "$nearSphere"];

/// The filter of operators at a path, with the conditions of the variants that the path goes through.
///
/// A tag inside an array belongs to the same element as the field, so both go into one `$elemMatch` of the innermost array
/// around the variant.
pub(super) fn on_path(path: &RawPath, operators: Document) -> Result<Document> {
    let implied: Vec<&Implied> = path
        .implied()
        .iter()
        .filter(|i| {
            i.tag.is_some() || matches_missing(&operators) || (i.array.is_some() && !is_simple(&operators))
        })
        .collect();
    let levels = implied.iter().filter_map(|i| i.array).collect();
    build(path, &implied, levels, operators)
}

/// The filter of operators that one element of the innermost array of the path must fulfil together.
pub(super) fn on_one_element(path: &RawPath, operators: Document) -> Result<Document> {
    let implied: Vec<&Implied> = path.implied().iter().filter(|i| i.tag.is_some()).collect();
    let mut levels: Vec<usize> = implied.iter().filter_map(|i| i.array).collect();
    levels.extend(path.innermost_array());
    build(path, &implied, levels, operators)
}

fn build(
    path: &RawPath,
    implied: &[&Implied],
    mut levels: Vec<usize>,
    operators: Document,
) -> Result<Document> {
    levels.sort_unstable();
    levels.dedup();
    if !levels.is_empty()
        && let Some(operator) = TOP_LEVEL_ONLY.into_iter().find(|o| operators.contains_key(o))
    {
        return Err(Error::filter(
            path.dotted(),
            format!("`{operator}` cannot be applied to one element of an array"),
        ));
    }
    level(path, implied, None, &levels, operators)
}

/// The conditions in the elements of the array whose path has the length `base`, or of the document for none.
fn level(
    path: &RawPath,
    implied: &[&Implied],
    base: Option<usize>,
    arrays: &[usize],
    operators: Document,
) -> Result<Document> {
    let relative = |key: &str| match base {
        None => key.to_owned(),
        Some(len) => key[len..].trim_start_matches('.').to_owned(),
    };
    let mut filter = match arrays {
        [] => doc! { relative(path.dotted()): operators },
        [array, deeper @ ..] => {
            let elements = level(path, implied, Some(*array), deeper, operators)?;
            doc! { relative(&path.dotted()[..*array]): { "$elemMatch": element_condition(elements)? } }
        }
    };
    for variant in implied.iter().filter(|i| i.array == base) {
        filter = combine::and(filter, doc! { relative(&variant.key): variant.condition() });
    }
    Ok(filter)
}

/// Whether the operators hold for an array where they hold for one of its elements: a single one that negates nothing.
fn is_simple(operators: &Document) -> bool {
    let mut names = operators.keys().filter(|name| *name != "$options");
    let negates = |name: &String| matches!(name.as_str(), "$ne" | "$nin" | "$not");
    names.next().is_some_and(|name| !negates(name)) && names.next().is_none()
}

/// Whether a field that is not there fulfils the operators, as `$ne` and `$exists: false` do.
fn matches_missing(operators: &Document) -> bool {
    !operators.iter().any(|(operator, value)| match operator.as_str() {
        "$eq" | "$gt" | "$gte" | "$lt" | "$lte" => *value != Bson::Null,
        "$ne" => *value == Bson::Null,
        "$in" => !value
            .as_array()
            .is_some_and(|values| values.contains(&Bson::Null)),
        "$nin" => value
            .as_array()
            .is_some_and(|values| values.contains(&Bson::Null)),
        "$exists" => *value == Bson::Boolean(true),
        "$type" | "$regex" | "$options" | "$all" | "$size" | "$elemMatch" | "$mod" | "$bitsAllSet"
        | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear" | "$geoWithin" | "$geoIntersects" | "$near"
        | "$nearSphere" => true,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_that_a_missing_field_fulfils_are_known() {
        for operators in [
            doc! { "$ne": 1 },
            doc! { "$nin": [1] },
            doc! { "$exists": false },
            doc! { "$eq": null },
            doc! { "$in": [1, null] },
            doc! { "$not": { "$gt": 1 } },
            doc! { "$ne": 1, "$nin": [2] },
        ] {
            assert!(matches_missing(&operators), "{operators:?}");
        }
        for operators in [
            doc! { "$eq": 1 },
            doc! { "$ne": null },
            doc! { "$exists": true },
            doc! { "$in": [1] },
            doc! { "$nin": [null] },
            doc! { "$gt": 1, "$ne": 5 },
            doc! { "$type": "null" },
            doc! { "$size": 1 },
        ] {
            assert!(!matches_missing(&operators), "{operators:?}");
        }
    }
}
