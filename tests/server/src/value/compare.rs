//! The comparison order of BSON values: by type class, then by value; numbers across types, strings
//! by collation.

use super::collation::Collation;
use super::decimal::Decimal;
use bson::{Bson, Document};
use std::cmp::Ordering;

/// The class that orders values of different types. `Undefined` represents a missing value and
/// sorts before null.
pub(crate) fn type_class(value: &Bson) -> i32 {
    match value {
        Bson::MinKey => -1,
        Bson::Undefined => 0,
        Bson::Null => 5,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => 10,
        Bson::String(_) | Bson::Symbol(_) => 15,
        Bson::Document(_) => 20,
        Bson::Array(_) => 25,
        Bson::Binary(_) => 30,
        Bson::ObjectId(_) => 35,
        Bson::Boolean(_) => 40,
        Bson::DateTime(_) => 45,
        Bson::Timestamp(_) => 47,
        Bson::RegularExpression(_) => 50,
        Bson::DbPointer(_) => 55,
        Bson::JavaScriptCode(_) => 60,
        Bson::JavaScriptCodeWithScope(_) => 65,
        Bson::MaxKey => 127,
    }
}

/// Compares two values. Strings are compared with the collation, or by bytes if it is `None`.
pub(crate) fn compare(left: &Bson, right: &Bson, collation: Option<&Collation>) -> Ordering {
    let classes = type_class(left).cmp(&type_class(right));
    if classes != Ordering::Equal {
        return classes;
    }
    match (left, right) {
        (Bson::String(a) | Bson::Symbol(a), Bson::String(b) | Bson::Symbol(b)) => match collation {
            Some(collation) => collation.compare(a, b),
            None => a.cmp(b),
        },
        (Bson::Document(a), Bson::Document(b)) => compare_documents(a, b, collation),
        (Bson::Array(a), Bson::Array(b)) => compare_arrays(a, b, collation),
        (Bson::Binary(a), Bson::Binary(b)) => (a.bytes.len(), u8::from(a.subtype), &a.bytes).cmp(&(
            b.bytes.len(),
            u8::from(b.subtype),
            &b.bytes,
        )),
        (Bson::ObjectId(a), Bson::ObjectId(b)) => a.cmp(b),
        (Bson::Boolean(a), Bson::Boolean(b)) => a.cmp(b),
        (Bson::DateTime(a), Bson::DateTime(b)) => a.cmp(b),
        (Bson::Timestamp(a), Bson::Timestamp(b)) => (a.time, a.increment).cmp(&(b.time, b.increment)),
        (Bson::RegularExpression(a), Bson::RegularExpression(b)) => {
            (a.pattern.as_str(), a.options.as_str()).cmp(&(b.pattern.as_str(), b.options.as_str()))
        }
        (Bson::JavaScriptCode(a), Bson::JavaScriptCode(b)) => a.cmp(b),
        (Bson::JavaScriptCodeWithScope(a), Bson::JavaScriptCodeWithScope(b)) => a
            .code
            .cmp(&b.code)
            .then_with(|| compare_documents(&a.scope, &b.scope, None)),
        (Bson::DbPointer(a), Bson::DbPointer(b)) => format!("{a:?}").cmp(&format!("{b:?}")),
        _ => compare_numbers(left, right),
    }
}

pub(crate) fn equal(left: &Bson, right: &Bson, collation: Option<&Collation>) -> bool {
    compare(left, right, collation) == Ordering::Equal
}

/// Compares documents field by field: type class, then name, then value. A prefix is less.
pub(crate) fn compare_documents(
    left: &Document,
    right: &Document,
    collation: Option<&Collation>,
) -> Ordering {
    let mut right_fields = right.iter();
    for (name_a, a) in left {
        let Some((name_b, b)) = right_fields.next() else {
            return Ordering::Greater;
        };
        let order = type_class(a)
            .cmp(&type_class(b))
            .then_with(|| name_a.cmp(name_b))
            .then_with(|| compare(a, b, collation));
        if order != Ordering::Equal {
            return order;
        }
    }
    if right_fields.next().is_some() {
        Ordering::Less
    } else {
        Ordering::Equal
    }
}

