//! Conditions inside arrays. Conditions on an enum variant, on a range and on the elements of an
//! array of arrays must match the same element, so they are wrapped in an `$elemMatch`.

use crate::bson::{Bson, Document, doc};
use crate::error::{Error, Result};
use crate::filter::combine::{self, element_condition};
use crate::path::{Implied, RawPath};

/// Operators that the server supports only at the top level of a query.
const TOP_LEVEL_ONLY: [&str; 2] = ["$near", "$nearSphere"];

/// The filter for operators at a path, with conditions for the enum variants that the path goes
/// through.
///
/// A tag inside an array must be in the same element as the field, so both are in one `$elemMatch`
/// on the innermost array around the variant. A negated operator matches if no element matches the
/// condition that it negates, so that its `$elemMatch` is negated. `value_is_array` is whether the value
/// at the path is an array itself.
pub(super) fn on_path(path: &RawPath, value_is_array: bool, operators: Document) -> Result<Document> {
    if path.implied().iter().all(|i| i.arrays == 0) {
        return place(path, value_is_array, operators, None);
    }
    let (operators, negations) = without_negations(operators);
    let mut all = if operators.is_empty() && !negations.is_empty() {
        Document::new()
    } else {
        place(path, value_is_array, operators, None)?
    };
    for Negation { negated, opposite } in negations {
        all = combine::and(all, place(path, value_is_array, opposite, Some(negated))?);
    }
    Ok(all)
}

/// The filter for operators, or for the negation of which they are the opposite.
fn place(
    path: &RawPath,
    value_is_array: bool,
    operators: Document,
    negation: Option<Document>,
) -> Result<Document> {
    let outside = negation.as_ref().unwrap_or(&operators);
    let implied: Vec<&Implied> = path
        .implied()
        .iter()
        .filter(|i| match (i.tag, i.arrays) {
            (Some(_), _) => true,
            (None, 0) => matches_missing(outside),
            (None, _) => matches_missing(&operators) || !is_simple(&operators),
        })
        .collect();
    let is_inside = implied.iter().any(|i| i.arrays > 0);
    let placement = Placement::new(path, implied, value_is_array, 0);
    match negation {
        None => placement.place(operators),
        Some(negation) if !is_inside => placement.place(negation),
        Some(_) => Placement {
            negated: true,
            ..placement
        }
        .place(operators),
    }
}

/// The filter for operators that must all match the same element of the innermost array of the
/// path.
pub(super) fn on_one_element(path: &RawPath, value_is_array: bool, operators: Document) -> Result<Document> {
    let implied = path.implied().iter().filter(|i| i.tag.is_some()).collect();
    Placement::new(path, implied, value_is_array, path.arrays().len()).place(operators)
}

/// The nesting of the conditions of a path.
struct Placement<'a> {
    path: &'a RawPath,
    implied: Vec<&'a Implied>,
    /// For each array level of the path whether it needs an `$elemMatch`.
    explicit: Vec<bool>,
    /// Number of outer array levels in which all conditions must match the same element. In the
    /// levels inside them the semantics are those of `{path: operators}`: each condition can match
    /// a different element, and a negated condition matches if no element matches the condition
    /// that it negates.
    together: usize,
    /// Whether no element of the outermost of these levels must match.
    negated: bool,
}

impl<'a> Placement<'a> {
    fn new(path: &'a RawPath, implied: Vec<&'a Implied>, value_is_array: bool, together: usize) -> Self {
        let arrays = path.arrays();
        let around = implied.iter().map(|i| i.arrays);
        let is_explicit = |(i, len): (usize, &usize)| {
            let repeated = |other: Option<usize>| other.and_then(|other| arrays.get(other)) == Some(len);
            repeated(i.checked_sub(1))
                || repeated(Some(i + 1))
                || path.is_explicit(*len)
                || (value_is_array && *len == path.dotted().len())
                || i + 1 == together
                || around.clone().any(|count| count == i + 1)
        };
        Placement {
            path,
            explicit: arrays.iter().enumerate().map(is_explicit).collect(),
            together: around.clone().max().unwrap_or(0).max(together),
            implied,
            negated: false,
        }
    }

    fn place(&self, operators: Document) -> Result<Document> {
        if self.explicit.contains(&true)
            && let Some(operator) = TOP_LEVEL_ONLY.into_iter().find(|o| operators.contains_key(o))
        {
            return Err(Error::filter(
                self.path.dotted(),
                format!(
                    "`{operator}` is not supported inside `$elemMatch`, which a condition on an array element needs"
                ),
            ));
        }
        self.inside(0, operators)
    }

