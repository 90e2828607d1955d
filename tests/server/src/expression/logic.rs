//! Comparison operators, `$not`, and operators on the type or absence of a value.

use super::{Function, Scope};
use crate::error::Result;
use crate::value::compare::compare;
use crate::value::{is_number, truthy, type_name};
use bson::Bson;
use std::cmp::Ordering;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$eq",
        min: 2,
        max: 2,
        run: |a, s| test(a, s, Ordering::is_eq),
    },
    Function {
        name: "$ne",
        min: 2,
        max: 2,
        run: |a, s| test(a, s, Ordering::is_ne),
    },
    Function {
        name: "$gt",
        min: 2,
        max: 2,
        run: |a, s| test(a, s, Ordering::is_gt),
    },
    Function {
        name: "$gte",
        min: 2,
        max: 2,
        run: |a, s| test(a, s, Ordering::is_ge),
    },
    Function {
        name: "$lt",
        min: 2,
        max: 2,
        run: |a, s| test(a, s, Ordering::is_lt),
    },
    Function {
        name: "$lte",
        min: 2,
        max: 2,
        run: |a, s| test(a, s, Ordering::is_le),
    },
    Function {
        name: "$cmp",
        min: 2,
        max: 2,
        run: |a, s| Ok(Bson::Int32(order(a, s) as i32)),
    },
    Function {
        name: "$not",
        min: 1,
        max: 1,
        run: |a, _| Ok(Bson::Boolean(!truthy(&a[0]))),
    },
    Function {
        name: "$type",
        min: 1,
        max: 1,
        run: type_of,
    },
    Function {
        name: "$isNumber",
        min: 1,
        max: 1,
        run: |a, _| Ok(Bson::Boolean(is_number(&a[0]))),
    },
    Function {
        name: "$isArray",
        min: 1,
        max: 1,
        run: |a, _| Ok(Bson::Boolean(matches!(a[0], Bson::Array(_)))),
    },
    Function {
        name: "$rand",
        min: 0,
        max: 1,
        run: |_, _| Ok(Bson::Double(random())),
    },
];

fn order(arguments: &[Bson], scope: &Scope<'_>) -> Ordering {
    compare(&arguments[0], &arguments[1], scope.env.collation.as_ref())
}

fn test(arguments: &[Bson], scope: &Scope<'_>, accept: fn(Ordering) -> bool) -> Result<Bson> {
    Ok(Bson::Boolean(accept(order(arguments, scope))))
}

fn type_of(arguments: &[Bson], _: &Scope<'_>) -> Result<Bson> {
    let name = if matches!(arguments[0], Bson::Undefined) {
        "missing"
    } else {
        type_name(&arguments[0])
    };
    Ok(Bson::String(name.to_owned()))
}

/// A random double in `[0, 1)`.
pub(crate) fn random() -> f64 {
    let bytes = bson::Uuid::new().bytes();
    // All bits of a version 4 UUID except version and variant are random.
    let bits = u64::from_le_bytes([
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[9], bytes[10],
    ]);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
