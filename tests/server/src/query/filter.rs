//! The parsed form of a filter.

use super::Env;
use super::bits::Bits;
use super::geo::{GeoTest, Near};
use super::path::Path;
use super::regex::Regex;
use crate::error::{Error, Result};
use crate::refusal::queries;
use crate::text::query::TextQuery;
use crate::value::number::Number;
use bson::{Bson, Document};

/// A condition on a document.
#[derive(Debug, Clone)]
pub(crate) enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Nor(Vec<Filter>),
    Not(Box<Filter>),
    /// A test of the values at a path.
    Field(Path, Test),
    /// `$expr`.
    Expression(crate::expression::Expression),
    /// `$jsonSchema`.
    Schema(super::json_schema::Schema),
    /// `$near` or `$nearSphere`, at the top level of the filter.
    Near(Box<Near>),
    /// `$text`, at the top level of the filter.
    Text(Box<TextQuery>),
    Constant(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Lt,
    Lte,
    Gt,
    Gte,
}

/// A test of one value.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    Compare(Comparison, Bson),
    /// Values in ascending order, and regular expressions.
    In(Vec<Bson>, Vec<Regex>),
    Exists,
    Type(Vec<TypeTest>),
    Regex(Regex),
    Mod(i64, i64),
    Size(i64),
    Bits(Bits),
    /// `$geoWithin` or `$geoIntersects`
    Geo(GeoTest),
    /// `$elemMatch` on array elements that are documents or arrays.
    ElemMatchObject(Box<Filter>),
    /// `$elemMatch` with operators on the elements themselves.
    ElemMatchValue(Box<Filter>),
}

/// One alternative of `$type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeTest {
    /// `number`: any of the four numeric types.
    Number,
    /// The type with this alias.
    Named(&'static str),
}

/// Fails if the filter of an upsert has `$expr`, at any depth.
pub(crate) fn check_upsert(filter: &Document, env: &Env) -> Result<()> {
    fn has_expression(filter: &Document) -> bool {
        filter.iter().any(|(name, value)| match (name.as_str(), value) {
            ("$expr", _) => true,
            ("$and" | "$or" | "$nor", Bson::Array(clauses)) => {
                clauses.iter().filter_map(Bson::as_document).any(has_expression)
            }
            _ => false,
        })
    }
    queries::UPSERT_EXPR.check(env.profile, has_expression(filter), &[])
}

impl Filter {
    /// Returns whether the filter matches every document.
    pub(crate) fn is_always_true(&self) -> bool {
        match self {
            Filter::And(all) => all.iter().all(Filter::is_always_true),
            Filter::Constant(value) => *value,
            _ => false,
        }
    }

    /// Returns the values of an equality or `$in` on the field at the top level of the filter, for
    /// index lookups.
    pub(crate) fn equal_values(&self, path: &str) -> Option<Vec<Bson>> {
        match self {
            Filter::And(all) => all.iter().find_map(|filter| filter.equal_values(path)),
            Filter::Field(field, Test::Compare(Comparison::Eq, value)) if field.text == path => {
                Some(vec![value.clone()])
            }
            Filter::Field(field, Test::In(values, regexes)) if field.text == path && regexes.is_empty() => {
                Some(values.clone())
            }
            _ => None,
        }
    }

    /// Returns whether the top level of the filter has a condition on the field, so that the server
    /// would use an index with this prefix.
    pub(crate) fn restricts(&self, path: &str) -> bool {
        match self {
            Filter::And(all) => all.iter().any(|filter| filter.restricts(path)),
            Filter::Field(field, _) => field.text == path,
            _ => false,
        }
    }

