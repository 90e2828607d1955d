//! Combines filter documents, and converts conditions on array elements to `$elemMatch`, `$pull`
//! and array filters.

use crate::bson::{Bson, Document, doc};
use crate::error::{Error, Result};

/// Conjunction: one document if the keys do not conflict, otherwise `$and`.
pub(crate) fn and(mut a: Document, b: Document) -> Document {
    if a.is_empty() {
        return b;
    }
    if b.is_empty() {
        return a;
    }
    if a.len() == 1
        && let Ok(parts) = a.get_array_mut("$and")
    {
        parts.push(Bson::Document(b));
        return a;
    }
    if !b.iter().all(|(key, value)| mergeable(&a, key, value)) {
        return doc! { "$and": [a, b] };
    }
    for (key, value) in b {
        match (a.get_mut(&key), value) {
            (Some(existing), value) if *existing == value => {}
            (Some(Bson::Document(existing)), Bson::Document(more)) => existing.extend(more),
            (_, value) => {
                a.insert(key, value);
            }
        }
    }
    a
}

/// Whether `key: value` can be added to the document `a` without changing the meaning of either:
/// `a` has the same condition, or has no such operator on the field. Two different `$expr`, `$text`
/// and other operators that are not on a field cannot be merged.
fn mergeable(a: &Document, key: &str, value: &Bson) -> bool {
    match (a.get(key), value) {
        (None, _) => true,
        (Some(existing), value) if existing == value => true,
        _ if key.starts_with('$') => false,
        (Some(Bson::Document(existing)), Bson::Document(more)) => {
            are_operators(existing)
                && are_operators(more)
                && more
                    .iter()
                    .all(|(k, v)| existing.get(k).is_none_or(|h| k == "$eq" && h == v))
        }
        _ => false,
    }
}

/// Whether every document matches, because there are no conditions, or all of them always match.
pub(super) fn matches_everything(filter: &Document) -> bool {
    filter.iter().all(|(key, value)| match key.as_str() {
        "$and" => parts(value).all(matches_everything),
        "$or" => parts(value).any(matches_everything),
        "$nor" => parts(value).all(matches_nothing),
        "$comment" => true,
        _ => value.as_document().is_some_and(always_matches),
    })
}

/// Whether no document matches, because a condition never matches.
pub(super) fn matches_nothing(filter: &Document) -> bool {
    filter.iter().any(|(key, value)| match key.as_str() {
        "$and" => parts(value).any(matches_nothing),
        "$or" => parts(value).all(matches_nothing),
        "$nor" => parts(value).any(matches_everything),
        _ => value.as_document().is_some_and(never_matches),
    })
}

/// Whether the operators on a field match every value, and also a missing field.
fn always_matches(condition: &Document) -> bool {
    are_operators(condition)
        && condition
            .iter()
            .all(|(operator, operand)| match operator.as_str() {
                "$not" => operand.as_document().is_some_and(never_matches),
                operator => is_always_true(operator, operand),
            })
}

/// Whether the operators on a field match no value.
fn never_matches(condition: &Document) -> bool {
    are_operators(condition)
        && condition
            .iter()
            .any(|(operator, operand)| match operator.as_str() {
                "$in" => is_empty_array(operand),
                "$not" => operand.as_document().is_some_and(always_matches),
                _ => false,
            })
}

/// Whether a comparison matches every document: `$nin` without values.
pub(super) fn is_always_true(operator: &str, operand: &Bson) -> bool {
    operator == "$nin" && is_empty_array(operand)
}

fn is_empty_array(value: &Bson) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// Whether a document consists of operators, as opposed to a document to compare with.
fn are_operators(d: &Document) -> bool {
    !d.is_empty() && d.keys().all(|k| k.starts_with('$'))
}

/// Disjunction. `a | b | c` is one `$or` of three.
pub(super) fn or(mut a: Document, b: Document) -> Document {
    if a.len() == 1
        && let Ok(parts) = a.get_array_mut("$or")
    {
        parts.push(Bson::Document(b));
        return a;
    }
    doc! { "$or": [a, b] }
}

/// Negation.
pub(super) fn nor(a: Document) -> Document {
    doc! { "$nor": [a] }
}

/// The value that a filter requires a field to be equal to, in its conditions or in an `$and`.
pub(super) fn equality<'a>(filter: &'a Document, path: &str) -> Option<&'a Bson> {
    let own = filter.get(path).and_then(|value| match value {
        Bson::Document(d) if are_operators(d) => d
            .get("$eq")
            .or_else(|| d.get_array("$in").ok().and_then(|values| only(values))),
        Bson::RegularExpression(_) => None,
        value => Some(value),
    });
    own.or_else(|| parts(filter.get("$and")?).find_map(|part| equality(part, path)))
}

/// The value of an array with one element.
pub(super) fn only(values: &[Bson]) -> Option<&Bson> {
    match values {
        [value] => Some(value),
        _ => None,
    }
}

fn is_logical(key: &str) -> bool {
    matches!(key, "$and" | "$or" | "$nor")
}

