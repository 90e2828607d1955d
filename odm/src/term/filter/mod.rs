//! Typed filters: conditions on the fields of a model, combined with `&`, `|` and `!`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use crate::{
    ast::{
        document_item::{DocumentItem, raw_part},
        filter::{Leaf, Mark, Node, Op},
    },
    base::{
        bson::Document,
        error::{Error, Result},
        relaxed_json::relaxed,
    },
    path::{AsPath, check_path, field::Embedded, value_path},
    term::expr::Expr,
};

mod alternative;
mod compare;
mod names;
mod ops;
mod pattern;
mod place;
mod text;
mod types;
#[doc(hidden)]
pub mod variant;

pub use alternative::Alternative;
pub(crate) use compare::not_in_lists;
pub use names::{FilterNames, FilterOperator};
pub use ops::FilterOps;
pub use pattern::Pattern;
use place::{Condition, Elements};
pub use text::TextSearch;
pub use types::BsonType;

/// The reason why a condition inside a variant of an untagged enum is rejected.
const UNTAGGED: &str = "the enum is untagged, so a stored value does not show which variant it is, and the condition would also \
                        match other variants; compare the whole value, or use `Filter::raw(..)`";

/// A condition on documents of type `R`.
///
/// Created by the operators of [`FilterOps`], and combined by `&`, `|` and `!`. `Display` prints
/// the filter as Extended JSON, as it will be sent. If a value cannot be encoded as BSON, or a
/// condition is invalid, the call that uses the filter fails with the error, which `Display` prints
/// in angle brackets.
#[must_use = "a filter does nothing until it is given to a call"]
pub struct Filter<R> {
    node: Result<Node, Box<Error>>,
    root: PhantomData<fn() -> R>,
}

impl<R> Filter<R> {
    pub(crate) fn new(node: Result<Node, Error>) -> Self {
        Filter {
            node: node.map_err(Box::new),
            root: PhantomData,
        }
    }

    /// A condition on the value at a path.
    pub(crate) fn on<A: AsPath<Root = R>>(path: &A, op: Result<Op, Error>) -> Self {
        Self::marked(path, op, path.raw().mark())
    }

    /// A condition on the value at a path, or on the elements of an array there, that has this mark.
    pub(crate) fn marked<A: AsPath<Root = R>>(path: &A, op: Result<Op, Error>, mark: Mark) -> Self {
        let raw = path.raw();
        if !raw.is_plain() || check_path(raw).is_err() {
            return Self::placed(path, op.map(|op| vec![op]), mark, Elements::Any);
        }
        let leaf = |op| {
            Node::Leaf(Leaf {
                path: raw.name(),
                op,
                mark,
            })
        };
        Self::new(op.map(leaf))
    }

    /// Operators on the value at a path, each of which can match another element of an array.
    pub(crate) fn on_any_element<A: AsPath<Root = R>>(path: &A, ops: Result<Vec<Op>, Error>) -> Self {
        Self::placed(path, ops, path.raw().mark(), Elements::Any)
    }

    /// Operators that must all match the same element of the innermost array of the path.
    pub(crate) fn on_one_element<A: AsPath<Root = R>>(path: &A, ops: Result<Vec<Op>, Error>) -> Self {
        Self::placed(path, ops, path.raw().mark(), Elements::Same)
    }

    fn placed<A: AsPath<Root = R>>(
        path: &A,
        ops: Result<Vec<Op>, Error>,
        mark: Mark,
        elements: Elements,
    ) -> Self {
        let raw = value_path(path);
        let build = || {
            let ops = ops?;
            let invalid = |reason| Error::filter(raw.dotted().replace('\0', ""), reason);
            check_path(&raw).map_err(invalid)?;
            if raw.is_untagged() {
                return Err(invalid(UNTAGGED.to_owned()));
            }
            let condition = Condition {
                path: &raw,
                value_is_array: A::own_arrays(path) > 0,
                mark,
                elements,
            };
            condition.of(ops)
        };
        Self::new(build())
    }

