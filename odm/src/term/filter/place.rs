//! Conditions inside arrays. Conditions on an enum variant, on a range and on the elements of an
//! array of arrays must match the same element, so they are wrapped in an `$elemMatch`.

use std::borrow::Cow;

use crate::{
    ast::filter::{Element, Mark, Node, Op},
    base::error::{Error, Result},
    path::{Implied, RawPath},
};

/// Which elements of the innermost array of a path several operators match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    /// Each operator can match another one.
    Any,
    /// All operators match the same one.
    Same,
}

/// The place of operators of which each occurs once.
pub(super) struct Condition<'a> {
    pub(super) path: &'a RawPath,
    /// Whether the value at the path is an array itself.
    pub(super) value_is_array: bool,
    pub(super) mark: Mark,
    pub(super) elements: Elements,
}

impl Condition<'_> {
    /// The filter for operators, with conditions for the enum variants that the path goes through.
    ///
    /// A tag inside an array must be in the same element as the field, so both are in one `$elemMatch`
    /// on the innermost array around the variant. A negated operator matches if no element matches the
    /// condition that it negates, so that its `$elemMatch` is negated.
    pub(super) fn of(&self, ops: Vec<Op>) -> Result<Node> {
        if self.elements == Elements::Same {
            return self.on_one_element(ops);
        }
        if self.path.implied().iter().all(|i| i.arrays == 0) {
            return self.place(ops, None);
        }
        let (ops, negations) = without_negations(ops);
        let mut all = if ops.is_empty() && !negations.is_empty() {
            Node::Default
        } else {
            self.place(ops, None)?
        };
        for Negation { negation, negated } in negations {
            all = all.and(self.place(negated, Some(negation))?);
        }
        Ok(all)
    }

    /// The filter for operators, or for the negation of them.
    fn place(&self, ops: Vec<Op>, negation: Option<Op>) -> Result<Node> {
        let outside_matches_missing = match &negation {
            Some(negation) => negation.matches_missing(),
            None => match_missing(&ops),
        };
        let implied: Vec<&Implied> = self
            .path
            .implied()
            .iter()
            .filter(|i| match (i.tag, i.arrays) {
                (Some(_), _) => true,
                (None, 0) => outside_matches_missing,
                (None, _) => match_missing(&ops) || !is_simple(&ops),
            })
            .collect();
        let is_inside = implied.iter().any(|i| i.arrays > 0);
        let placement = self.placement(implied, 0);
        match negation {
            None => placement.place(ops),
            Some(negation) if !is_inside => placement.place(vec![negation]),
            Some(_) => Placement {
                negated: true,
                ..placement
            }
            .place(ops),
        }
    }

    /// The filter for operators that must all match the same element of the innermost array of the path.
    fn on_one_element(&self, ops: Vec<Op>) -> Result<Node> {
        let implied = self.path.implied().iter().filter(|i| i.tag.is_some());
        self.placement(implied.collect(), self.path.arrays().len())
            .place(ops)
    }

    fn placement<'p>(&'p self, implied: Vec<&'p Implied>, together: usize) -> Placement<'p> {
        let arrays = self.path.arrays();
        let around = implied.iter().map(|i| i.arrays);
        let is_explicit = |(i, len): (usize, &usize)| {
            let repeated = |other: Option<usize>| other.and_then(|other| arrays.get(other)) == Some(len);
            repeated(i.checked_sub(1))
                || repeated(Some(i + 1))
                || self.path.is_explicit(*len)
                || (self.value_is_array && *len == self.path.dotted().len())
                || i + 1 == together
                || around.clone().any(|count| count == i + 1)
        };
        Placement {
            path: self.path,
            mark: self.mark,
            explicit: arrays.iter().enumerate().map(is_explicit).collect(),
            together: around.clone().max().unwrap_or(0).max(together),
            implied,
            negated: false,
        }
    }
}

/// The nesting of the conditions of a path.
struct Placement<'a> {
    path: &'a RawPath,
    mark: Mark,
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

impl Placement<'_> {
    fn place(&self, ops: Vec<Op>) -> Result<Node> {
        if self.explicit.contains(&true)
            && let Some(op) = ops.iter().find(|op| op.is_top_level_only())
        {
            return Err(Error::filter(
                self.path.dotted(),
                format!(
                    "`{}` is not supported inside `$elemMatch`, which a condition on an array element needs",
                    op.sent()
                ),
            ));
        }
        self.inside(0, ops)
    }

    /// The conditions inside the elements of the first `arrays` array levels; inside the document
    /// for 0.
    fn inside(&self, arrays: usize, ops: Vec<Op>) -> Result<Node> {
        let mut explicit = self.explicit.iter().enumerate().skip(arrays);
        let mut filter = match explicit.find(|(_, explicit)| **explicit) {
            None if arrays == 0 => Node::operators(self.path.name(), ops, self.mark),
            None => Node::operators(self.relative(self.path.dotted(), arrays), ops, self.mark),
            Some((array, _)) => {
                let key = self.relative(&self.path.dotted()[..self.path.arrays()[array]], arrays);
                let matching = |ops| {
                    let element = Element::of(self.inside(array + 1, ops)?)?;
                    let mark = element.mark();
                    Ok::<_, Error>((Op::ElemMatch(Box::new(element)), mark))
                };
                if array < self.together {
                    // The conditions of variants around the array are not negated.
                    let is_outermost = !self.explicit[..array].contains(&true);
                    let (op, mark) = matching(ops)?;
                    let is_negated = self.negated && is_outermost;
                    let op = if is_negated { Op::Not(vec![op]) } else { op };
                    Node::operators(key, vec![op], mark)
                } else {
                    let mut all = Node::Default;
                    for (is_negated, ops) in self.positive(ops)? {
                        let (op, mark) = matching(ops)?;
                        let op = if is_negated { Op::Not(vec![op]) } else { op };
                        all = all.and(Node::operators(key.clone(), vec![op], mark));
                    }
                    all
                }
            }
        };
        for variant in self.implied.iter().filter(|i| i.arrays == arrays) {
            filter = filter.and(Node::leaf(
                self.relative(&variant.key, arrays),
                variant.condition(),
            ));
        }
        Ok(filter)
    }

    /// A key relative to the elements of the first `arrays` array levels.
    fn relative(&self, key: &str, arrays: usize) -> Cow<'static, str> {
        let key = match arrays.checked_sub(1) {
            None => key,
            Some(innermost) => key[self.path.arrays()[innermost]..].trim_start_matches('.'),
        };
        Cow::Owned(key.to_owned())
    }

    /// Each operator without its negation, and whether it was negated.
    fn positive(&self, ops: Vec<Op>) -> Result<Vec<(bool, Vec<Op>)>> {
        let positive = |op: Op| {
            let Some(negated) = op.negated() else {
                return Ok((false, vec![op]));
            };
            if !matches!(op, Op::Not(_)) {
                return Ok((true, negated));
            }
            match &mut self.positive(negated)?[..] {
                [(is_negated, ops)] => Ok((!*is_negated, std::mem::take(ops))),
                _ => Err(Error::filter(
                    self.path.dotted(),
                    "`$not` of several operators is not supported for the elements of an array of arrays; negate each, or use \
                     `!` on the filter",
                )),
            }
        };
        ops.into_iter().map(positive).collect()
    }
}

