//! Evaluates filters. Array semantics: a test of a path succeeds for a value, or for any element of
//! an array.

use super::Env;
use super::filter::{Comparison, Filter, Test, TypeTest};
use super::path::{Path, walk};
use crate::error::Result;
use crate::text::query::TextQuery;
use crate::value::compare::{compare, equal, type_class};
use crate::value::metadata;
use crate::value::number::{Number, in_i64_range};
use crate::value::{is_number, type_name};
use bson::{Bson, Document};
use std::cmp::Ordering;

/// The subject of a filter: a document, or one array element for `$elemMatch`.
#[derive(Clone, Copy)]
enum Target<'t> {
    Document(&'t Document),
    Value(&'t Bson),
}

impl Filter {
    /// Returns whether the document matches.
    pub(crate) fn matches(&self, document: &Document, env: &Env) -> Result<bool> {
        self.evaluate(Target::Document(document), env, &mut None)
    }

    /// The matching document with the metadata of the query, if it has any.
    pub(crate) fn with_metadata(&self, document: &Document, env: &Env) -> Result<Option<Document>> {
        if let Some(near) = self.near() {
            let mut document = document.clone();
            if let Some(found) = near.find(&document)? {
                metadata::set(&mut document, "geoNearDistance", found.distance.into());
                metadata::set(&mut document, "geoNearPoint", found.location);
            }
            return Ok(Some(document));
        }
        let Some(text) = self.text() else {
            return Ok(None);
        };
        let mut document = document.clone();
        if let Some(score) = score(text, &document, env)? {
            metadata::set(&mut document, "textScore", score.into());
        }
        Ok(Some(document))
    }

    /// Returns whether the document matches, and the array index for the positional operator `$`.
    pub(crate) fn matches_with_position(
        &self,
        document: &Document,
        env: &Env,
    ) -> Result<(bool, Option<usize>)> {
        let mut position = None;
        let matched = self.evaluate(Target::Document(document), env, &mut position)?;
        Ok((matched, position))
    }

    /// Returns whether an array element matches a filter created by [`Filter::parse_element`].
    pub(crate) fn matches_element(&self, value: &Bson, env: &Env) -> Result<bool> {
        let Filter::Field(_, test) = self else {
            return Ok(false);
        };
        test.accepts_element(value, env)
    }

    fn evaluate(&self, target: Target<'_>, env: &Env, position: &mut Option<usize>) -> Result<bool> {
        match self {
            Filter::Constant(value) => Ok(*value),
            Filter::And(all) => {
                for filter in all {
                    if !filter.evaluate(target, env, position)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Or(any) => {
                for filter in any {
                    if filter.evaluate(target, env, position)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Filter::Nor(none) => {
                for filter in none {
                    if filter.evaluate(target, env, &mut None)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Not(filter) => Ok(!filter.evaluate(target, env, &mut None)?),
            Filter::Schema(schema) => match target {
                Target::Document(document) => schema.matches_document(document),
                Target::Value(_) => Ok(false),
            },
            Filter::Text(text) => match target {
                Target::Document(document) => score(text, document, env).map(|score| score.is_some()),
                Target::Value(_) => Ok(false),
            },
            Filter::Near(near) => match target {
                Target::Document(document) => near.find(document).map(|found| found.is_some()),
                Target::Value(_) => Ok(false),
            },
            Filter::Expression(expression) => match target {
                Target::Document(document) => expression
                    .evaluate(document, env)
                    .map(|value| crate::value::truthy(&value)),
                Target::Value(_) => Ok(false),
            },
            Filter::Field(path, test) => match target {
                Target::Document(document) if !path.parts.is_empty() => {
                    test_path(document, path, test, env, position)
                }
                Target::Document(_) => Ok(false),
                Target::Value(value) if path.parts.is_empty() => {
                    test.accepts_whole(Some(value), env).map(|m| m.0)
                }
                // A field of a value that is not a document is missing.
                Target::Value(_) => test.accepts(None, env),
            },
        }
    }
}

fn test_path(
    document: &Document,
    path: &Path,
    test: &Test,
    env: &Env,
    position: &mut Option<usize>,
) -> Result<bool> {
    walk(document, &path.parts, None, &mut |value, passed| {
        let (matched, element) = test.accepts_whole(value, env)?;
        if matched {
            if let Some(index) = passed.or(element) {
                *position = Some(index);
            }
            return Ok(true);
        }
        if test.applies_to_elements()
            && let Some(Bson::Array(items)) = value
        {
            for (index, item) in items.iter().enumerate() {
                if test.accepts(Some(item), env)? {
                    *position = Some(passed.unwrap_or(index));
                    return Ok(true);
                }
            }
        }
        Ok(false)
    })
}

impl Test {
    fn applies_to_elements(&self) -> bool {
        !matches!(
            self,
            Test::Exists | Test::Size(_) | Test::ElemMatchObject(_) | Test::ElemMatchValue(_)
        )
    }

    /// Tests a value as a whole. For `$elemMatch`, also returns the index of the matching element.
    fn accepts_whole(&self, value: Option<&Bson>, env: &Env) -> Result<(bool, Option<usize>)> {
        if !matches!(self, Test::ElemMatchObject(_) | Test::ElemMatchValue(_)) {
            return Ok((self.accepts(value, env)?, None));
        }
        let Some(Bson::Array(items)) = value else {
            return Ok((false, None));
        };
        for (index, item) in items.iter().enumerate() {
            if self.accepts_element(item, env)? {
                return Ok((true, Some(index)));
            }
        }
        Ok((false, None))
    }

    /// Returns whether an array element matches an `$elemMatch`.
    fn accepts_element(&self, item: &Bson, env: &Env) -> Result<bool> {
        let (filter, target) = match (self, item) {
            (Test::ElemMatchObject(filter), Bson::Document(document)) => (filter, Target::Document(document)),
            // `$elemMatch` treats an array as a document with the fields "0", "1" and so on.
            (Test::ElemMatchObject(filter), Bson::Array(items)) => {
                let document: Document = (0..items.len())
                    .map(|index| index.to_string())
                    .zip(items.iter().cloned())
                    .collect();
                return filter.evaluate(Target::Document(&document), env, &mut None);
            }
            (Test::ElemMatchValue(filter), item) => (filter, Target::Value(item)),
            _ => return Ok(false),
        };
        filter.evaluate(target, env, &mut None)
    }

    /// Tests one value. `None` is a missing value.
    fn accepts(&self, value: Option<&Bson>, env: &Env) -> Result<bool> {
        let collation = env.collation.as_ref();
        Ok(match (self, value) {
            (Test::Exists, value) => value.is_some(),
            (Test::Compare(comparison, operand), value) => {
                let found = value.unwrap_or(&Bson::Null);
                accepts_comparison(*comparison, found, operand, env)
            }
            (Test::In(values, _), None) => values.iter().any(|item| matches!(item, Bson::Null)),
            (Test::In(values, regexes), Some(value)) => {
                if values
                    .binary_search_by(|item| compare(item, value, collation))
                    .is_ok()
                {
                    return Ok(true);
                }
                for regex in regexes {
                    if accepts_regex(regex, value)? {
                        return Ok(true);
                    }
                }
                false
            }
            (_, None) => false,
            (Test::Type(types), Some(value)) => types.iter().any(|test| match test {
                TypeTest::Number => is_number(value),
                TypeTest::Named(name) => type_name(value) == *name,
            }),
            (Test::Regex(regex), Some(value)) => accepts_regex(regex, value)?,
            (Test::Mod(divisor, remainder), Some(value)) => match Number::from_bson(value) {
                Some(Number::Double(number)) if !number.is_finite() || !in_i64_range(number) => false,
                Some(Number::Decimal(number)) if number.truncate_to_i64().is_none() => false,
                Some(number) => number.to_saturated_i64().checked_rem(*divisor).unwrap_or(0) == *remainder,
                None => false,
            },
            (Test::Size(size), Some(Bson::Array(items))) => items.len() as i64 == *size,
            (Test::Size(_), _) => false,
            (Test::Bits(bits), Some(value)) => bits.matches(value),
            (Test::Geo(test), Some(value)) => test.accepts(value),
            (Test::ElemMatchObject(_) | Test::ElemMatchValue(_), Some(_)) => {
                self.accepts_whole(value, env)?.0
            }
        })
    }
}

/// The text score of a document; `None` if it does not match.
fn score(text: &TextQuery, document: &Document, env: &Env) -> Result<Option<f64>> {
    text.score(document, env.required_text_index()?)
}

fn accepts_regex(regex: &super::regex::Regex, value: &Bson) -> Result<bool> {
    match value {
        Bson::String(text) | Bson::Symbol(text) => regex.is_match(text),
        Bson::RegularExpression(other) => {
            Ok(other.pattern.as_str() == regex.pattern && other.options.as_str() == regex.options)
        }
        _ => Ok(false),
    }
}

fn accepts_comparison(comparison: Comparison, value: &Bson, operand: &Bson, env: &Env) -> bool {
    let collation = env.collation.as_ref();
    if comparison == Comparison::Eq {
        return equal(value, operand, collation);
    }
    if type_class(value) != type_class(operand) {
        // Only MinKey and MaxKey compare with all types and with missing values.
        return match operand {
            Bson::MinKey => matches!(comparison, Comparison::Gt | Comparison::Gte),
            Bson::MaxKey => matches!(comparison, Comparison::Lt | Comparison::Lte),
            _ => false,
        };
    }
    let is_nan = |value: &Bson| matches!(Number::from_bson(value), Some(n) if n.to_f64().is_nan());
    if is_nan(value) != is_nan(operand) {
        return false;
    }
    let order = compare(value, operand, collation);
    match comparison {
        Comparison::Eq => order == Ordering::Equal,
        Comparison::Lt => order == Ordering::Less,
        Comparison::Lte => order != Ordering::Greater,
        Comparison::Gt => order == Ordering::Greater,
        Comparison::Gte => order != Ordering::Less,
    }
}

#[cfg(test)]
mod tests;
