//! Normalizes a filter to a conjunction of predicates on one path each, as `parsedQuery` shows it.

use crate::value::compare::compare;
use bson::{Bson, Document, doc};

/// A test of one path with one operator.
#[derive(Debug, Clone)]
pub(super) struct Predicate {
    pub(super) path: String,
    pub(super) operator: String,
    pub(super) value: Bson,
    /// The `$options` of a `$regex`.
    options: String,
    /// The predicate is within `$not`.
    pub(super) negated: bool,
}

/// A member of a conjunction.
#[derive(Debug, Clone)]
pub(super) enum Clause {
    Predicate(Predicate),
    /// The branches of an `$or`, each a conjunction.
    Or(Vec<Vec<Clause>>),
    /// An operator that no index supports, in its original form.
    Other(Document),
}

/// The order of the members of a conjunction: by operator, then by path.
const ORDER: [&str; 13] = [
    "$elemMatch",
    "$size",
    "$eq",
    "$lte",
    "$lt",
    "$gt",
    "$gte",
    "$regex",
    "$mod",
    "$exists",
    "$in",
    "$not",
    "$type",
];

impl Predicate {
    fn rank(&self) -> usize {
        let operator = if self.negated {
            "$not"
        } else {
            self.operator.as_str()
        };
        ORDER
            .iter()
            .position(|known| *known == operator)
            .unwrap_or(ORDER.len())
    }

    fn to_document(&self) -> Document {
        let mut test = doc! { &self.operator: self.value.clone() };
        if !self.options.is_empty() {
            test.insert("$options", &self.options);
        }
        if self.negated {
            test = doc! { "$not": test };
        }
        doc! { &self.path: test }
    }

    /// The pattern and options of a `$regex`.
    pub(super) fn regex(&self) -> Option<(&str, &str)> {
        match &self.value {
            Bson::String(pattern) if self.operator == "$regex" => Some((pattern, &self.options)),
            _ => None,
        }
    }
}

impl Clause {
    /// The clause as a filter document.
    fn to_document(&self) -> Document {
        match self {
            Clause::Predicate(predicate) => predicate.to_document(),
            Clause::Or(branches) => {
                let branches: Vec<Document> = branches.iter().map(|branch| to_document(branch)).collect();
                doc! { "$or": branches }
            }
            Clause::Other(filter) => filter.clone(),
        }
    }

    fn sort_key(&self) -> (usize, &str) {
        match self {
            Clause::Or(_) => (0, ""),
            Clause::Predicate(predicate) => (1 + predicate.rank(), &predicate.path),
            Clause::Other(_) => (2 + ORDER.len(), ""),
        }
    }

    pub(super) fn predicate(&self) -> Option<&Predicate> {
        match self {
            Clause::Predicate(predicate) => Some(predicate),
            _ => None,
        }
    }
}

/// A conjunction as a filter document.
pub(super) fn to_document(clauses: &[Clause]) -> Document {
    match clauses {
        [] => Document::new(),
        [one] => one.to_document(),
        several => doc! { "$and": several.iter().map(Clause::to_document).collect::<Vec<_>>() },
    }
}

/// Returns the clauses of a valid filter, in the order of [`ORDER`].
pub(super) fn clauses(filter: &Document) -> Vec<Clause> {
    let mut found = Vec::new();
    collect(filter, &mut found);
    found.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    found
}

fn collect(filter: &Document, found: &mut Vec<Clause>) {
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$and", Bson::Array(members)) => {
                for member in members.iter().filter_map(Bson::as_document) {
                    collect(member, found);
                }
            }
            ("$or", Bson::Array(members)) => {
                let branches = members
                    .iter()
                    .filter_map(Bson::as_document)
                    .map(clauses)
                    .collect();
                alternatives(branches, found);
            }
            ("$comment", _) => {}
            (operator, _) if operator.starts_with('$') => {
                found.push(Clause::Other(doc! { name: value.clone() }));
            }
            (path, value) => field(path, value, found),
        }
    }
}

/// Adds an `$or`. With one branch it becomes that branch; with equalities on one path only it
/// becomes an `$in`.
fn alternatives(mut branches: Vec<Vec<Clause>>, found: &mut Vec<Clause>) {
    if branches.len() == 1 {
        found.extend(branches.remove(0));
        return;
    }
    let equality = |branch: &Vec<Clause>| match branch.as_slice() {
        [Clause::Predicate(predicate)] if predicate.operator == "$eq" && !predicate.negated => {
            Some((predicate.path.clone(), predicate.value.clone()))
        }
        _ => None,
    };
    let equalities: Option<Vec<_>> = branches.iter().map(equality).collect();
    if let Some(equalities) = equalities
        && let Some((path, _)) = equalities.first()
        && equalities.iter().all(|(other, _)| other == path)
    {
        let values = equalities.iter().map(|(_, value)| value.clone()).collect();
        operator(path, "$in", &Bson::Array(values), "", false, found);
        return;
    }
    found.push(Clause::Or(branches));
}

