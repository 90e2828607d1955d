//! Intervals of index keys: the bounds of a predicate, and their text in `indexBounds`.

use super::clauses::Predicate;
use crate::value::collation::Collation;
use crate::value::compare::compare;
use crate::value::format;
use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Document, Timestamp};

/// The values from `low` to `high`.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    pub(super) low: Bson,
    pub(super) low_inclusive: bool,
    pub(super) high: Bson,
    pub(super) high_inclusive: bool,
}

impl PartialEq for Interval {
    fn eq(&self, other: &Interval) -> bool {
        (self.low_inclusive, self.high_inclusive) == (other.low_inclusive, other.high_inclusive)
            && compare(&self.low, &other.low, None).is_eq()
            && compare(&self.high, &other.high, None).is_eq()
    }
}

impl Interval {
    fn new(low: Bson, low_inclusive: bool, high: Bson, high_inclusive: bool) -> Interval {
        Interval {
            low,
            low_inclusive,
            high,
            high_inclusive,
        }
    }

    fn point(value: &Bson) -> Interval {
        Interval::new(value.clone(), true, value.clone(), true)
    }

    /// Replaces both ends with their collation keys.
    pub(super) fn fold(&mut self, collation: &Collation) {
        self.low = collation.fold(&self.low);
        self.high = collation.fold(&self.high);
    }

    pub(super) fn full_range() -> Interval {
        Interval::new(Bson::MinKey, true, Bson::MaxKey, true)
    }

    pub(super) fn is_point(&self) -> bool {
        self.low_inclusive && self.high_inclusive && compare(&self.low, &self.high, None).is_eq()
    }

    pub(super) fn is_full_range(&self) -> bool {
        *self == Interval::full_range()
    }

    fn is_empty(&self) -> bool {
        let order = compare(&self.low, &self.high, None);
        order.is_gt() || (order.is_eq() && !(self.low_inclusive && self.high_inclusive))
    }

    fn intersection(&self, other: &Interval) -> Interval {
        let (low, low_inclusive) = match compare(&self.low, &other.low, None) {
            order if order.is_gt() => (&self.low, self.low_inclusive),
            order if order.is_lt() => (&other.low, other.low_inclusive),
            _ => (&self.low, self.low_inclusive && other.low_inclusive),
        };
        let (high, high_inclusive) = match compare(&self.high, &other.high, None) {
            order if order.is_lt() => (&self.high, self.high_inclusive),
            order if order.is_gt() => (&other.high, other.high_inclusive),
            _ => (&self.high, self.high_inclusive && other.high_inclusive),
        };
        Interval::new(low.clone(), low_inclusive, high.clone(), high_inclusive)
    }

    /// The interval in the server's notation. The ends are exchanged for a backward scan.
    pub(super) fn describe(&self, forward: bool) -> String {
        let (open, close) = (
            if self.low_inclusive { '[' } else { '(' },
            if self.high_inclusive { ']' } else { ')' },
        );
        if forward {
            return format!("{open}{}, {}{close}", end(&self.low), end(&self.high));
        }
        let (open, close) = (
            if self.high_inclusive { '[' } else { '(' },
            if self.low_inclusive { ']' } else { ')' },
        );
        format!("{open}{}, {}{close}", end(&self.high), end(&self.low))
    }
}

/// One end of an interval in the server's notation.
fn end(value: &Bson) -> String {
    match value {
        Bson::MinKey => "MinKey".to_owned(),
        Bson::MaxKey => "MaxKey".to_owned(),
        Bson::Double(number) if number.is_nan() => "nan".to_owned(),
        Bson::Double(number) if number.is_infinite() => if *number > 0.0 { "inf" } else { "-inf" }.to_owned(),
        value => format::bson(value),
    }
}

/// The intersection of two lists of intervals.
pub(super) fn intersect(left: &[Interval], right: &[Interval]) -> Vec<Interval> {
    let mut both: Vec<Interval> = left
        .iter()
        .flat_map(|a| right.iter().map(|b| a.intersection(b)))
        .filter(|interval| !interval.is_empty())
        .collect();
    both.sort_by(|a, b| compare(&a.low, &b.low, None));
    both
}

/// The values outside a sorted list of intervals.
fn complement(list: &[Interval]) -> Vec<Interval> {
    let mut rest = Vec::new();
    let (mut low, mut inclusive) = (Bson::MinKey, true);
    for interval in list {
        rest.push(Interval::new(
            low,
            inclusive,
            interval.low.clone(),
            !interval.low_inclusive,
        ));
        (low, inclusive) = (interval.high.clone(), !interval.high_inclusive);
    }
    rest.push(Interval::new(low, inclusive, Bson::MaxKey, true));
    rest.retain(|interval| !interval.is_empty());
    rest
}

/// Returns whether every interval of `inner` lies within one of `outer`.
pub(super) fn is_subset(inner: &[Interval], outer: &[Interval]) -> bool {
    inner.iter().all(|interval| {
        outer
            .iter()
            .any(|other| interval.intersection(other) == *interval)
    })
}

