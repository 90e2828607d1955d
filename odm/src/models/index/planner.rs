//! How a declared index serves the conditions and the sort of a query.

use std::cmp::{Ordering, Reverse};
use std::ops::ControlFlow;

use super::choice::{IndexBranch, IndexUse};
use super::normal::{is_truthy, normal_collation, number};
use super::{IndexDeclaration, Key, Kind};
use crate::{
    ast::filter::{Bounds, Condition, Node, Op, Seen},
    base::bson::{Bson, Document},
    term::encryption::fields::compare,
};

impl IndexDeclaration {
    /// The index on `_id`.
    pub(super) fn of_ids() -> Self {
        IndexDeclaration {
            keys: vec![Key {
                path: "_id".to_owned(),
                kind: Kind::Ascending,
                arrays: Vec::new(),
            }],
            name: Some("_id_".to_owned()),
            ..Self::default().unique()
        }
    }
}

impl IndexDeclaration {
    /// The attribute of an index with the same keys.
    fn attribute(&self) -> String {
        let names = self.keys.iter().map(|key| match key.kind {
            Kind::Descending => format!("-{}", key.path),
            Kind::Sphere => format!("geo({})", key.path),
            Kind::Ascending | Kind::Text { .. } | Kind::Hashed | Kind::Wildcard => key.path.clone(),
        });
        format!("index({})", names.collect::<Vec<_>>().join(", "))
    }
}

/// The number of ranges that a server merges in the order of the sort, by default.
const MERGED: usize = 200;

/// The indexes of a query, and its sort.
pub(super) struct Planner {
    pub(super) indexes: Vec<IndexDeclaration>,
    /// The keys, and whether they are descending.
    pub(super) sort: Vec<(String, bool)>,
    /// The keys of the sort that are arrays, or inside of one.
    pub(super) arrays: Vec<String>,
    /// The collation of the query, and the default one of the collection; `None` for the simple one.
    pub(super) collation: Option<Document>,
    pub(super) default: Option<Document>,
    /// The field of the kind of the model, which an index attribute cannot name.
    pub(super) kind: Option<&'static str>,
}

/// The use of an index, and how it compares with that of others.
struct Candidate {
    used: IndexUse,
    /// Whether at most one document has the values.
    is_one: bool,
    keys: usize,
}

impl Candidate {
    /// Greater for the better one: equality, then sort, then range.
    fn rank(&self) -> impl Ord + use<> {
        (
            self.is_one,
            self.used.is_selective(),
            self.used.prefix,
            self.used.equality.len(),
            self.used.is_sorted,
            self.used.range.len(),
            Reverse(self.keys),
        )
    }
}