fn field(path: &str, value: &Bson, found: &mut Vec<Clause>) {
    match value {
        Bson::Document(operators) if crate::query::parse::is_operators(operators) => {
            tests(path, operators, false, found);
        }
        Bson::RegularExpression(_) => operator(path, "$regex", value, "", false, found),
        value => operator(path, "$eq", value, "", false, found),
    }
}

fn tests(path: &str, operators: &Document, negated: bool, found: &mut Vec<Clause>) {
    let options = operators.get_str("$options").unwrap_or_default();
    for (name, value) in operators {
        match (name.as_str(), value) {
            ("$options" | "$comment", _) => {}
            ("$not", Bson::Document(inner)) if !negated && inner.len() == 1 => {
                tests(path, inner, true, found);
            }
            ("$not", Bson::RegularExpression(_)) if !negated => {
                operator(path, "$regex", value, "", true, found);
            }
            ("$all", Bson::Array(members)) if !negated && members.iter().all(is_plain) => {
                for member in members {
                    operator(path, "$eq", member, "", false, found);
                }
            }
            (name, value) => operator(path, name, value, options, negated, found),
        }
    }
}

fn is_plain(value: &Bson) -> bool {
    !matches!(value, Bson::Document(_) | Bson::RegularExpression(_))
}

fn operator(path: &str, name: &str, value: &Bson, options: &str, negated: bool, found: &mut Vec<Clause>) {
    let mut predicate = Predicate {
        path: path.to_owned(),
        operator: name.to_owned(),
        value: value.clone(),
        options: options.to_owned(),
        negated,
    };
    match (name, value) {
        ("$ne", _) => (predicate.operator, predicate.negated) = ("$eq".to_owned(), !negated),
        ("$nin", _) => (predicate.operator, predicate.negated) = ("$in".to_owned(), !negated),
        ("$exists", value) => {
            predicate.negated = negated == crate::value::truthy(value);
            predicate.value = Bson::Boolean(true);
        }
        ("$regex", Bson::RegularExpression(regex)) => {
            predicate.value = Bson::String(regex.pattern.as_str().to_owned());
            if options.is_empty() {
                predicate.options = regex.options.as_str().to_owned();
            }
        }
        _ => {}
    }
    if name != "$regex" {
        predicate.options = String::new();
    }
    if predicate.operator == "$in"
        && let Bson::Array(values) = &mut predicate.value
    {
        values.sort_by(|a, b| compare(a, b, None));
        values.dedup_by(|a, b| compare(a, b, None).is_eq());
        if let [one] = values.as_slice()
            && is_plain(one)
        {
            (predicate.operator, predicate.value) = ("$eq".to_owned(), one.clone());
        }
    }
    found.push(Clause::Predicate(predicate));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(filter: &Document) -> Document {
        to_document(&clauses(filter))
    }

    #[test]
    fn conjunctions_are_flat_and_ordered() {
        assert_eq!(normalized(&doc! {}), doc! {});
        assert_eq!(normalized(&doc! { "a": 1 }), doc! { "a": { "$eq": 1 } });
        assert_eq!(
            normalized(&doc! { "b": { "$gte": 1, "$lt": 5 }, "$and": [{ "a": 1 }] }),
            doc! { "$and": [{ "a": { "$eq": 1 } }, { "b": { "$lt": 5 } }, { "b": { "$gte": 1 } }] }
        );
    }

    #[test]
    fn operators_are_normalized() {
        assert_eq!(
            normalized(&doc! { "a": { "$ne": 1 } }),
            doc! { "a": { "$not": { "$eq": 1 } } }
        );
        assert_eq!(
            normalized(&doc! { "a": { "$exists": false } }),
            doc! { "a": { "$not": { "$exists": true } } }
        );
        assert_eq!(
            normalized(&doc! { "a": { "$in": [3] } }),
            doc! { "a": { "$eq": 3 } }
        );
        assert_eq!(
            normalized(&doc! { "$or": [{ "a": 2 }, { "a": 1 }] }),
            doc! { "a": { "$in": [1, 2] } }
        );
        assert_eq!(
            normalized(&doc! { "$or": [{ "a": 2 }, { "b": 1 }] }),
            doc! { "$or": [{ "a": { "$eq": 2 } }, { "b": { "$eq": 1 } }] }
        );
    }
}