fn parts(value: &Bson) -> impl Iterator<Item = &Document> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Bson::as_document)
}

/// Rejects conditions on the root document itself, which the server does not support.
pub(super) fn check_placed(filter: &Document) -> Result<()> {
    for (key, value) in filter {
        if key.is_empty() {
            return Err(unplaced());
        }
        if is_logical(key) {
            parts(value).try_for_each(check_placed)?;
        }
    }
    Ok(())
}

/// The error of a condition on the root document itself.
pub(super) fn unplaced() -> Error {
    Error::filter("", "the whole document cannot be compared; compare its fields")
}

/// A condition on an array element in the form of `$elemMatch` and `$pull`: a filter if the element
/// is a document, otherwise operators.
pub(crate) fn element_condition(condition: Document) -> Result<Document> {
    let mut plain = Vec::new();
    let mut fields = Document::new();
    for (key, value) in condition {
        match (key.as_str(), value) {
            ("", Bson::Document(operators)) => plain.push(operators),
            ("$and", value) if parts(&value).any(|p| p.contains_key("")) => {
                for part in parts(&value) {
                    let part = element_condition(part.clone())?;
                    if are_operators(&part) && !part.keys().any(|k| is_logical(k)) {
                        plain.push(part);
                    } else {
                        fields = and(fields, part);
                    }
                }
            }
            (_, value) => {
                fields.insert(key, value);
            }
        }
    }
    match (plain.is_empty(), fields.is_empty()) {
        (true, _) => {
            check_placed(&fields)?;
            Ok(fields)
        }
        (false, true) => conjunction(plain),
        (false, false) => Err(Error::filter(
            "",
            "a condition on the whole element cannot be combined with conditions on its fields",
        )),
    }
}

/// Merges documents of operators. An operator that occurs twice is wrapped in `$not: {$not: …}`,
/// because the server has no `$and` for operators of one value.
fn conjunction(all: Vec<Document>) -> Result<Document> {
    let mut merged = Document::new();
    let mut rest = Vec::new();
    for operators in all.into_iter().map(without_not) {
        if operators.keys().any(|k| merged.contains_key(k)) {
            rest.push(operators);
        } else {
            merged.extend(operators);
        }
    }
    if rest.is_empty() {
        return Ok(merged);
    }
    if merged.contains_key("$not") {
        return Err(Error::filter(
            "",
            "`not` on an array element cannot be combined with a second condition that uses the same operator; use `ne`, \
             `not_in`, or one condition of each kind",
        ));
    }
    merged.insert("$not", doc! { "$not": conjunction(rest)? });
    Ok(merged)
}

/// The same condition without `$not`, if its operand is one of the operators that have an opposite.
fn without_not(mut operators: Document) -> Document {
    let opposite = match operators.get("$not").and_then(Bson::as_document) {
        Some(negated) if negated.len() == 1 => negated.iter().next().and_then(|(operator, value)| {
            let opposite = match operator.as_str() {
                "$eq" => "$ne",
                "$ne" => "$eq",
                "$in" => "$nin",
                "$nin" => "$in",
                _ => return None,
            };
            Some((opposite, value.clone()))
        }),
        _ => None,
    };
    if let Some((opposite, value)) = opposite.filter(|(opposite, _)| !operators.contains_key(opposite)) {
        operators.remove("$not");
        operators.insert(opposite, value);
    }
    operators
}