    /// The conditions inside the elements of the first `arrays` array levels; inside the document
    /// for 0.
    fn inside(&self, arrays: usize, operators: Document) -> Result<Document> {
        let mut explicit = self.explicit.iter().enumerate().skip(arrays);
        let mut filter = match explicit.find(|(_, explicit)| **explicit) {
            None => doc! { self.relative(self.path.dotted(), arrays): operators },
            Some((array, _)) => {
                let key = self.relative(&self.path.dotted()[..self.path.arrays()[array]], arrays);
                let matching = |operators| {
                    let elements = self.inside(array + 1, operators)?;
                    Ok::<_, Error>(doc! { "$elemMatch": element_condition(elements)? })
                };
                if array < self.together {
                    // The conditions of variants around the array are not negated.
                    let is_outermost = !self.explicit[..array].contains(&true);
                    let condition = matching(operators)?;
                    if self.negated && is_outermost {
                        doc! { key: { "$not": condition } }
                    } else {
                        doc! { key: condition }
                    }
                } else {
                    let mut all = Document::new();
                    for (negated, operators) in self.positive(operators)? {
                        let condition = matching(operators)?;
                        let condition = if negated {
                            doc! { "$not": condition }
                        } else {
                            condition
                        };
                        all = combine::and(all, doc! { key.as_str(): condition });
                    }
                    all
                }
            }
        };
        for variant in self.implied.iter().filter(|i| i.arrays == arrays) {
            filter = combine::and(
                filter,
                doc! { self.relative(&variant.key, arrays): variant.condition() },
            );
        }
        Ok(filter)
    }

    /// A key relative to the elements of the first `arrays` array levels.
    fn relative(&self, key: &str, arrays: usize) -> String {
        match arrays.checked_sub(1) {
            None => key.to_owned(),
            Some(innermost) => key[self.path.arrays()[innermost]..]
                .trim_start_matches('.')
                .to_owned(),
        }
    }

    /// Splits the operators: each one without its negation, and whether it was negated.
    fn positive(&self, operators: Document) -> Result<Vec<(bool, Document)>> {
        if !operators.keys().next().is_some_and(|key| key.starts_with('$')) {
            return Ok(vec![(false, operators)]);
        }
        let options = operators.get("$options").cloned();
        let mut all = Vec::new();
        for (operator, value) in operators {
            all.push(match (operator.as_str(), value) {
                ("$ne", value) => (true, doc! { "$eq": value }),
                ("$nin", value) => (true, doc! { "$in": value }),
                ("$exists", Bson::Boolean(false)) => (true, doc! { "$exists": true }),
                ("$not", Bson::Document(negated)) => match &mut self.positive(negated)?[..] {
                    [(negated, operators)] => (!*negated, std::mem::take(operators)),
                    _ => {
                        return Err(Error::filter(
                            self.path.dotted(),
                            "`$not` of several operators is not supported for the elements of an array of arrays; negate each, \
                             or use `!` on the filter",
                        ));
                    }
                },
                ("$not", pattern) => (true, doc! { "$regex": pattern }),
                ("$options", _) => continue,
                ("$regex", pattern) => {
                    let mut regex = doc! { "$regex": pattern };
                    regex.extend(options.clone().map(|options| ("$options".to_owned(), options)));
                    (false, regex)
                }
                (_, value) => (false, doc! { operator: value }),
            });
        }
        Ok(all)
    }
}

/// An operator that matches an array if no element matches its opposite.
struct Negation {
    negated: Document,
    opposite: Document,
}

/// Divides operators into those that are no negations, and negations.
fn without_negations(operators: Document) -> (Document, Vec<Negation>) {
    let mut positive = Document::new();
    let mut negations = Vec::new();
    for (operator, value) in operators {
        let opposite = match (operator.as_str(), &value) {
            ("$ne", value) => doc! { "$eq": value },
            ("$nin", value) => doc! { "$in": value },
            ("$exists", Bson::Boolean(false)) => doc! { "$exists": true },
            ("$not", Bson::Document(operators)) => {
                // `$not: {$ne: value}` is a condition that an element matches.
                let (others, inner) = without_negations(operators.clone());
                match &inner[..] {
                    [one] if others.is_empty() && one.opposite.keys().all(|k| !positive.contains_key(k)) => {
                        positive.extend(one.opposite.clone());
                        continue;
                    }
                    _ => operators.clone(),
                }
            }
            ("$not", pattern) => doc! { "$regex": pattern },
            _ => {
                positive.insert(operator, value);
                continue;
            }
        };
        negations.push(Negation {
            negated: doc! { operator: value },
            opposite,
        });
    }
    (positive, negations)
}

/// Whether the operators match an array if they match one of its elements: a single operator that
/// is not a negation.
fn is_simple(operators: &Document) -> bool {
    let mut names = operators.keys().filter(|name| *name != "$options");
    let negates = |name: &String| matches!(name.as_str(), "$ne" | "$nin" | "$not");
    names.next().is_some_and(|name| !negates(name)) && names.next().is_none()
}

/// Whether the operators match a missing field, as `$ne` and `$exists: false` do.
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
    fn operators_that_match_a_missing_field_are_recognized() {
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
