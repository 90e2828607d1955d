//! Index scans within bounds: which keys are examined, in which order, and which of them lie within
//! the bounds.

use super::clauses::{Clause, Predicate, clauses};
use super::intervals::Tightness;
use super::intervals::{Interval, bounds, intersect, is_subset};
use crate::query::Env;
use crate::storage::index::{Index, Kind};
use crate::storage::{Collection, RecordId};
use crate::value::compare::compare;
use crate::value::number::Number;
use bson::{Bson, Document, doc};
use std::cmp::Ordering;

/// A scan of one index with the bounds of one conjunction.
#[derive(Debug, Clone)]
pub(super) struct IndexScan<'c> {
    pub(super) index: &'c Index,
    /// One list per field of the index, ascending.
    pub(super) intervals: Vec<Vec<Interval>>,
    pub(super) forward: bool,
    /// Clauses to test on the key.
    pub(super) on_key: Vec<Clause>,
    /// Clauses to test on the document.
    pub(super) on_document: Vec<Clause>,
    /// Per field, the components of its path that hold an array in at least one document.
    multikey_paths: Vec<Vec<String>>,
}

/// A key within the bounds, and the number of keys examined up to and including it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) examined: u64,
    pub(super) id: RecordId,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) steps: Vec<Step>,
    pub(super) keys_examined: u64,
    pub(super) seeks: u64,
}

/// Returns whether the planner may use the index.
fn is_usable(index: &Index, clauses: &[Clause], env: &Env) -> bool {
    index.kind == Kind::Ordered
        && !index.hidden
        && index.collation == env.collation
        && is_implied(index, clauses)
}

/// Returns whether the conjunction matches only documents that a partial index contains.
fn is_implied(index: &Index, all: &[Clause]) -> bool {
    let Ok(expression) = index.spec.get_document("partialFilterExpression") else {
        return true;
    };
    clauses(expression).iter().all(|wanted| {
        let Some(wanted) = wanted.predicate() else {
            return false;
        };
        let same_path = || {
            all.iter()
                .filter_map(Clause::predicate)
                .filter(|predicate| predicate.path == wanted.path)
        };
        if wanted.operator == "$exists" && !wanted.negated {
            return same_path().any(requires_presence);
        }
        let Some((outer, _)) = bounds(wanted, true) else {
            return false;
        };
        same_path().any(|predicate| {
            bounds(predicate, true).is_some_and(|(inner, _)| !inner.is_empty() && is_subset(&inner, &outer))
        })
    })
}

/// Returns whether the predicate excludes documents that lack the path, as a sparse index does.
fn requires_presence(predicate: &Predicate) -> bool {
    let null = |value: &Bson| matches!(value, Bson::Null | Bson::Undefined);
    match (predicate.operator.as_str(), &predicate.value) {
        ("$exists", _) => !predicate.negated,
        ("$eq", value) => null(value) == predicate.negated,
        ("$in", Bson::Array(values)) => values.iter().any(null) == predicate.negated,
        ("$gte" | "$lte", value) if null(value) => false,
        _ => !predicate.negated,
    }
}

/// Returns the components of a path that hold an array in at least one document of the collection.
fn array_components(collection: &Collection, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('.').collect();
    (1..=parts.len())
        .map(|length| parts[..length].join("."))
        .filter(|prefix| {
            collection
                .records()
                .any(|(_, document)| passes_array(document, prefix))
        })
        .collect()
}

fn passes_array(document: &Document, path: &str) -> bool {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    match (document.get(first), rest) {
        (Some(Bson::Array(_)), None) => true,
        (Some(Bson::Document(inner)), Some(rest)) => passes_array(inner, rest),
        (Some(Bson::Array(items)), Some(rest)) => items
            .iter()
            .filter_map(Bson::as_document)
            .any(|inner| passes_array(inner, rest)),
        _ => false,
    }
}