    /// The filter that matches every document.
    ///
    /// **To build a filter step by step, start with [`Filter::default`], not with this one.** If no
    /// condition is added, the result is still this filter, and a write with it changes every
    /// document of the collection.
    ///
    /// This is the only filter without conditions that a write accepts:
    /// `delete_many(|_| Filter::everything())` deletes all documents. Writes reject
    /// `Filter::all([])`, `Filter::default()` and `Filter::raw(doc! {})` with
    /// [`Error::InvalidFilter`], as well as conditions that always match (`not_in` without values,
    /// a raw filter with only a `$comment`) and combinations by `&`, `|`, [`and`](Filter::and),
    /// [`any`](Filter::any) and the like that have no condition.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let all = orders.find(|_| Filter::everything()).await?;
    /// assert_eq!(orders.delete_many(|_| Filter::everything()).await?, all.len() as u64);
    /// # Ok(()) });
    /// ```
    pub fn everything() -> Self {
        Self::new(Ok(Node::Everything))
    }

    /// The filter that matches no document: the initial value when alternatives are added with
    /// `|=`. If none is added, no document matches, whereas [`Filter::default`] matches all.
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// let mut filter = Filter::<Person>::nothing();
    /// for name in ["Ada", "Grace"] {
    ///     filter |= Person::fields().name().eq(name);
    /// }
    /// assert_eq!(
    ///     filter.to_string(),
    ///     r#"{"$or": [{"name": {"$eq": "Ada"}}, {"name": {"$eq": "Grace"}}]}"#
    /// );
    /// ```
    pub fn nothing() -> Self {
        Self::new(Ok(Node::nothing()))
    }

    /// All of the conditions. If there are none, reads match every document and writes reject the
    /// filter.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let tagged = Filter::all(["new", "gift"].map(|tag| o.tags().contains(tag)));
    /// assert_eq!(
    ///     tagged.to_string(),
    ///     r#"{"$and": [{"tags": {"$eq": "new"}}, {"tags": {"$eq": "gift"}}]}"#
    /// );
    /// ```
    pub fn all(conditions: impl IntoIterator<Item = Filter<R>>) -> Self {
        let all = conditions
            .into_iter()
            .fold(Self::default(), |all, next| all & next);
        if all.is_none() {
            Self::new(Ok(Node::without_conditions()))
        } else {
            all
        }
    }

    /// All of the conditions that are `Some`; see [`all`](Filter::all).
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// # let (name, age) = (Some("Ada"), None::<i32>);
    /// let p = Person::fields();
    /// let filter = Filter::all_some([name.map(|n| p.name().eq(n)), age.map(|a| p.age().gte(a))]);
    /// assert_eq!(filter.to_string(), r#"{"name": {"$eq": "Ada"}}"#);
    /// ```
    pub fn all_some(conditions: impl IntoIterator<Item = Option<Filter<R>>>) -> Self {
        Self::all(conditions.into_iter().flatten())
    }

    /// This condition and another. `None` and [`Filter::default`] add no condition.
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// # let at_most = Some(65);
    /// let p = Person::fields();
    /// let filter = p.age().gte(18).and(at_most.map(|a| p.age().lte(a))).and(p.name().ne(""));
    /// assert_eq!(filter.to_string(), r#"{"age": {"$gte": 18, "$lte": 65}, "name": {"$ne": ""}}"#);
    /// ```
    pub fn and(self, other: impl Into<Option<Filter<R>>>) -> Self {
        match other.into() {
            Some(other) => self & other,
            None => self.combined(),
        }
    }

    /// A filter document, sent unchecked. Writes reject an empty one; see
    /// [`everything`](Filter::everything).
    ///
    /// For a model with [encrypted fields](crate::encryption) it must be an
    /// [`Unchecked`](crate::encryption::Unchecked) document: it could contain the value of one.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let filter = Order::fields().total().gt(0) & Filter::raw(doc! { "$where": "this.total > 1" });
    /// assert_eq!(filter.to_string(), r#"{"total": {"$gt": 0}, "$where": "this.total > 1"}"#);
    /// ```
    pub fn raw(filter: impl DocumentItem) -> Self {
        Self::new(Ok(Node::Raw(raw_part(filter))))
    }