fn compare_arrays(left: &[Bson], right: &[Bson], collation: Option<&Collation>) -> Ordering {
    left.iter()
        .zip(right)
        .map(|(a, b)| compare(a, b, collation))
        .find(|order| *order != Ordering::Equal)
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn compare_numbers(left: &Bson, right: &Bson) -> Ordering {
    let whole = |value: &Bson| match value {
        Bson::Int32(value) => Some(i64::from(*value)),
        Bson::Int64(value) => Some(*value),
        _ => None,
    };
    match (left, right) {
        (Bson::Double(a), Bson::Double(b)) => compare_doubles(*a, *b),
        (Bson::Decimal128(a), _) => Decimal::from_bson(a).compare(to_decimal(right)),
        (_, Bson::Decimal128(b)) => to_decimal(left).compare(Decimal::from_bson(b)),
        (Bson::Double(a), _) => whole(right).map_or(Ordering::Equal, |b| compare_double_long(*a, b)),
        (_, Bson::Double(b)) => whole(left).map_or(Ordering::Equal, |a| compare_double_long(*b, a).reverse()),
        _ => whole(left).cmp(&whole(right)),
    }
}

fn to_decimal(value: &Bson) -> Decimal {
    match value {
        Bson::Double(value) => Decimal::from_f64(*value, 34),
        Bson::Int32(value) => Decimal::from_i64(i64::from(*value)),
        Bson::Int64(value) => Decimal::from_i64(*value),
        Bson::Decimal128(value) => Decimal::from_bson(value),
        _ => Decimal::NaN,
    }
}

/// NaN is less than all other numbers and equal to itself.
fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// An exact comparison: the long is not rounded to a double.
fn compare_double_long(double: f64, long: i64) -> Ordering {
    if double.is_nan() || double < -9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if double >= 9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    let truncated = double.trunc();
    (truncated as i64)
        .cmp(&long)
        .then_with(|| double.partial_cmp(&truncated).unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn order(a: impl Into<Bson>, b: impl Into<Bson>) -> Ordering {
        compare(&a.into(), &b.into(), None)
    }

    #[test]
    fn types_are_ordered_by_class() {
        let ascending = [
            Bson::MinKey,
            Bson::Undefined,
            Bson::Null,
            Bson::Int32(5),
            Bson::String("a".into()),
            Bson::Document(doc! {}),
            Bson::Array(vec![]),
            Bson::ObjectId(bson::oid::ObjectId::new()),
            Bson::Boolean(false),
            Bson::DateTime(bson::DateTime::from_millis(0)),
            Bson::MaxKey,
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compare(&pair[0], &pair[1], None), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn numbers_compare_across_types_exactly() {
        assert_eq!(order(1, 1.0), Ordering::Equal);
        assert_eq!(
            order(9_007_199_254_740_993_i64, 9_007_199_254_740_992.0),
            Ordering::Greater
        );
        assert_eq!(order(f64::NAN, f64::NEG_INFINITY), Ordering::Less);
        assert_eq!(order(f64::NAN, f64::NAN), Ordering::Equal);
        assert_eq!(order(i64::MAX, 9.3e18), Ordering::Less);
        let tenth: bson::Decimal128 = "0.1".parse().unwrap();
        assert_eq!(order(tenth, 0.1), Ordering::Less);
        assert_eq!(order(2, tenth), Ordering::Greater);
    }

    #[test]
    fn documents_compare_by_type_name_value() {
        assert_eq!(order(doc! {"a": 1}, doc! {"a": 2}), Ordering::Less);
        assert_eq!(order(doc! {"b": 1}, doc! {"a": "x"}), Ordering::Less);
        assert_eq!(order(doc! {"a": 1}, doc! {"a": 1, "b": 1}), Ordering::Less);
        assert_eq!(order(vec![1, 2], vec![1, 3]), Ordering::Less);
    }
}