impl Planner {
    /// The choices of the alternatives of a condition, which these conditions surround.
    pub(super) fn branches(&self, node: &Node, outer: &[Condition<'_>]) -> Vec<IndexBranch> {
        let all = node.conjunction();
        let conditions: Vec<Condition<'_>> = outer
            .iter()
            .cloned()
            // The elements of the inner conditions are others.
            .map(|condition| Condition {
                element: if condition.element == 0 {
                    0
                } else {
                    condition.element + (1 << 16)
                },
                ..condition
            })
            .chain(all.conditions.iter().cloned())
            .collect();
        let mut best = self.best(&conditions);
        if let Some(best) = &mut best
            && best.is_one
            && best.used.name == "_id_"
        {
            // A server reads one document by its id, and sorts nothing.
            best.used.is_sorted |= outer.is_empty();
        }
        if let Some(best) = best.as_ref().filter(|best| best.used.is_selective()) {
            return vec![IndexBranch::Index(best.used.clone())];
        }
        let mut scanned = None;
        for alternatives in &all.disjunctions {
            let branches: Vec<IndexBranch> = alternatives
                .iter()
                .flat_map(|alternative| self.branches(alternative, &conditions))
                .collect();
            if branches
                .iter()
                .all(|branch| matches!(branch, IndexBranch::Index(used) if used.is_selective()))
            {
                return branches;
            }
            scanned.get_or_insert(branches);
        }
        match (best, scanned) {
            (Some(best), _) => vec![IndexBranch::Index(best.used)],
            (None, Some(branches)) => branches,
            (None, None) => vec![IndexBranch::CollectionScan {
                suggestion: self.suggestion(&conditions),
            }],
        }
    }

    fn best(&self, conditions: &[Condition<'_>]) -> Option<Candidate> {
        let candidates = self
            .indexes
            .iter()
            .filter_map(|index| self.candidate(index, conditions));
        // The first one of equal ones.
        candidates.reduce(|best, next| if next.rank() > best.rank() { next } else { best })
    }

    /// The use of an index, if it selects or sorts the documents.
    fn candidate(&self, index: &IndexDeclaration, conditions: &[Condition<'_>]) -> Option<Candidate> {
        let is_set = |option: &str| index.options.get(option).is_some_and(is_truthy);
        let is_sparse = is_set("sparse");
        let collation = match index.options.get("collation") {
            Some(Bson::Document(collation)) => normal_collation(collation),
            _ => self.default.clone(),
        };
        let is_same_collation = collation == self.collation;
        if index.error.is_some() || is_set("hidden") || !index.has_all_of(conditions, is_same_collation) {
            return None;
        }
        let keys = Keys {
            index,
            is_same_collation,
            is_simple: collation.is_none(),
            is_sparse,
            conditions,
            arrays: &self.arrays,
        };
        let sorted = (keys.is_same_collation || self.sort.is_empty())
            .then(|| keys.used(&self.sort))
            .flatten();
        // Such an index does not have all documents, or is read by one operator only.
        let lacks = |key: &Key| match key.kind {
            Kind::Text { .. } => true,
            Kind::Sphere => keys.condition(key, None).is_none(),
            _ => false,
        };
        if index.keys.iter().any(lacks) {
            return None;
        }
        let mut used = match sorted {
            Some(used) => used,
            None => IndexUse {
                is_sorted: false,
                suggestion: self
                    .suggestion(conditions)
                    .filter(|other| *other != index.attribute()),
                ..keys.used(&[])?
            },
        };
        if used.prefix == 0 {
            return None;
        }
        if is_sparse && !used.is_selective() {
            return None;
        }
        used.name = index.index_name();
        let is_one = is_set("unique")
            && keys.is_same_collation
            && index.keys.iter().all(|key| {
                let is_value = |condition: &&Condition<'_>| condition.op.bounds() == Bounds::Value;
                keys.condition(key, None).filter(is_value).is_some()
            });
        Some(Candidate {
            used,
            is_one,
            keys: index.keys.len(),
        })
    }

    /// The attribute of an index for conditions and the sort.
    fn suggestion(&self, conditions: &[Condition<'_>]) -> Option<String> {
        let mut keys: Vec<(&str, String)> = Vec::new();
        let mut add = |path, key: String| {
            if self.kind != Some(path) && !keys.iter().any(|(known, _)| *known == path) {
                keys.push((path, key));
            }
        };
        let with = |wanted: &'static [Bounds]| {
            let is_wanted = move |condition: &&Condition<'_>| wanted.contains(&condition.op.bounds());
            conditions
                .iter()
                .filter(is_wanted)
                .map(|condition| &*condition.path)
        };
        with(&[Bounds::Value, Bounds::Values]).for_each(|path| add(path, path.to_owned()));
        with(&[Bounds::Region]).for_each(|path| add(path, format!("geo({path})")));
        for (path, is_descending) in &self.sort {
            let sign = if *is_descending { "-" } else { "" };
            add(path, format!("{sign}{path}"));
        }
        with(&[Bounds::Range])
            .take(1)
            .for_each(|path| add(path, path.to_owned()));
        let is_only_id = keys.iter().all(|(path, _)| *path == "_id");
        let names: Vec<String> = keys.into_iter().map(|(_, key)| key).collect();
        (!is_only_id).then(|| format!("index({})", names.join(", ")))
    }
}

impl IndexUse {
    fn is_selective(&self) -> bool {
        !self.equality.is_empty() || !self.range.is_empty()
    }
}

/// The keys of an index, with the conditions of a query.
struct Keys<'k> {
    index: &'k IndexDeclaration,
    is_same_collation: bool,
    /// Whether the index compares strings by their bytes.
    is_simple: bool,
    is_sparse: bool,
    conditions: &'k [Condition<'k>],
    arrays: &'k [String],
}

impl<'k> Keys<'k> {
    /// The condition that selects values of the key: on a value before several ones before a range. `within`: the element that
    /// the condition of another key of the same array matches.
    fn condition(&self, key: &Key, within: Option<usize>) -> Option<&'k Condition<'k>> {
        let base = key.path.strip_suffix("$**");
        let is_on = |path: &str| match base {
            None => path == key.path,
            Some("") => path != "_id",
            Some(base) => path.starts_with(base) || path == base.trim_end_matches('.'),
        };
        let rank = |condition: &Condition<'_>| match condition.op.bounds() {
            Bounds::Value => 0,
            Bounds::Values => 1,
            Bounds::Range | Bounds::Region => 2,
            Bounds::None => 3,
        };
        let usable = self.conditions.iter().filter(|condition| {
            // Null is not one of the entries of an array that an index finds by the others.
            let is_null_of_array = matches!(condition.op, Op::Ne(Bson::Null))
                && !key.arrays.is_empty()
                && condition.element == 0;
            is_on(&condition.path)
                && !is_null_of_array
                && self.serves(&key.kind, condition.op)
                && within.is_none_or(|element| element != 0 && condition.element == element)
        });
        usable.min_by_key(|condition| rank(condition))
    }