    /// `$expr`: an [expression](crate::expr) that must be true, such as the comparison of two fields. An expression
    /// without a typed form is given by [`Expr::raw`](crate::Expr::raw).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let filter = Filter::expr(expr::gt(o.total(), o.customer())) & o.tags().size(0);
    /// assert_eq!(
    ///     filter.to_string(),
    ///     r#"{"$expr": {"$gt": ["$total", "$customer"]}, "tags": {"$size": 0}}"#
    /// );
    /// ```
    pub fn expr(expression: Expr<R, bool>) -> Self {
        Self::new(expression.into_raw().map(Node::Expr).map_err(|e| *e))
    }

    /// `$text`: a search in the text index of the collection. Sort by the score with
    /// [`SortKey::text_score`](crate::SortKey::text_score).
    ///
    /// ```
    /// # use marula::{Filter, TextSearch};
    /// let filter = Filter::<()>::text(TextSearch::new("copper kettle").language("en"));
    /// assert_eq!(
    ///     filter.to_string(),
    ///     r#"{"$text": {"$search": "copper kettle", "$language": "en"}}"#
    /// );
    /// ```
    pub fn text(search: impl Into<TextSearch>) -> Self {
        Self::new(Ok(Node::Text(search.into().into_document())))
    }

    /// The filter document in the form in which it is sent.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let filter = Order::fields().status().eq(Status::Open);
    /// assert_eq!(filter.into_document()?, doc! { "status": { "$eq": "open" } });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Encode`] for a value that cannot be encoded as BSON, [`Error::InvalidFilter`] for a
    /// condition that the server does not support.
    pub fn into_document(self) -> Result<Document> {
        Ok(self.into_node()?.to_document())
    }

    /// The conditions in the form in which they are sent.
    pub(crate) fn into_node(self) -> Result<Node> {
        let node = self.node.map_err(|e| *e)?;
        node.check_placed()?;
        Ok(node)
    }

    /// Whether every document matches although the filter is not
    /// [`everything`](Filter::everything), so that writes reject it.
    pub(crate) fn is_without_conditions(&self) -> bool {
        self.node.as_ref().is_ok_and(Node::is_without_conditions)
    }

    /// The conditions on an array element, of which those on the element itself have an empty path.
    pub(crate) fn into_unplaced(self) -> Result<Node, Box<Error>> {
        self.node
    }

    /// This filter as the result of a combination: without conditions it is not
    /// [`everything`](Filter::everything).
    fn combined(self) -> Self {
        Filter {
            node: self.node.map(Node::combined),
            root: PhantomData,
        }
    }

    /// Whether the filter is [`default`](Filter::default).
    fn is_none(&self) -> bool {
        matches!(self.node, Ok(Node::Default))
    }

    fn zip(self, other: Self, join: impl FnOnce(Node, Node) -> Node) -> Self {
        let node = match (self.node, other.node) {
            (Ok(a), Ok(b)) => Ok(join(a, b)),
            (Err(e), _) | (_, Err(e)) => Err(e),
        };
        Filter {
            node,
            root: PhantomData,
        }
    }
}

impl<R: Embedded> Filter<R> {
    /// At least one of the conditions. If there are none, no document matches. [`Filter::default`] is
    /// left out.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let either = Filter::any([1, 2].map(|customer| o.customer().eq(customer)));
    /// assert_eq!(
    ///     either.to_string(),
    ///     r#"{"$or": [{"customer": {"$eq": 1}}, {"customer": {"$eq": 2}}]}"#
    /// );
    /// ```
    pub fn any(conditions: impl IntoIterator<Item = Filter<R>>) -> Self {
        conditions
            .into_iter()
            .reduce(|any, next| any | next)
            .filter(|any| !any.is_none())
            .map_or_else(Self::nothing, Self::combined)
    }

