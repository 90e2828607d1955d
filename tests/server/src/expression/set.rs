//! Set operators over arrays: duplicates and order are ignored.

use super::{Function, Scope};
use crate::error::{Error, Result};
use crate::value::compare::compare;
use crate::value::{is_nullish, truthy, type_name};
use bson::Bson;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$setUnion",
        min: 0,
        max: usize::MAX,
        run: union,
    },
    Function {
        name: "$setIntersection",
        min: 0,
        max: usize::MAX,
        run: intersection,
    },
    Function {
        name: "$setDifference",
        min: 2,
        max: 2,
        run: difference,
    },
    Function {
        name: "$setEquals",
        min: 2,
        max: usize::MAX,
        run: equals,
    },
    Function {
        name: "$setIsSubset",
        min: 2,
        max: 2,
        run: is_subset,
    },
    Function {
        name: "$anyElementTrue",
        min: 1,
        max: 1,
        run: any_true,
    },
    Function {
        name: "$allElementsTrue",
        min: 1,
        max: 1,
        run: all_true,
    },
];

/// Returns the distinct elements in sort order.
fn distinct(items: &[Bson], scope: &Scope<'_>) -> Vec<Bson> {
    let collation = scope.env.collation.as_ref();
    let mut sorted = items.to_vec();
    sorted.sort_by(|a, b| compare(a, b, collation));
    sorted.dedup_by(|a, b| compare(a, b, collation).is_eq());
    sorted
}

fn contains(sorted: &[Bson], item: &Bson, scope: &Scope<'_>) -> bool {
    sorted
        .binary_search_by(|other| compare(other, item, scope.env.collation.as_ref()))
        .is_ok()
}

fn array<'v>(operator: &str, code: i32, value: &'v Bson) -> Result<&'v [Bson]> {
    match value {
        Bson::Array(items) => Ok(items),
        other => Err(Error::new(
            code,
            format!(
                "All operands of {operator} must be arrays. One argument is of type: {}",
                type_name(other)
            ),
        )),
    }
}

fn union(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    if arguments.iter().any(is_nullish) {
        return Ok(Bson::Null);
    }
    let mut all = Vec::new();
    for argument in arguments {
        all.extend_from_slice(array("$setUnion", 17043, argument)?);
    }
    Ok(Bson::Array(distinct(&all, scope)))
}

fn intersection(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    if arguments.iter().any(is_nullish) {
        return Ok(Bson::Null);
    }
    let Some((first, rest)) = arguments.split_first() else {
        return Ok(Bson::Array(Vec::new()));
    };
    let mut kept = distinct(array("$setIntersection", 17047, first)?, scope);
    for argument in rest {
        let other = distinct(array("$setIntersection", 17047, argument)?, scope);
        kept.retain(|item| contains(&other, item, scope));
    }
    Ok(Bson::Array(kept))
}

fn difference(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    if arguments.iter().any(is_nullish) {
        return Ok(Bson::Null);
    }
    let excluded = distinct(array("$setDifference", 17049, &arguments[1])?, scope);
    let mut kept: Vec<Bson> = Vec::new();
    for item in array("$setDifference", 17048, &arguments[0])? {
        let repeated = kept
            .iter()
            .any(|other| compare(other, item, scope.env.collation.as_ref()).is_eq());
        if !repeated && !contains(&excluded, item, scope) {
            kept.push(item.clone());
        }
    }
    Ok(Bson::Array(kept))
}

fn equals(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    let mut sets = Vec::with_capacity(arguments.len());
    for argument in arguments {
        sets.push(distinct(array("$setEquals", 17044, argument)?, scope));
    }
    let same =
        |a: &Vec<Bson>, b: &Vec<Bson>| a.len() == b.len() && a.iter().all(|item| contains(b, item, scope));
    Ok(Bson::Boolean(
        sets.windows(2).all(|pair| same(&pair[0], &pair[1])),
    ))
}

fn is_subset(arguments: &[Bson], scope: &Scope<'_>) -> Result<Bson> {
    let superset = distinct(array("$setIsSubset", 17042, &arguments[1])?, scope);
    let part = array("$setIsSubset", 17046, &arguments[0])?;
    Ok(Bson::Boolean(
        part.iter().all(|item| contains(&superset, item, scope)),
    ))
}

fn any_true(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    Ok(Bson::Boolean(
        array("$anyElementTrue", 17041, &arguments[0])?.iter().any(truthy),
    ))
}

fn all_true(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    Ok(Bson::Boolean(
        array("$allElementsTrue", 17040, &arguments[0])?
            .iter()
            .all(truthy),
    ))
}