/// A condition on an array element as an array filter with the identifier `id`.
pub(crate) fn prefixed(condition: &Document, id: &str) -> Result<Document> {
    let mut filter = Document::new();
    for (key, value) in condition {
        if is_logical(key) {
            let parts = parts(value)
                .map(|p| prefixed(p, id).map(Bson::Document))
                .collect::<Result<Vec<_>>>()?;
            filter.insert(key, parts);
        } else if key.starts_with('$') {
            return Err(Error::update(
                "",
                format!("`{key}` cannot be used in an array filter"),
            ));
        } else if key.is_empty() {
            filter.insert(id, value.clone());
        } else {
            filter.insert(format!("{id}.{key}"), value.clone());
        }
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conjunctions_are_merged_if_keys_do_not_conflict() {
        let two = and(
            doc! { "a": { "$gte": 1 } },
            doc! { "a": { "$lt": 5 }, "b": { "$eq": 1 } },
        );
        assert_eq!(two, doc! { "a": { "$gte": 1, "$lt": 5 }, "b": { "$eq": 1 } });
        let conflicting = and(two.clone(), doc! { "a": { "$gte": 2 } });
        assert_eq!(
            conflicting,
            doc! { "$and": [two.clone(), { "a": { "$gte": 2 } }] }
        );
        assert_eq!(
            and(conflicting, doc! { "c": { "$eq": 1 } })
                .get_array("$and")
                .unwrap()
                .len(),
            3
        );
        assert_eq!(and(doc! { "a": { "x": 1 } }, doc! { "a": { "$gt": 1 } }).len(), 1);
        assert_eq!(and(Document::new(), two.clone()), two);
    }

    #[test]
    fn identical_conditions_merge() {
        let card = doc! { "last4": { "$eq": "1" }, "kind": { "$eq": "card" } };
        assert_eq!(and(card.clone(), doc! { "kind": { "$eq": "card" } }), card);
        assert_eq!(and(card.clone(), card.clone()), card);
        let other = doc! { "kind": { "$eq": "cash" } };
        assert_eq!(and(card.clone(), other.clone()), doc! { "$and": [card, other] });
        let (pattern, insensitive) = (
            doc! { "a": { "$regex": "x" } },
            doc! { "a": { "$regex": "x", "$options": "i" } },
        );
        assert_eq!(
            and(pattern.clone(), insensitive.clone()),
            doc! { "$and": [pattern, insensitive] }
        );
        let expression = doc! { "$expr": { "$gt": ["$a", "$b"] } };
        assert_eq!(and(expression.clone(), expression.clone()), expression);
    }

    #[test]
    fn filters_that_match_every_document_are_recognized() {
        for filter in [
            doc! {},
            doc! { "$and": [{}, {}] },
            doc! { "$or": [{ "a": 1 }, {}] },
            doc! { "$nor": [{ "$nor": [{}] }] },
            doc! { "$and": [{ "$or": [{}] }] },
            doc! { "$comment": "x" },
            doc! { "a": { "$nin": [] }, "b": { "$nin": [] } },
            doc! { "a": { "$not": { "$in": [] } } },
            doc! { "$nor": [{ "a": { "$in": [] }, "b": 1 }] },
            doc! { "$or": [{ "a": 1 }, { "a": { "$nin": [] } }] },
        ] {
            assert!(matches_everything(&filter), "{filter:?}");
        }
        for filter in [
            doc! { "a": 1 },
            doc! { "$and": [{}, { "a": 1 }] },
            doc! { "$or": [{ "a": 1 }] },
            doc! { "$nor": [{}] },
            doc! { "$nor": [{ "a": 1 }] },
            doc! { "$or": [{}], "a": 1 },
            doc! { "$comment": "x", "a": 1 },
            doc! { "a": { "$nin": [1] } },
            doc! { "a": { "$nin": [], "$ne": 1 } },
            doc! { "a": { "$in": [] } },
            doc! { "a": { "$not": { "$nin": [] } } },
            doc! { "a": {} },
            doc! { "a": { "$eq": { "$nin": [] } } },
        ] {
            assert!(!matches_everything(&filter), "{filter:?}");
        }
    }

    #[test]
    fn different_expressions_are_joined_by_and() {
        let (gt, lt) = (
            doc! { "$expr": { "$gt": ["$a", "$b"] } },
            doc! { "$expr": { "$lt": ["$a", "$c"] } },
        );
        assert_eq!(and(gt.clone(), lt.clone()), doc! { "$and": [gt, lt] });
    }

    #[test]
    fn element_conditions_are_operators_or_a_filter() {
        let plain = and(doc! { "": { "$gte": 1 } }, doc! { "": { "$lt": 5 } });
        assert_eq!(element_condition(plain).unwrap(), doc! { "$gte": 1, "$lt": 5 });
        let twice = and(doc! { "": { "$ne": 1 } }, doc! { "": { "$ne": 5 } });
        assert_eq!(
            element_condition(twice.clone()).unwrap(),
            doc! { "$ne": 1, "$not": { "$not": { "$ne": 5 } } }
        );
        let thrice = and(twice, doc! { "": { "$ne": 6 } });
        assert_eq!(
            element_condition(thrice).unwrap(),
            doc! { "$ne": 1, "$not": { "$not": { "$ne": 5, "$not": { "$not": { "$ne": 6 } } } } }
        );
        assert_eq!(
            element_condition(doc! { "sku": { "$eq": 1 } }).unwrap(),
            doc! { "sku": { "$eq": 1 } }
        );
        assert!(element_condition(doc! { "": { "$eq": {} }, "sku": 1 }).is_err());
    }

    #[test]
    fn negations_of_one_element_are_merged_or_rejected() {
        let not = |operators: Document| doc! { "": { "$not": operators } };
        let equal = and(not(doc! { "$eq": 1 }), not(doc! { "$in": [2, 3] }));
        assert_eq!(
            element_condition(equal).unwrap(),
            doc! { "$ne": 1, "$nin": [2, 3] }
        );
        let twice = and(not(doc! { "$gt": 1 }), not(doc! { "$lt": 5 }));
        let error = element_condition(twice).unwrap_err().to_string();
        assert!(error.contains("`not`"), "{error}");
    }

    #[test]
    fn array_filters_prefix_every_key() {
        let condition = doc! { "$or": [{ "a": { "$eq": 1 } }, { "": { "$gt": 2 } }] };
        let filter = prefixed(&condition, "f0").unwrap();
        assert_eq!(
            filter,
            doc! { "$or": [{ "f0.a": { "$eq": 1 } }, { "f0": { "$gt": 2 } }] }
        );
        assert!(prefixed(&doc! { "$expr": true }, "f0").is_err());
    }
}