/// An operator that matches an array if no element matches the operators that it negates.
struct Negation {
    negation: Op,
    negated: Vec<Op>,
}

/// Divides operators into those that are no negations, and negations.
fn without_negations(ops: Vec<Op>) -> (Vec<Op>, Vec<Negation>) {
    let (mut positive, others): (Vec<Op>, Vec<Op>) = ops.into_iter().partition(|op| op.negated().is_none());
    let mut negations = Vec::new();
    for op in others {
        match twice_negated(&op) {
            Some(inner) if !positive.iter().any(|op| op.sent() == inner.sent()) => positive.push(inner),
            _ => negations.extend(op.negated().map(|negated| Negation {
                negation: op,
                negated,
            })),
        }
    }
    (positive, negations)
}

/// The operator that a negation of a negation is: `$not: {$ne: value}` is a condition that an element matches.
fn twice_negated(op: &Op) -> Option<Op> {
    let negated = op.negated()?;
    let [inner] = &negated[..] else { return None };
    let mut ops = inner.negated()?;
    let only = ops.pop().filter(|_| ops.is_empty())?;
    if only.negated().is_some() {
        twice_negated(&only)
    } else {
        Some(only)
    }
}

/// Whether the operators match an array if they match one of its elements: a single operator that
/// is not a negation.
fn is_simple(ops: &[Op]) -> bool {
    matches!(ops, [op] if !matches!(op, Op::Ne(_) | Op::Nin(_) | Op::Not(_)))
}

/// Whether the operators match a missing field, as `$ne` and `$exists: false` do.
fn match_missing(ops: &[Op]) -> bool {
    ops.iter().all(Op::matches_missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ast::filter::operators,
        base::bson::{Document, doc},
    };

    #[test]
    fn negations_are_divided_from_other_operators() {
        for (condition, positive, negations) in [
            (doc! { "$gt": 1, "$ne": 2 }, doc! { "$gt": 1 }, doc! { "$eq": 2 }),
            (doc! { "$not": { "$ne": 1 } }, doc! { "$eq": 1 }, doc! {}),
            // Another operator of this name is already there.
            (
                doc! { "$not": { "$ne": 1 }, "$eq": 2 },
                doc! { "$eq": 2 },
                doc! { "$ne": 1 },
            ),
            (
                doc! { "$not": { "$not": { "$ne": 1 } } },
                doc! {},
                doc! { "$not": { "$ne": 1 } },
            ),
            (
                doc! { "$not": { "$not": { "$not": { "$ne": 1 } } } },
                doc! { "$eq": 1 },
                doc! {},
            ),
        ] {
            let (found, others) = without_negations(operators(condition.clone()));
            let ops = |document: Document| {
                if document.is_empty() {
                    Vec::new()
                } else {
                    operators(document)
                }
            };
            assert_eq!(found, ops(positive), "{condition}");
            let negated: Vec<Op> = others.into_iter().flat_map(|other| other.negated).collect();
            assert_eq!(negated, ops(negations), "{condition}");
        }
    }

    #[test]
    fn operators_that_match_a_missing_field_are_recognized() {
        for condition in [
            doc! { "$ne": 1 },
            doc! { "$nin": [1] },
            doc! { "$exists": false },
            doc! { "$eq": null },
            doc! { "$in": [1, null] },
            doc! { "$not": { "$gt": 1 } },
            doc! { "$ne": 1, "$nin": [2] },
        ] {
            assert!(match_missing(&operators(condition.clone())), "{condition:?}");
        }
        for condition in [
            doc! { "$eq": 1 },
            doc! { "$ne": null },
            doc! { "$exists": true },
            doc! { "$in": [1] },
            doc! { "$nin": [null] },
            doc! { "$gt": 1, "$ne": 5 },
            doc! { "$type": "null" },
            doc! { "$size": 1 },
            doc! { "$mod": [2, 1] },
            doc! { "$geoWithin": {} },
        ] {
            assert!(!match_missing(&operators(condition.clone())), "{condition:?}");
        }
    }
}