/// How precisely the bounds represent a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tightness {
    /// Every key within the bounds matches.
    Exact,
    /// The predicate must be tested on the key.
    Key,
    /// The predicate must be tested on the document.
    Document,
}

/// Returns the index bounds of a predicate on its path, or `None` if an index does not support it.
pub(super) fn bounds(predicate: &Predicate, multikey: bool) -> Option<(Vec<Interval>, Tightness)> {
    let (list, tightness) = positive(predicate, multikey)?;
    if !predicate.negated {
        return Some((list, tightness));
    }
    match predicate.operator.as_str() {
        "$exists" => Some((vec![Interval::point(&Bson::Null)], Tightness::Document)),
        "$eq" | "$in" | "$gt" | "$gte" | "$lt" | "$lte" => {
            let tightness = if multikey || tightness != Tightness::Exact {
                Tightness::Document
            } else {
                Tightness::Exact
            };
            Some((complement(&list), tightness))
        }
        _ => None,
    }
}

fn positive(predicate: &Predicate, multikey: bool) -> Option<(Vec<Interval>, Tightness)> {
    let value = &predicate.value;
    match predicate.operator.as_str() {
        "$eq" => Some(equality(value)),
        "$in" => {
            let Bson::Array(values) = value else { return None };
            let mut all = (Vec::new(), Tightness::Exact);
            for value in values {
                if matches!(value, Bson::RegularExpression(_)) {
                    return None;
                }
                let (list, tightness) = equality(value);
                all.0.extend(list);
                all.1 = all.1.max(tightness);
            }
            all.0.sort_by(|a, b| compare(&a.low, &b.low, None));
            all.0.dedup();
            Some(all)
        }
        "$gt" | "$gte" | "$lt" | "$lte" => comparison(&predicate.operator, value),
        "$exists" => Some((vec![Interval::full_range()], Tightness::Document)),
        "$mod" => {
            let (low, high, _) = type_bounds(&Bson::Double(0.0))?;
            Some((vec![Interval::new(low, true, high, true)], Tightness::Key))
        }
        "$regex" => {
            let (pattern, options) = predicate.regex()?;
            let prefix = if options.is_empty() {
                literal_prefix(pattern)
            } else {
                None
            };
            let (strings, tightness) = match prefix {
                Some((prefix, is_literal)) => (
                    Interval::new(Bson::from(&prefix), true, Bson::from(successor(&prefix)?), false),
                    if is_literal {
                        Tightness::Exact
                    } else {
                        Tightness::Key
                    },
                ),
                None => (
                    Interval::new(Bson::from(""), true, Bson::Document(Document::new()), false),
                    Tightness::Key,
                ),
            };
            let regex = bson::Regex {
                pattern: pattern.try_into().ok()?,
                options: options.try_into().ok()?,
            };
            let itself = Interval::point(&Bson::RegularExpression(regex));
            Some((vec![strings, itself], tightness))
        }
        "$elemMatch" if multikey => {
            let Bson::Document(inner) = value else { return None };
            if !crate::query::parse::is_operators(inner) {
                return None;
            }
            let mut list = vec![Interval::full_range()];
            let mut helped = false;
            for clause in super::clauses::clauses(&bson::doc! { &predicate.path: inner.clone() }) {
                if let Some(found) = clause.predicate().and_then(|inner| bounds(inner, multikey)) {
                    list = intersect(&list, &found.0);
                    helped = true;
                }
            }
            helped.then_some((list, Tightness::Document))
        }
        _ => None,
    }
}

fn equality(value: &Bson) -> (Vec<Interval>, Tightness) {
    match value {
        Bson::Null => (vec![Interval::point(value)], Tightness::Document),
        // An array matches by its first element, or as an element of another array.
        Bson::Array(items) => {
            let first = items.first().unwrap_or(&Bson::Undefined);
            let mut list = vec![Interval::point(first), Interval::point(value)];
            list.sort_by(|a, b| compare(&a.low, &b.low, None));
            list.dedup();
            (list, Tightness::Document)
        }
        value => (vec![Interval::point(value)], Tightness::Exact),
    }
}

fn comparison(operator: &str, value: &Bson) -> Option<(Vec<Interval>, Tightness)> {
    let inclusive = operator.ends_with('e');
    let above = operator.starts_with("$gt");
    let interval = match value {
        Bson::MinKey | Bson::MaxKey if above => Interval::new(value.clone(), inclusive, Bson::MaxKey, true),
        Bson::MinKey | Bson::MaxKey => Interval::new(Bson::MinKey, true, value.clone(), inclusive),
        Bson::Null if inclusive => return Some((vec![Interval::point(value)], Tightness::Document)),
        Bson::Null => return Some((Vec::new(), Tightness::Exact)),
        value => {
            let (low, high, high_inclusive) = type_bounds(value)?;
            if above {
                Interval::new(value.clone(), inclusive, high, high_inclusive)
            } else {
                let low = match low {
                    Bson::Double(_) => Bson::Double(f64::NEG_INFINITY),
                    low => low,
                };
                Interval::new(low, true, value.clone(), inclusive)
            }
        }
    };
    let tightness = if matches!(value, Bson::Array(_)) {
        Tightness::Document
    } else {
        Tightness::Exact
    };
    let list = if interval.is_empty() {
        Vec::new()
    } else {
        vec![interval]
    };
    Some((list, tightness))
}

