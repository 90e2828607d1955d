//! The operators of a condition, and what they have in common with others.

#![deny(clippy::wildcard_enum_match_arm)]

use std::slice;

use super::element::Element;
use super::node::Truth;
use super::raw;
use crate::base::bson::{Bson, Document, doc};

/// An operator with its operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    /// `{path: value}`. A document is one of which not every name starts with `$`.
    Is(Bson),
    Eq(Bson),
    Ne(Bson),
    Gt(Bson),
    Gte(Bson),
    Lt(Bson),
    Lte(Bson),
    In(Vec<Bson>),
    Nin(Vec<Bson>),
    Exists(bool),
    Type(&'static str),
    Regex(Box<Regex>),
    Mod(i64, i64),
    All(Vec<Bson>),
    /// `$all` of an `$elemMatch` of each value: for values that `$all` does not compare the elements with.
    AllElements(Vec<Bson>),
    Size(i64),
    Bits(Bits, i64),
    Geo(Geo, Bson),
    ElemMatch(Box<Element>),
    /// Not all of these match.
    Not(Vec<Op>),
    /// A search in an encrypted string, which is sent as `$expr`.
    EncryptedText(Part, String),
    /// An operator of a raw condition that has no variant here.
    Raw(Box<(String, Bson)>),
}

/// The operands of `$regex` and `$options`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Regex {
    pub(crate) pattern: Bson,
    pub(crate) options: Option<Bson>,
}

/// Which bits of the mask are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    AllSet,
    AnySet,
    AllClear,
    AnyClear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Geo {
    Within,
    Intersects,
    NearSphere,
}

/// The part of an encrypted string that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Prefix,
    Suffix,
    Substring,
}

/// How an index selects the documents of a condition on its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// By one value.
    Value,
    /// By several values.
    Values,
    /// By ranges of values.
    Range,
    /// By a region.
    Region,
    /// Not at all, or by all of its entries.
    None,
}