    /// Whether a key of this kind selects the documents of a condition.
    fn serves(&self, kind: &Kind, op: &Op) -> bool {
        let is_served = match (kind, op.bounds()) {
            (Kind::Sphere, bounds) => return bounds == Bounds::Region,
            (Kind::Text { .. }, _) | (_, Bounds::None | Bounds::Region) => false,
            (Kind::Hashed, bounds) => {
                matches!(op, Op::Is(_) | Op::Eq(_) | Op::In(_)) && bounds != Bounds::Range
            }
            // The projection of the fields that the index has is not read.
            (Kind::Wildcard, _) if self.index.options.contains_key("wildcardProjection") => false,
            (Kind::Wildcard, _) => !op.matches_missing() && !op.compared().iter().any(is_container),
            (Kind::Ascending | Kind::Descending, _) => true,
        };
        let is_regex = |value: &Bson| matches!(value, Bson::RegularExpression(_));
        let is_regex = matches!(op, Op::Regex(_)) || op.compared().iter().any(is_regex);
        is_served
            && !(self.is_sparse && op.matches_missing())
            && (self.is_simple || !is_regex)
            && (self.is_same_collation || !is_regex && !is_compared_by_collation(op))
    }

    /// How the index serves the query, sorted by these keys. `None` if it does not sort by them.
    fn used(&self, sort: &[(String, bool)]) -> Option<IndexUse> {
        let without_fixed_keys = self.used_by(sort, true);
        // An index can also be read as a whole for a sort that names all of its keys.
        without_fixed_keys.or_else(|| self.used_by(sort, false))
    }

    /// `leaves_out`: whether keys of the sort with one value are left out.
    fn used_by(&self, sort: &[(String, bool)], leaves_out: bool) -> Option<IndexUse> {
        let is_fixed = |path: &str| {
            if !leaves_out {
                return false;
            }
            let is_value = |condition: &Condition<'_>| condition.op.bounds() == Bounds::Value;
            let mut conditions = self.conditions.iter();
            !self.arrays.iter().any(|array| array == path)
                && conditions.any(|condition| condition.path == path && is_value(condition))
        };
        let mut rest = sort.iter().filter(|(path, _)| !is_fixed(path)).peekable();
        let is_sorting = rest.peek().is_some();
        let mut used = IndexUse {
            name: String::new(),
            prefix: 0,
            equality: Vec::new(),
            sort: Vec::new(),
            range: Vec::new(),
            is_sorted: true,
            suggestion: None,
        };
        // Whether the index is read backwards, once a key of the sort is known.
        let mut is_reversed = None;
        let mut is_bounded = true;
        let has_arrays = self.index.keys.iter().any(|key| !key.arrays.is_empty());
        let mut merged: usize = 1;
        let mut elements: Vec<(&str, usize)> = Vec::new();
        for key in &self.index.keys {
            let array = key.arrays.first();
            let other = array.and_then(|array| elements.iter().find(|(known, _)| known == array));
            // An index whose first key has no condition is read as a whole.
            let condition = self.condition(key, other.map(|(_, element)| *element));
            let condition = condition.filter(|_| is_bounded);
            let bounds = condition.map_or(Bounds::None, |condition| condition.op.bounds());
            if let (Some(array), Some(condition)) = (array, condition) {
                elements.push((array, condition.element));
            }
            if let (Bounds::Values, Some(Op::In(values))) = (bounds, condition.map(|condition| condition.op))
            {
                merged = merged.saturating_mul(values.len());
            }
            if bounds == Bounds::Value {
                used.equality.push(key.path.clone());
            } else if let Some((_, is_descending)) = rest.next_if(|next| {
                // An index of arrays sorts only by keys of which all values are read.
                is_key_of_sort(key, &next.0) && (bounds == Bounds::None || !has_arrays)
            }) {
                let is_against = *is_descending != matches!(key.kind, Kind::Descending);
                if *is_reversed.get_or_insert(is_against) != is_against {
                    return None;
                }
                used.sort.push(key.path.clone());
                if bounds != Bounds::None {
                    used.range.push(key.path.clone());
                }
            } else if bounds == Bounds::Values && used.sort.iter().any(|path| used.range.contains(path)) {
                // The server merges sorted parts of the index only if all keys before have single values.
                if rest.peek().is_some() {
                    return None;
                }
                used.range.push(key.path.clone());
            } else if bounds == Bounds::Values && !(is_sorting && merged > MERGED) {
                used.equality.push(key.path.clone());
            } else {
                if bounds != Bounds::None {
                    used.range.push(key.path.clone());
                    used.prefix += 1;
                }
                break;
            }
            used.prefix += 1;
            is_bounded = used.is_selective();
            if matches!(key.kind, Kind::Wildcard) {
                break;
            }
        }
        // A key of the sort with one value is left out only if the bounds of the index are that value.
        let is_in_bounds = |path: &String| !is_fixed(path) || used.equality.contains(path);
        (rest.peek().is_none() && sort.iter().all(|(path, _)| is_in_bounds(path))).then_some(used)
    }
}