    /// At least one of the conditions that are `Some`; see [`any`](Filter::any).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let (customer, tag) = (None::<i64>, Some("vip"));
    /// let o = Order::fields();
    /// let either = Filter::any_some([
    ///     customer.map(|c| o.customer().eq(c)),
    ///     tag.map(|t| o.tags().contains(t)),
    /// ]);
    /// assert_eq!(either.to_string(), r#"{"tags": {"$eq": "vip"}}"#);
    /// ```
    pub fn any_some(conditions: impl IntoIterator<Item = Option<Filter<R>>>) -> Self {
        Self::any(conditions.into_iter().flatten())
    }

    /// This condition or another. `None` and [`Filter::default`] add no condition.
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// let p = Person::fields();
    /// let filter = p.age().lt(18).or(p.age().gt(65)).or(None);
    /// assert_eq!(filter.to_string(), r#"{"$or": [{"age": {"$lt": 18}}, {"age": {"$gt": 65}}]}"#);
    /// ```
    pub fn or(self, other: impl Into<Option<Filter<R>>>) -> Self {
        match other.into() {
            Some(other) => self | other,
            None => self.combined(),
        }
    }
}

/// A filter without conditions: the initial value when conditions are added with `&=`. With it
/// reads match every document, and writes reject it, unlike [`Filter::everything`].
///
/// It adds no condition to another filter, also by `|`, `|=` and [`or`](Filter::or): `Filter::default()
/// | a` is `a`. If no alternative is added with `|=`, reads still match every document; with
/// [`Filter::nothing`] as the initial value they match none.
///
/// ```
/// # use marula::{Document, Filter, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64, name: String, age: i32 }
/// # let (name, age) = (Some("Ada"), Some(36));
/// let p = Person::fields();
/// let mut filter = Filter::default();
/// if let Some(name) = name {
///     filter &= p.name().eq(name);
/// }
/// if let Some(age) = age {
///     filter &= p.age().gte(age);
/// }
/// assert_eq!(filter.to_string(), r#"{"name": {"$eq": "Ada"}, "age": {"$gte": 36}}"#);
/// ```
///
/// **For a write, start with this filter, not with [`Filter::everything`]**: if no condition is
/// added, a filter that starts with `everything()` matches every document, and the write accepts
/// it.
impl<R> Default for Filter<R> {
    fn default() -> Self {
        Self::new(Ok(Node::Default))
    }
}

/// Both conditions, merged into one document where that is equivalent, otherwise as `$and`.
impl<R> BitAnd for Filter<R> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.zip(other, Node::and)
    }
}

/// At least one of the conditions. [`Filter::default`] adds no alternative: the result is the other filter.
impl<R, F: Alternative<R>> BitOr<F> for Filter<R> {
    type Output = Self;
    fn bitor(self, other: F) -> Self {
        self.zip(other.into_filter(), Node::or)
    }
}

impl<R> BitAndAssign for Filter<R> {
    fn bitand_assign(&mut self, other: Self) {
        *self = std::mem::take(self) & other;
    }
}

impl<R: Embedded> BitOrAssign for Filter<R> {
    fn bitor_assign(&mut self, other: Self) {
        *self = std::mem::take(self) | other;
    }
}

/// The documents that do not match, including those without the field (`$nor`).
impl<R: Embedded> Not for Filter<R> {
    type Output = Self;
    fn not(self) -> Self {
        Self {
            node: self.node.map(Node::not),
            root: PhantomData,
        }
    }
}

impl<R> Clone for Filter<R> {
    fn clone(&self) -> Self {
        Filter {
            node: self.node.clone(),
            root: PhantomData,
        }
    }
}

impl<R> fmt::Display for Filter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Ok(node) => relaxed(&node.to_document()).fmt(f),
            Err(e) => write!(f, "<{e}>"),
        }
    }
}

impl<R> fmt::Debug for Filter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({self})")
    }
}
