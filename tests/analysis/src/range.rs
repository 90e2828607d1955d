//! Queries for ranges: the bounds of each operator, and the two placeholders of a range with two operators.

use std::cmp::Ordering;

use bson::{Bson, Document, doc};

use crate::{
    bson_type::type_name,
    error::{Analyzed, reject},
    queryable::{QueryableField, RangeIndex},
    value::Marker,
};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Greater = 1,
    GreaterOrEqual = 2,
    Less = 3,
    LessOrEqual = 4,
}

impl Comparison {
    pub(crate) fn of(operator: &str) -> Option<Self> {
        Some(match operator {
            "$gt" => Self::Greater,
            "$gte" => Self::GreaterOrEqual,
            "$lt" => Self::Less,
            "$lte" => Self::LessOrEqual,
            _ => return None,
        })
    }

    fn operator(self) -> &'static str {
        match self {
            Self::Greater => "$gt",
            Self::GreaterOrEqual => "$gte",
            Self::Less => "$lt",
            Self::LessOrEqual => "$lte",
        }
    }

    fn is_lower(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterOrEqual)
    }

    fn includes(self) -> bool {
        matches!(self, Self::GreaterOrEqual | Self::LessOrEqual)
    }
}

impl Marker<'_> {
    /// The operators on a field for one or two comparisons, the second one of the other side.
    pub(crate) fn mark_range(
        &mut self,
        field: &QueryableField,
        range: &RangeIndex,
        comparisons: &[(Comparison, &Bson)],
    ) -> Analyzed<Document> {
        for (comparison, value) in comparisons {
            check_bound(field, range, *comparison, value)?;
        }
        let payload = self.range_count;
        self.range_count += 1;
        let operators = {
            let mut operators = doc! { "payloadId": payload };
            let names = ["firstOperator", "secondOperator"];
            for (name, (comparison, _)) in names.into_iter().zip(comparisons) {
                operators.insert(name, *comparison as i32);
            }
            operators
        };
        let bound = |is_lower: bool| {
            comparisons
                .iter()
                .find(|(comparison, _)| comparison.is_lower() == is_lower)
        };
        let (lower, upper) = (bound(true), bound(false));
        let mut edges = doc! {
            "lowerBound": lower.map_or_else(|| range.min.clone(), |(_, value)| (*value).clone()),
            "lbIncluded": lower.is_none_or(|(comparison, _)| comparison.includes()),
            "upperBound": upper.map_or_else(|| range.max.clone(), |(_, value)| (*value).clone()),
            "ubIncluded": upper.is_none_or(|(comparison, _)| comparison.includes()),
        };
        range.append(&mut edges, "precision", range.precision);
        edges.insert("indexMin", range.min.clone());
        edges.insert("indexMax", range.max.clone());
        range.append(&mut edges, "trimFactor", range.trim_factor);
        let mut whole = doc! { "edgesInfo": edges };
        whole.extend(operators.clone());
        let mut marked = Document::new();
        for ((comparison, _), operand) in comparisons.iter().zip([whole, operators]) {
            marked.insert(comparison.operator(), field.in_range(operand));
            self.count += 1;
        }
        Ok(marked)
    }

    /// The operators for equality.
    pub(crate) fn mark_equal_range(
        &mut self,
        field: &QueryableField,
        range: &RangeIndex,
        value: &Bson,
    ) -> Analyzed<Document> {
        let bounds =
            [Comparison::GreaterOrEqual, Comparison::LessOrEqual].map(|comparison| (comparison, value));
        self.mark_range(field, range, &bounds)
    }
}

fn check_bound(field: &QueryableField, range: &RangeIndex, comparison: Comparison, value: &Bson) -> Analyzed {
    if !field.has_type(value) {
        return reject(format!(
            "Range query on an encrypted field: the field type is not supported for a bound of type {}, the value type is a {}",
            type_name(value),
            field.bson_type
        ));
    }
    let is_excluded = |bound: &Bson, outside: Ordering| match compare(value, bound) {
        Some(Ordering::Equal) => !comparison.includes(),
        order => order == Some(outside),
    };
    if comparison.is_lower() && is_excluded(&range.max, Ordering::Greater) {
        return reject("the lower bound of the query must be less than the range maximum");
    }
    if !comparison.is_lower() && is_excluded(&range.min, Ordering::Less) {
        return reject("the upper bound of the query must be greater than the range minimum");
    }
    Ok(())
}

/// The order of two values of a type that ranges are supported for. Decimals are compared with the precision of a double.
fn compare(left: &Bson, right: &Bson) -> Option<Ordering> {
    match (left, right) {
        (Bson::Int32(left), Bson::Int32(right)) => Some(left.cmp(right)),
        (Bson::Int64(left), Bson::Int64(right)) => Some(left.cmp(right)),
        (Bson::DateTime(left), Bson::DateTime(right)) => Some(left.cmp(right)),
        (Bson::Double(left), Bson::Double(right)) => left.partial_cmp(right),
        (Bson::Decimal128(left), Bson::Decimal128(right)) => {
            let number = |decimal: &dyn ToString| decimal.to_string().parse::<f64>().ok();
            number(left)?.partial_cmp(&number(right)?)
        }
        _ => None,
    }
}