/// The operand of an operator, for the questions about it.
enum Operand<'a> {
    /// Values of which the field must be equal to one.
    Equal(&'a [Bson]),
    /// Values that the field must be different from, or that are compared by order.
    Compared(&'a [Bson]),
    /// Whether the field is present, or its type.
    Presence,
    Negated(&'a [Op]),
    Raw(&'a str, &'a Bson),
    /// A condition of another kind.
    Condition,
}

impl Op {
    /// The name of the operator. Empty for [`Op::Is`].
    pub(crate) fn sent(&self) -> &str {
        match self {
            Op::Is(_) => "",
            Op::Eq(_) => "$eq",
            Op::Ne(_) => "$ne",
            Op::Gt(_) => "$gt",
            Op::Gte(_) => "$gte",
            Op::Lt(_) => "$lt",
            Op::Lte(_) => "$lte",
            Op::In(_) => "$in",
            Op::Nin(_) => "$nin",
            Op::Exists(_) => "$exists",
            Op::Type(_) => "$type",
            Op::Regex(_) => "$regex",
            Op::Mod(..) => "$mod",
            Op::All(_) | Op::AllElements(_) => "$all",
            Op::Size(_) => "$size",
            Op::Bits(Bits::AllSet, _) => "$bitsAllSet",
            Op::Bits(Bits::AnySet, _) => "$bitsAnySet",
            Op::Bits(Bits::AllClear, _) => "$bitsAllClear",
            Op::Bits(Bits::AnyClear, _) => "$bitsAnyClear",
            Op::Geo(Geo::Within, _) => "$geoWithin",
            Op::Geo(Geo::Intersects, _) => "$geoIntersects",
            Op::Geo(Geo::NearSphere, _) => "$nearSphere",
            Op::ElemMatch(_) => "$elemMatch",
            Op::Not(_) => "$not",
            Op::EncryptedText(Part::Prefix, _) => "$encStrStartsWith",
            Op::EncryptedText(Part::Suffix, _) => "$encStrEndsWith",
            Op::EncryptedText(Part::Substring, _) => "$encStrContains",
            Op::Raw(raw) => &raw.0,
        }
    }

    /// Whether the condition has a value in place of operators.
    pub(crate) fn is_value(&self) -> bool {
        matches!(self, Op::Is(_))
    }

    /// Whether the condition is sent as `$expr`.
    pub(crate) fn is_expression(&self) -> bool {
        matches!(self, Op::EncryptedText(..))
    }

    /// The operator that matches exactly the values that this one does not match. `$not` has one if it
    /// negates a single operator. The server has no `$ne` of a regular expression.
    pub(crate) fn opposite(&self) -> Option<Op> {
        match self {
            Op::Eq(Bson::RegularExpression(_)) => None,
            Op::Eq(value) => Some(Op::Ne(value.clone())),
            Op::Ne(value) => Some(Op::Eq(value.clone())),
            Op::In(values) => Some(Op::Nin(values.clone())),
            Op::Nin(values) => Some(Op::In(values.clone())),
            Op::Exists(present) => Some(Op::Exists(!present)),
            Op::Not(ops) => match &ops[..] {
                [op] => Some(op.clone()),
                [] | [_, _, ..] => None,
            },
            Op::Is(_)
            | Op::Gt(_)
            | Op::Gte(_)
            | Op::Lt(_)
            | Op::Lte(_)
            | Op::Type(_)
            | Op::Regex(_)
            | Op::Mod(..)
            | Op::All(_)
            | Op::AllElements(_)
            | Op::Size(_)
            | Op::Bits(..)
            | Op::Geo(..)
            | Op::ElemMatch(_)
            | Op::EncryptedText(..)
            | Op::Raw(_) => None,
        }
    }

    /// The operators that a negation negates: it matches an array if no element matches them.
    pub(crate) fn negated(&self) -> Option<Vec<Op>> {
        if let Op::Not(ops) = self {
            return Some(ops.clone());
        }
        let is_negation = matches!(self, Op::Ne(_) | Op::Nin(_) | Op::Exists(false));
        self.opposite().filter(|_| is_negation).map(|op| vec![op])
    }

    fn operand(&self) -> Operand<'_> {
        match self {
            Op::Is(Bson::RegularExpression(_)) => Operand::Condition,
            Op::Is(value) | Op::Eq(value) => Operand::Equal(slice::from_ref(value)),
            Op::In(values) => Operand::Equal(values),
            Op::Ne(value) | Op::Gt(value) | Op::Gte(value) | Op::Lt(value) | Op::Lte(value) => {
                Operand::Compared(slice::from_ref(value))
            }
            Op::Nin(values) => Operand::Compared(values),
            Op::Exists(_) | Op::Type(_) => Operand::Presence,
            Op::Not(ops) => Operand::Negated(ops),
            Op::Raw(raw) => Operand::Raw(&raw.0, &raw.1),
            Op::Regex(_)
            | Op::Mod(..)
            | Op::All(_)
            | Op::AllElements(_)
            | Op::Size(_)
            | Op::Bits(..)
            | Op::Geo(..)
            | Op::ElemMatch(_)
            | Op::EncryptedText(..) => Operand::Condition,
        }
    }

    /// Whether the operator can match a missing field, as `$ne` and `$exists: false` do.
    pub(crate) fn matches_missing(&self) -> bool {
        match self {
            Op::Eq(value) | Op::Gt(value) | Op::Gte(value) | Op::Lt(value) | Op::Lte(value) => {
                *value == Bson::Null
            }
            Op::Ne(value) => *value != Bson::Null,
            Op::In(values) => values.contains(&Bson::Null),
            Op::Nin(values) => !values.contains(&Bson::Null),
            Op::Exists(present) => !present,
            Op::Type(_)
            | Op::Regex(_)
            | Op::All(_)
            | Op::AllElements(_)
            | Op::Size(_)
            | Op::ElemMatch(_)
            | Op::Mod(..)
            | Op::Bits(..)
            | Op::Geo(..) => false,
            Op::Is(_) | Op::Not(_) | Op::EncryptedText(..) => true,
            Op::Raw(raw) => raw::matches_missing(&raw.0),
        }
    }

    /// How an index on the field selects the documents that match.
    pub(crate) fn bounds(&self) -> Bounds {
        let is_regex = |value: &Bson| matches!(value, Bson::RegularExpression(_));
        match self {
            Op::Is(value) if is_regex(value) => Bounds::Range,
            Op::In(values) if values.iter().any(is_regex) => Bounds::Range,
            Op::Is(_) | Op::Eq(_) => Bounds::Value,
            Op::In(values) if values.len() == 1 => Bounds::Value,
            Op::In(_) | Op::All(_) | Op::AllElements(_) => Bounds::Values,
            Op::Ne(_)
            | Op::Gt(_)
            | Op::Gte(_)
            | Op::Lt(_)
            | Op::Lte(_)
            | Op::Nin(_)
            | Op::Type(_)
            | Op::Regex(_) => Bounds::Range,
            Op::Geo(..) => Bounds::Region,
            Op::Exists(_)
            | Op::Mod(..)
            | Op::Size(_)
            | Op::Bits(..)
            | Op::ElemMatch(_)
            | Op::Not(_)
            | Op::EncryptedText(..)
            | Op::Raw(_) => Bounds::None,
        }
    }

    /// How many values match, with a missing field as one of them.
    pub(crate) fn truth(&self) -> Truth {
        match self.operand() {
            // `$in` and `$nin` without values.
            Operand::Equal([]) => Truth::Never,
            Operand::Compared([]) => Truth::Always,
            Operand::Negated(ops) => Truth::all(ops.iter().map(Op::truth)).not(),
            Operand::Equal(_)
            | Operand::Compared(_)
            | Operand::Presence
            | Operand::Raw(..)
            | Operand::Condition => Truth::Depends,
        }
    }

    /// Whether the operator compares the field with another value than null. A list counts as one.
    pub(crate) fn is_comparison(&self) -> bool {
        match self.operand() {
            Operand::Equal(values) | Operand::Compared(values) => {
                matches!(self, Op::In(_) | Op::Nin(_)) || *values != [Bson::Null]
            }
            Operand::Presence => false,
            Operand::Negated(ops) => ops.iter().any(Op::is_comparison),
            Operand::Raw(operator, operand) => raw::is_comparison(operator, operand),
            Operand::Condition => true,
        }
    }

    /// Whether the operator compares the whole value with another one than null: not its size, and not only the fields of
    /// its elements.
    pub(super) fn compares_whole(&self) -> bool {
        if let Op::ElemMatch(element) = self {
            return element.operators().iter().any(Op::compares_whole);
        }
        if let Op::Not(ops) = self {
            return ops.iter().any(Op::compares_whole);
        }
        !matches!(self, Op::Size(_)) && self.is_comparison()
    }

    /// Whether the operator compares the value with a document.
    pub(super) fn compares_document(&self) -> bool {
        fn is_document(value: &Bson) -> bool {
            match value.as_array() {
                Some(all) => all.iter().any(is_document),
                None => value.as_document().is_some(),
            }
        }
        let values = if let Op::All(values) | Op::AllElements(values) = self {
            values
        } else if let Op::Raw(raw) = self {
            slice::from_ref(&raw.1)
        } else {
            self.compared()
        };
        let inner = if let Op::ElemMatch(element) = self {
            element.operators()
        } else {
            self.inner()
        };
        values.iter().any(is_document) || inner.iter().any(Op::compares_document)
    }

    /// Whether the server supports the operator only at the top level of a query.
    pub(crate) fn is_top_level_only(&self) -> bool {
        if let Op::Raw(raw) = self {
            return raw::is_top_level_only(&raw.0);
        }
        matches!(self, Op::Geo(Geo::NearSphere, _))
    }

    /// The values that the operator compares the field with, in order or for equality.
    pub(crate) fn compared(&self) -> &[Bson] {
        match self.operand() {
            Operand::Equal(values) | Operand::Compared(values) => values,
            Operand::Presence | Operand::Negated(_) | Operand::Raw(..) | Operand::Condition => &[],
        }
    }

    /// The value that the field must be equal to.
    pub(crate) fn equality(&self) -> Option<&Bson> {
        if let Operand::Equal([value]) = self.operand() {
            Some(value)
        } else {
            None
        }
    }

    /// The operators inside of `$not`.
    pub(super) fn inner(&self) -> &[Op] {
        if let Op::Not(ops) = self { ops } else { &[] }
    }

    /// The expression of a search in the encrypted string at the path.
    pub(super) fn encrypted_text(operator: &str, part: Part, path: &str, text: &str) -> Document {
        let part = match part {
            Part::Prefix => "prefix",
            Part::Suffix => "suffix",
            Part::Substring => "substring",
        };
        doc! { operator: { "input": format!("${path}"), part: text } }
    }
}