impl<'c> IndexScan<'c> {
    /// Returns the scan of an index for a conjunction, or `None` if the index does not support the
    /// conjunction.
    pub(super) fn of_clauses(
        collection: &Collection,
        index: &'c Index,
        clauses: &[Clause],
        env: &Env,
    ) -> Option<IndexScan<'c>> {
        let scan = is_usable(index, clauses, env).then(|| IndexScan::build(collection, index, clauses))?;
        let pattern = index.key_pattern();
        let first = pattern.keys().next()?;
        let helped = |clause: &Clause| {
            let on_first = clause
                .predicate()
                .filter(|predicate| predicate.path == *first)
                .filter(|predicate| !index.sparse || requires_presence(predicate));
            on_first.is_some_and(|predicate| bounds(predicate, scan.is_multikey_field(0)).is_some())
        };
        clauses.iter().any(helped).then_some(scan)
    }

    /// Returns a scan of a whole index for its order, or `None` if the index may omit documents.
    pub(super) fn of_full_range(
        collection: &Collection,
        index: &'c Index,
        clauses: &[Clause],
        env: &Env,
    ) -> Option<IndexScan<'c>> {
        (is_usable(index, clauses, env) && !index.sparse)
            .then(|| IndexScan::build(collection, index, clauses))
    }

    /// Returns the scan of an index given as a hint.
    pub(super) fn of_hint(collection: &Collection, index: &'c Index, clauses: &[Clause]) -> IndexScan<'c> {
        IndexScan::build(collection, index, clauses)
    }

    fn build(collection: &Collection, index: &'c Index, clauses: &[Clause]) -> IndexScan<'c> {
        let pattern = index.key_pattern();
        let mut scan = IndexScan {
            index,
            intervals: Vec::new(),
            forward: true,
            on_key: Vec::new(),
            on_document: Vec::new(),
            multikey_paths: pattern
                .keys()
                .map(|path| array_components(collection, path))
                .collect(),
        };
        let mut covered = vec![None; clauses.len()];
        for (position, field) in pattern.keys().enumerate() {
            let multikey = scan.is_multikey_field(position);
            let mut list = vec![Interval::full_range()];
            let mut used = false;
            for (clause, covered) in clauses.iter().zip(&mut covered) {
                let found = clause
                    .predicate()
                    .filter(|predicate| predicate.path == *field)
                    .filter(|predicate| index.collation.is_none() || predicate.regex().is_none())
                    .and_then(|predicate| bounds(predicate, multikey));
                // On a multikey field, two predicates may match different elements, so bounds are
                // not intersected.
                if let Some((other, tightness)) = found.filter(|_| !multikey || !used) {
                    list = intersect(&list, &other);
                    *covered = Some(tightness);
                    used = true;
                }
            }
            if let Some(collation) = &index.collation {
                list.iter_mut().for_each(|interval| interval.fold(collation));
            }
            scan.intervals.push(list);
        }
        for (clause, tightness) in clauses.iter().zip(covered) {
            let on_a_field = clause
                .predicate()
                .is_some_and(|predicate| pattern.contains_key(&predicate.path) && !scan.is_multikey());
            match tightness {
                Some(Tightness::Exact) => {}
                Some(Tightness::Key) if !scan.is_multikey() => scan.on_key.push(clause.clone()),
                None if on_a_field && index.collation.is_none() => scan.on_key.push(clause.clone()),
                _ => scan.on_document.push(clause.clone()),
            }
        }
        scan
    }

    fn is_multikey_field(&self, position: usize) -> bool {
        self.multikey_paths
            .get(position)
            .is_some_and(|paths| !paths.is_empty())
    }

    pub(super) fn is_multikey(&self) -> bool {
        self.multikey_paths.iter().any(|paths| !paths.is_empty())
    }

    /// Returns whether the bounds of a field are a single value.
    pub(super) fn is_fixed(&self, position: usize) -> bool {
        matches!(self.intervals.get(position).map(Vec::as_slice), Some([only]) if only.is_point())
            && !self.is_multikey_field(position)
    }

    /// Sets the direction in which the scan provides the sort order. Returns false if neither
    /// direction does.
    pub(super) fn orient(&mut self, sort: &Document) -> bool {
        let pattern = self.index.key_pattern();
        let mut fields = pattern.iter().enumerate();
        let mut forward = None;
        'sort: for (path, direction) in sort {
            for (position, (field, own)) in fields.by_ref() {
                if field == path {
                    let narrowed = !self.intervals[position].iter().all(Interval::is_full_range);
                    if self.is_multikey_field(position) && narrowed {
                        return false;
                    }
                    let same = is_ascending(own) == is_ascending(direction);
                    if *forward.get_or_insert(same) != same {
                        return false;
                    }
                    continue 'sort;
                }
                if !self.is_fixed(position) {
                    return false;
                }
            }
            return false;
        }
        self.forward = forward.unwrap_or(true);
        true
    }

    /// Returns whether the key contains every path.
    pub(super) fn contains(&self, mut paths: impl Iterator<Item = String>) -> bool {
        let pattern = self.index.key_pattern();
        !self.is_multikey() && self.index.collation.is_none() && paths.all(|path| pattern.contains_key(&path))
    }

    /// Returns whether the bounds are one contiguous key range: points, then one interval, then
    /// full ranges.
    pub(super) fn is_single_range(&self) -> bool {
        let fixed = |list: &Vec<Interval>| matches!(list.as_slice(), [one] if one.is_point());
        let mut rest = self.intervals.iter().skip_while(|list| fixed(list));
        rest.next().is_none_or(|list| list.len() == 1)
            && rest.all(|list| matches!(list.as_slice(), [one] if one.is_full_range()))
    }

    /// Runs the scan.
    pub(super) fn run(&self) -> Scanned {
        let mut scanned = Scanned::default();
        if self.intervals.iter().any(Vec::is_empty) {
            return scanned;
        }
        let up = self.directions();
        let order = |a: &[Bson], b: &[Bson]| {
            let fields = a.iter().zip(b).zip(&up);
            fields
                .map(|((a, b), up)| directed(a, b, *up))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        };
        let mut keys: Vec<(&[Bson], RecordId)> = self
            .index
            .entries()
            .flat_map(|(key, ids)| ids.iter().map(|id| (key.0.as_slice(), *id)))
            .collect();
        keys.sort_by(|a, b| order(a.0, b.0));
        let range = self.is_single_range();
        let mut position = self.seek(&keys, 0, Place::Before(0), &up);
        scanned.seeks = 1;
        while let Some((key, id)) = keys.get(position) {
            let place = self.place(key, &up);
            // A contiguous range ends without examining another key. Other scans examine the key
            // after the last one.
            if range && place != Place::Within {
                break;
            }
            scanned.keys_examined += 1;
            match place {
                Place::Within => {
                    let examined = scanned.keys_examined;
                    scanned.steps.push(Step { examined, id: *id });
                    position += 1;
                }
                Place::Past(0) => break,
                place => {
                    scanned.seeks += 1;
                    position = self.seek(&keys, position, place, &up);
                }
            }
        }
        scanned
    }

    /// Per field, whether the scan visits its values in ascending order.
    fn directions(&self) -> Vec<bool> {
        let pattern = self.index.key_pattern();
        let directions = pattern.values();
        directions
            .map(|direction| is_ascending(direction) == self.forward)
            .collect()
    }

    /// Returns the position of the next key to examine, from a key outside the bounds.
    fn seek(&self, keys: &[(&[Bson], RecordId)], from: usize, place: Place, up: &[bool]) -> usize {
        let Some((current, _)) = keys.get(from) else {
            return from;
        };
        let field = match place {
            Place::Within => return from,
            // Skip to the next value of the fields before the one whose intervals are exhausted.
            Place::Past(field) => {
                let same = |key: &[Bson]| {
                    let mut fields = key.iter().zip(*current).take(field);
                    fields.all(|(a, b)| compare(a, b, None).is_eq())
                };
                return from + keys[from..].iter().take_while(|(key, _)| same(key)).count();
            }
            Place::Before(field) => field,
        };
        // The seek target: the same values, then the next interval, then the first interval of each
        // remaining field.
        let fields = self.intervals.iter().zip(current.iter().zip(up)).enumerate();
        let target: Vec<(&Bson, bool)> = fields
            .filter_map(|(position, (list, (value, up)))| {
                if position < field {
                    return Some((value, true));
                }
                let start = |interval: &'_ Interval| is_later(interval, value, *up);
                let found = match (position == field, *up) {
                    (true, true) => list.iter().find(|interval| start(interval)),
                    (true, false) => list.iter().rev().find(|interval| start(interval)),
                    (false, true) => list.first(),
                    (false, false) => list.last(),
                };
                found.or(list.first()).map(|interval| {
                    if *up {
                        (&interval.low, interval.low_inclusive)
                    } else {
                        (&interval.high, interval.high_inclusive)
                    }
                })
            })
            .collect();
        let precedes = |key: &[Bson]| {
            for ((value, (bound, inclusive)), up) in key.iter().zip(&target).zip(up) {
                match directed(value, bound, *up) {
                    Ordering::Less => return true,
                    Ordering::Greater => return false,
                    Ordering::Equal if !inclusive => return true,
                    Ordering::Equal => {}
                }
            }
            false
        };
        from + keys[from..].iter().take_while(|(key, _)| precedes(key)).count()
    }

    /// Locates a key relative to the bounds.
    fn place(&self, key: &[Bson], up: &[bool]) -> Place {
        for (field, ((value, list), up)) in key.iter().zip(&self.intervals).zip(up).enumerate() {
            let mut later = false;
            let mut within = false;
            for interval in list {
                let above_low = compare(value, &interval.low, None);
                let below_high = compare(value, &interval.high, None);
                let low = above_low.is_gt() || (above_low.is_eq() && interval.low_inclusive);
                let high = below_high.is_lt() || (below_high.is_eq() && interval.high_inclusive);
                within |= low && high;
                later |= is_later(interval, value, *up);
            }
            if !within {
                return if later {
                    Place::Before(field)
                } else {
                    Place::Past(field)
                };
            }
        }
        Place::Within
    }

    /// The index and bounds fields of an `IXSCAN`.
    pub(super) fn describe(&self, with_direction: bool) -> Document {
        let pattern = self.index.key_pattern();
        let mut shown = doc! {
            "keyPattern": pattern.clone(),
            "indexName": &self.index.name,
        };
        if let Some(collation) = &self.index.collation {
            shown.insert("collation", collation.to_document());
        }
        shown.insert("isMultiKey", self.is_multikey());
        let paths: Document = pattern
            .keys()
            .zip(&self.multikey_paths)
            .map(|(field, paths)| (field.clone(), Bson::from(paths.clone())))
            .collect();
        shown.extend(doc! {
            "multiKeyPaths": paths,
            "isUnique": self.index.unique,
            "isSparse": self.index.sparse,
            "isPartial": self.index.partial.is_some(),
            "indexVersion": 2,
        });
        if with_direction {
            shown.insert("direction", if self.forward { "forward" } else { "backward" });
        }
        let bounds: Document = pattern
            .iter()
            .zip(&self.intervals)
            .map(|((field, direction), list)| {
                let up = is_ascending(direction) == self.forward;
                let mut texts: Vec<String> = list.iter().map(|interval| interval.describe(up)).collect();
                if !up {
                    texts.reverse();
                }
                (field.clone(), Bson::from(texts))
            })
            .collect();
        shown.insert("indexBounds", bounds);
        shown
    }
}

/// The position of a key relative to the bounds, by the first field outside of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Within,
    /// The next interval of this field is ahead.
    Before(usize),
    /// All intervals of this field are behind.
    Past(usize),
}

/// Returns whether the interval starts after `value` in the direction of the scan.
fn is_later(interval: &Interval, value: &Bson, up: bool) -> bool {
    let (start, inclusive) = if up {
        (&interval.low, interval.low_inclusive)
    } else {
        (&interval.high, interval.high_inclusive)
    };
    match directed(value, start, up) {
        Ordering::Less => true,
        Ordering::Equal => !inclusive,
        Ordering::Greater => false,
    }
}

fn is_ascending(direction: &Bson) -> bool {
    Number::from_bson(direction).is_none_or(|direction| direction.to_f64() >= 0.0)
}

fn directed(a: &Bson, b: &Bson, up: bool) -> Ordering {
    if up {
        compare(a, b, None)
    } else {
        compare(b, a, None)
    }
}