/// The minimum and maximum of the type of `value`, and whether the maximum is inclusive.
fn type_bounds(value: &Bson) -> Option<(Bson, Bson, bool)> {
    let no_bytes = || {
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: Vec::new(),
        })
    };
    let timestamp = |word| {
        Bson::Timestamp(Timestamp {
            time: word,
            increment: word,
        })
    };
    Some(match value {
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => {
            (Bson::Double(f64::NAN), Bson::Double(f64::INFINITY), true)
        }
        Bson::String(_) | Bson::Symbol(_) => (Bson::from(""), Bson::Document(Document::new()), false),
        Bson::Document(_) => (Bson::Document(Document::new()), Bson::Array(Vec::new()), false),
        Bson::Array(_) => (Bson::Array(Vec::new()), no_bytes(), false),
        Bson::Binary(_) => (no_bytes(), Bson::ObjectId(ObjectId::from_bytes([0; 12])), false),
        Bson::ObjectId(_) => (
            Bson::ObjectId(ObjectId::from_bytes([0; 12])),
            Bson::ObjectId(ObjectId::from_bytes([0xff; 12])),
            true,
        ),
        Bson::Boolean(_) => (Bson::Boolean(false), Bson::Boolean(true), true),
        Bson::DateTime(_) => (Bson::DateTime(DateTime::MIN), Bson::DateTime(DateTime::MAX), true),
        Bson::Timestamp(_) => (timestamp(0), timestamp(u32::MAX), true),
        _ => return None,
    })
}

/// Returns the literal prefix of an anchored pattern, and whether the pattern consists of the
/// prefix only.
fn literal_prefix(pattern: &str) -> Option<(String, bool)> {
    let rest = pattern.strip_prefix('^')?;
    if rest.contains('|') {
        return None;
    }
    let special = |c: char| "\\^$.[]()?*+{}".contains(c);
    let mut prefix: String = rest.chars().take_while(|c| !special(*c)).collect();
    let after = &rest[prefix.len()..];
    // A quantifier applies to the preceding character.
    if after.starts_with(['?', '*', '{']) {
        prefix.pop();
    }
    let is_literal = after.is_empty();
    (!prefix.is_empty()).then_some((prefix, is_literal))
}

/// The least string greater than every string with the prefix.
fn successor(prefix: &str) -> Option<String> {
    let mut kept = prefix.to_owned();
    while let Some(last) = kept.pop() {
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            kept.push(next);
            return Some(kept);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::clauses::clauses;
    use bson::doc;

    fn described(test: Bson) -> Vec<String> {
        let filter = doc! { "a": test };
        let mut list = vec![Interval::full_range()];
        for clause in clauses(&filter) {
            list = intersect(&list, &bounds(clause.predicate().unwrap(), false).unwrap().0);
        }
        list.iter().map(|interval| interval.describe(true)).collect()
    }

    #[test]
    fn predicates_give_intervals() {
        assert_eq!(described(5.into()), ["[5, 5]"]);
        assert_eq!(described(doc! { "$gt": 5, "$lte": 9.5 }.into()), ["(5, 9.5]"]);
        assert_eq!(described(doc! { "$gt": 5 }.into()), ["(5, inf]"]);
        assert_eq!(described(doc! { "$lt": 5 }.into()), ["[-inf, 5)"]);
        assert_eq!(described(doc! { "$gte": "x" }.into()), ["[\"x\", {})"]);
        assert_eq!(described(doc! { "$in": [3, 1] }.into()), ["[1, 1]", "[3, 3]"]);
        assert_eq!(
            described(doc! { "$ne": 3 }.into()),
            ["[MinKey, 3)", "(3, MaxKey]"]
        );
        assert_eq!(
            described(doc! { "$regex": "^ab" }.into()),
            ["[\"ab\", \"ac\")", "[/^ab/, /^ab/]"]
        );
        assert_eq!(described(doc! { "$exists": true }.into()), ["[MinKey, MaxKey]"]);
    }

    #[test]
    fn intervals_are_described_in_the_direction_of_the_scan() {
        let interval = Interval::new(Bson::Int32(1), true, Bson::Int32(5), false);
        assert_eq!(interval.describe(false), "(5, 1]");
    }

    #[test]
    fn literal_prefixes_of_patterns() {
        assert_eq!(literal_prefix("^abc"), Some(("abc".to_owned(), true)));
        assert_eq!(literal_prefix("^abc?d"), Some(("ab".to_owned(), false)));
        assert_eq!(literal_prefix("^a|b"), None);
        assert_eq!(literal_prefix("abc"), None);
    }
}