    /// Fails if `$text` or `$near` of the filter contradict the sort or the hint.
    pub(crate) fn check_order(&self, sort: Option<&Document>, hint: Option<&Bson>, env: &Env) -> Result<()> {
        let profile = env.profile;
        let by_natural = sort.is_some_and(|sort| sort.contains_key("$natural"));
        let natural_hint = matches!(hint, Some(Bson::Document(hint)) if hint.contains_key("$natural"));
        let (near, text) = (self.near().is_some(), self.text().is_some());
        queries::NEAR_NATURAL_SORT.check(profile, near && by_natural, &[])?;
        queries::NEAR_NATURAL_HINT.check(profile, near && natural_hint, &[])?;
        queries::TEXT_NATURAL_SORT.check(profile, text && by_natural, &[])?;
        queries::TEXT_HINT.check(profile, text && hint.is_some(), &[])?;
        let index_hint = hint.is_some() && !natural_hint;
        queries::NATURAL_SORT_HINT.check(profile, by_natural && index_hint, &[])?;
        let direction = |pattern: Option<&Document>| {
            let value = pattern.and_then(|pattern| Number::from_bson(pattern.get("$natural")?));
            value.map(|direction| direction.to_f64() > 0.0)
        };
        let other = match (direction(sort), direction(hint.and_then(Bson::as_document))) {
            (Some(sort), Some(hint)) => sort != hint,
            _ => false,
        };
        queries::NATURAL_DIRECTION.check(profile, other, &[])
    }

    /// Fails if the filter is not allowed with a tailable cursor.
    pub(crate) fn check_tailable(&self, env: &Env) -> Result<()> {
        queries::TEXT_TAILABLE.check(env.profile, self.text().is_some(), &[])?;
        queries::NEAR_TAILABLE.check(env.profile, self.near().is_some(), &[])
    }

    /// The `$near` or `$nearSphere` of the filter, by which the results are sorted.
    pub(crate) fn near(&self) -> Option<&Near> {
        match self {
            Filter::And(all) => all.iter().find_map(Filter::near),
            Filter::Near(near) => Some(near),
            _ => None,
        }
    }

    /// The `$text` of the filter.
    pub(crate) fn text(&self) -> Option<&TextQuery> {
        match self {
            Filter::And(all) => all.iter().find_map(Filter::text),
            Filter::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Fails if the filter has several `$near` or `$text`, or one below other operators than `$and`.
    pub(super) fn check_placement(&self) -> Result<()> {
        match self.count_ranked() {
            (0, 0) => return Ok(()),
            (1, 1) => return Err(Error::bad_value("text and geoNear not allowed in same query")),
            (2.., _) => return Err(Error::bad_value("Too many geoNear expressions")),
            (_, 2..) => return Err(Error::bad_value("Too many text expressions")),
            _ => {}
        }
        match (self.near(), self.text(), self.count_ranked()) {
            (None, _, (1, 0)) => Err(Error::bad_value("geo $near must be top-level expr")),
            (_, None, (0, 1)) => Err(Error::not_served("$text below $or, $nor or $not")),
            _ => Ok(()),
        }
    }

    /// The numbers of `$near` and of `$text`.
    fn count_ranked(&self) -> (usize, usize) {
        match self {
            Filter::And(clauses) | Filter::Or(clauses) | Filter::Nor(clauses) => clauses
                .iter()
                .map(Filter::count_ranked)
                .fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1)),
            Filter::Not(clause) => clause.count_ranked(),
            Filter::Near(_) => (1, 0),
            Filter::Text(_) => (0, 1),
            Filter::Field(_, Test::ElemMatchObject(clause) | Test::ElemMatchValue(clause)) => {
                clause.count_ranked()
            }
            _ => (0, 0),
        }
    }

    /// Collects the fields with equality conditions, which an upsert copies into the new document.
    pub(crate) fn equality_seeds(&self, seeds: &mut Vec<(String, Bson)>) {
        match self {
            Filter::And(all) => all.iter().for_each(|filter| filter.equality_seeds(seeds)),
            Filter::Or(one) if one.len() == 1 => one[0].equality_seeds(seeds),
            Filter::Field(path, Test::Compare(Comparison::Eq, value)) => {
                seeds.push((path.text.clone(), value.clone()));
            }
            Filter::Field(path, Test::In(values, regexes)) if values.len() == 1 && regexes.is_empty() => {
                seeds.push((path.text.clone(), values[0].clone()));
            }
            _ => {}
        }
    }
}
