//! How filter documents are joined, and how conditions on array elements take their place.

use crate::bson::{Bson, Document, doc};
use crate::error::{Error, Result};

/// Conjunction: one flat document where keys do not clash, else `$and`.
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
            (Some(have), value) if *have == value => {}
            (Some(Bson::Document(have)), Bson::Document(more)) => have.extend(more),
            (_, value) => {
                a.insert(key, value);
            }
        }
    }
    a
}

/// Whether `key: value` can be added to a document that is a conjunction without changing what either means: a condition
/// that is there already, an operator that the field does not have yet. Two different `$expr`, `$text` and the like never
/// can: they hold no conditions on a field.
fn mergeable(a: &Document, key: &str, value: &Bson) -> bool {
    match (a.get(key), value) {
        (None, _) => true,
        (Some(have), value) if have == value => true,
        _ if key.starts_with('$') => false,
        (Some(Bson::Document(have)), Bson::Document(more)) => {
            operators(have)
                && operators(more)
                && more
                    .iter()
                    .all(|(k, v)| have.get(k).is_none_or(|h| k == "$eq" && h == v))
        }
        _ => false,
    }
}

/// Whether every document matches, because there is no condition, or none that could fail.
pub(super) fn matches_all(filter: &Document) -> bool {
    filter.iter().all(|(key, value)| match key.as_str() {
        "$and" => parts(value).all(matches_all),
        "$or" => parts(value).any(matches_all),
        "$nor" => parts(value).all(matches_none),
        "$comment" => true,
        _ => value.as_document().is_some_and(never_fail),
    })
}

/// Whether no document matches, because a condition can never hold.
pub(super) fn matches_none(filter: &Document) -> bool {
    filter.iter().any(|(key, value)| match key.as_str() {
        "$and" => parts(value).any(matches_none),
        "$or" => parts(value).all(matches_none),
        "$nor" => parts(value).any(matches_all),
        _ => value.as_document().is_some_and(never_hold),
    })
}

/// Whether every value fulfils the operators on a field, and a missing one does too.
fn never_fail(condition: &Document) -> bool {
    operators(condition)
        && condition
            .iter()
            .all(|(operator, operand)| match operator.as_str() {
                "$not" => operand.as_document().is_some_and(never_hold),
                operator => cannot_fail(operator, operand),
            })
}

/// Whether no value fulfils the operators on a field.
fn never_hold(condition: &Document) -> bool {
    operators(condition)
        && condition
            .iter()
            .any(|(operator, operand)| match operator.as_str() {
                "$in" => is_empty_array(operand),
                "$not" => operand.as_document().is_some_and(never_fail),
                _ => false,
            })
}

/// Whether every document fulfils a comparison: a field has none of no values.
pub(super) fn cannot_fail(operator: &str, operand: &Bson) -> bool {
    operator == "$nin" && is_empty_array(operand)
}

fn is_empty_array(value: &Bson) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// Whether a value is a document of operators, not a document to compare with.
fn operators(d: &Document) -> bool {
    !d.is_empty() && d.keys().all(|k| k.starts_with('$'))
}

/// Disjunction, flat for `a | b | c`.
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

/// The value that a filter requires a field to be equal to, in its conditions or in those of an `$and`.
pub(super) fn equality<'a>(filter: &'a Document, path: &str) -> Option<&'a Bson> {
    let own = filter.get(path).and_then(|value| match value {
        Bson::Document(d) if operators(d) => d
            .get("$eq")
            .or_else(|| d.get_array("$in").ok().and_then(|values| only(values))),
        Bson::RegularExpression(_) => None,
        value => Some(value),
    });
    own.or_else(|| parts(filter.get("$and")?).find_map(|part| equality(part, path)))
}

/// The value of an array of one.
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

/// Refuses conditions on the root document itself: the server has no form for them.
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

/// Why a condition on the root document cannot be sent.
pub(super) fn unplaced() -> Error {
    Error::filter("", "a whole document cannot be compared; compare its fields")
}

/// A condition on one element as `$elemMatch` and `$pull` take it: operators for a plain element, a filter for a
/// document.
pub(crate) fn element_condition(condition: Document) -> Result<Document> {
    let mut plain = Vec::new();
    let mut fields = Document::new();
    for (key, value) in condition {
        match (key.as_str(), value) {
            ("", Bson::Document(operators)) => plain.push(operators),
            ("$and", value) if parts(&value).any(|p| p.contains_key("")) => {
                for part in parts(&value) {
                    let part = element_condition(part.clone())?;
                    if operators(&part) && !part.keys().any(|k| is_logical(k)) {
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
        (false, true) => Ok(conjunction(plain)),
        (false, false) => Err(Error::filter(
            "",
            "a condition on the whole element cannot stand beside conditions on its fields",
        )),
    }
}

/// Several documents of operators as one. An operator that comes twice goes into a double `$not`, the only form that
/// the server has for it.
fn conjunction(all: Vec<Document>) -> Document {
    let mut merged = Document::new();
    let mut rest = Vec::new();
    for operators in all {
        if operators.keys().any(|k| merged.contains_key(k)) {
            rest.push(operators);
        } else {
            merged.extend(operators);
        }
    }
    if rest.is_empty() {
        return merged;
    }
    let twice = doc! { "$not": { "$not": conjunction(rest) } };
    if merged.contains_key("$not") {
        conjunction(vec![twice, merged])
    } else {
        and_operators(merged, twice)
    }
}

fn and_operators(mut a: Document, b: Document) -> Document {
    a.extend(b);
    a
}

/// A condition on one element as an array filter of the identifier `id`.
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
    fn conjunctions_stay_flat_while_keys_do_not_clash() {
        let two = and(
            doc! { "a": { "$gte": 1 } },
            doc! { "a": { "$lt": 5 }, "b": { "$eq": 1 } },
        );
        assert_eq!(two, doc! { "a": { "$gte": 1, "$lt": 5 }, "b": { "$eq": 1 } });
        let clash = and(two.clone(), doc! { "a": { "$gte": 2 } });
        assert_eq!(clash, doc! { "$and": [two.clone(), { "a": { "$gte": 2 } }] });
        assert_eq!(
            and(clash, doc! { "c": { "$eq": 1 } })
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
    fn filters_that_cannot_fail_are_known() {
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
            assert!(matches_all(&filter), "{filter:?}");
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
            assert!(!matches_all(&filter), "{filter:?}");
        }
    }

    #[test]
    fn two_expressions_stay_apart() {
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