/// Whether a key sorts the documents by the path. The entries of an array are not in the order of the documents.
fn is_key_of_sort(key: &Key, path: &str) -> bool {
    matches!(key.kind, Kind::Ascending | Kind::Descending) && key.arrays.is_empty() && key.path == path
}

/// Whether a collation changes which values the operator finds.
fn is_compared_by_collation(op: &Op) -> bool {
    match op {
        Op::All(values) => values.iter().any(is_collated),
        Op::AllElements(_) => true,
        _ => op.compared().iter().any(is_collated),
    }
}

/// Whether a collation changes how a value is compared.
fn is_collated(value: &Bson) -> bool {
    matches!(value, Bson::String(_) | Bson::Symbol(_)) || is_container(value)
}

fn is_container(value: &Bson) -> bool {
    matches!(value, Bson::Document(_) | Bson::Array(_))
}

impl IndexDeclaration {
    /// Whether a partial index has all documents that match the conditions.
    fn has_all_of(&self, conditions: &[Condition<'_>], is_same_collation: bool) -> bool {
        match (self.options.get("partialFilterExpression"), &self.partial) {
            (None, _) => true,
            (Some(Bson::Document(sent)), Some(partial)) => {
                // An option that replaced the filter is not read.
                let mut collated = false;
                let _ = partial.each(&mut |seen, _| {
                    collated |=
                        matches!(seen, Seen::Leaf(leaf) if leaf.op.compared().iter().any(is_collated));
                    ControlFlow::Continue(())
                });
                partial.to_document() == *sent
                    && (is_same_collation || !collated)
                    && is_implied(partial, conditions)
            }
            (Some(_), _) => false,
        }
    }
}

/// Whether every document that matches the conditions matches the filter.
fn is_implied(filter: &Node, conditions: &[Condition<'_>]) -> bool {
    match filter {
        Node::Default | Node::Everything => true,
        Node::Leaf(leaf) => conditions.iter().any(|condition| {
            condition.element == 0 && condition.path == leaf.path && implies(condition.op, &leaf.op)
        }),
        Node::Fields(parts) | Node::All(parts) => parts.iter().all(|part| is_implied(part, conditions)),
        Node::Any(parts) => parts.iter().any(|part| is_implied(part, conditions)),
        Node::Nor(_) | Node::Expr(_) | Node::Text(_) | Node::Raw(_) => false,
    }
}

/// Whether every value that matches the first operator matches the second one.
fn implies(known: &Op, wanted: &Op) -> bool {
    if known == wanted {
        return true;
    }
    let is = |a: &Bson, b: &Bson, orderings: &[Ordering]| {
        compare(&number(a), &number(b)).is_some_and(|ordering| orderings.contains(&ordering))
    };
    let (less, more, equal) = (Ordering::Less, Ordering::Greater, Ordering::Equal);
    let has = |value: &Bson, wanted: &Op| match wanted {
        Op::Is(other) | Op::Eq(other) => number(value) == number(other),
        Op::In(others) => others.iter().any(|other| number(value) == number(other)),
        Op::Gt(bound) => is(value, bound, &[more]),
        Op::Gte(bound) => is(value, bound, &[more, equal]),
        Op::Lt(bound) => is(value, bound, &[less]),
        Op::Lte(bound) => is(value, bound, &[less, equal]),
        _ => false,
    };
    match (known, wanted) {
        (_, Op::Exists(true)) => !known.matches_missing() && known.bounds() != Bounds::None,
        (Op::Is(Bson::RegularExpression(_)), _) => false,
        (Op::Is(value) | Op::Eq(value), _) => has(value, wanted),
        (Op::In(values), _) => !values.is_empty() && values.iter().all(|value| has(value, wanted)),
        (Op::Gt(known), Op::Gt(bound) | Op::Gte(bound)) => is(known, bound, &[more, equal]),
        (Op::Gte(known), Op::Gt(bound)) => is(known, bound, &[more]),
        (Op::Gte(known), Op::Gte(bound)) => is(known, bound, &[more, equal]),
        (Op::Lt(known), Op::Lt(bound) | Op::Lte(bound)) => is(known, bound, &[less, equal]),
        (Op::Lte(known), Op::Lt(bound)) => is(known, bound, &[less]),
        (Op::Lte(known), Op::Lte(bound)) => is(known, bound, &[less, equal]),
        _ => false,
    }
}
