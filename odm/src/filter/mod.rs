//! Typed filters: conditions on the fields of one model, joined by `&`, `|` and `!`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use crate::bson::{Bson, Document, doc};
use crate::error::{Error, Result};
use crate::json::relaxed;
use crate::path::field::Embedded;
use crate::path::{AsPath, RawPath, check_path, own};

mod combine;
mod conditions;
mod element;
mod ops;
mod pattern;
mod text;
mod types;
#[doc(hidden)]
pub mod variant;

pub(crate) use combine::{and, element_condition, prefixed};
use conditions::Comparison;
pub(crate) use conditions::Conditions;
pub use ops::FilterOps;
pub use pattern::Pattern;
pub use text::TextSearch;
pub use types::BsonType;

/// Why there is no condition inside a variant that is stored without a tag.
const UNTAGGED: &str = "the variants of this enum are stored without a tag, so nothing shows which one a value is, and the condition \
                        would match other variants too; compare the whole value, or use `Filter::raw(..)`";

/// The key under which a condition on the element itself stands until it is placed; no stored name holds a NUL.
const INVALID: &str = "\0invalid";

/// A condition on documents of type `R`.
///
/// Made by the operators of [`FilterOps`]; `Display` prints what will be sent, as Extended JSON. A value that cannot be
/// encoded does not panic and is not lost: the call that uses the filter fails with it.
#[must_use = "a filter does nothing until it is given to a call"]
pub struct Filter<R> {
    inner: Result<Conditions, Box<Error>>,
    root: PhantomData<fn() -> R>,
}

impl<R> Filter<R> {
    pub(crate) fn new(inner: Result<Document, Error>) -> Self {
        Filter {
            inner: inner.map(Conditions::Tree).map_err(Box::new),
            root: PhantomData,
        }
    }

    /// A comparison of the field at a path.
    pub(crate) fn compare<A: AsPath<Root = R>>(
        path: &A,
        operator: &'static str,
        value: Result<Bson, Error>,
    ) -> Self {
        if !path.raw().is_plain() || check_path(path.raw()).is_err() {
            return Self::on(path, value.map(|value| doc! { operator: value }));
        }
        let path = path.raw();
        let comparison = |value| Comparison {
            path: path.name(),
            operator: Some(operator),
            value,
        };
        Filter {
            inner: value
                .map(|value| Conditions::Flat(vec![comparison(value)]))
                .map_err(Box::new),
            root: PhantomData,
        }
    }

    pub(crate) fn on<A: AsPath<Root = R>>(path: &A, condition: Result<Document, Error>) -> Self {
        Self::placed(path, condition, element::on_path)
    }

    /// Operators that one element of the innermost array of the path must fulfil together.
    pub(crate) fn on_one_element<A: AsPath<Root = R>>(path: &A, condition: Result<Document, Error>) -> Self {
        Self::placed(path, condition, element::on_one_element)
    }

    fn placed<A: AsPath<Root = R>>(
        path: &A,
        condition: Result<Document, Error>,
        place: impl FnOnce(&RawPath, bool, Document) -> Result<Document>,
    ) -> Self {
        let own = own(path);
        let build = || {
            let condition = condition?;
            let invalid = |reason| Error::filter(own.dotted().replace('\0', ""), reason);
            check_path(&own).map_err(invalid)?;
            if own.is_untagged() {
                return Err(invalid(UNTAGGED.to_owned()));
            }
            place(&own, A::own_arrays(path) > 0, condition)
        };
        Self::new(build())
    }

    pub(crate) fn from_conditions(conditions: Conditions) -> Self {
        Filter {
            inner: Ok(conditions),
            root: PhantomData,
        }
    }

    /// The filter that every document matches.
    ///
    /// **It is not the start of a filter that is put together in steps: that is [`Filter::default`].** A filter that
    /// starts here and to which no condition is added is still this one, and a write with it changes every document of the
    /// collection. Only as it is does it count for a write: `&`, `|`, [`and`](Filter::and), [`any`](Filter::any) and the
    /// other combinations that leave no condition give a filter that writes refuse.
    ///
    /// A write takes no other filter without conditions: `delete_many(|_| Filter::everything())` deletes all documents,
    /// while `Filter::all([])`, `Filter::default()` and `Filter::raw(doc! {})` are refused there with
    /// [`Error::InvalidFilter`]. So are conditions that cannot fail: `not_in` of no values, a raw filter of a `$comment` only.
    pub fn everything() -> Self {
        Self::from_conditions(Conditions::Everything)
    }

    /// The filter that no document matches: the start of alternatives that are added by `|=`.
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// let mut filter = Filter::<Person>::nothing();
    /// for name in ["Ada", "Grace"] {
    ///     filter |= Person::fields().name().eq(name);
    /// }
    /// assert_eq!(filter.to_string(), r#"{"$or": [{"name": {"$eq": "Ada"}}, {"name": {"$eq": "Grace"}}]}"#);
    /// ```
    pub fn nothing() -> Self {
        Self::new(Ok(doc! { "$nor": [{}] }))
    }

    /// All of the conditions. Without any, reads find every document and writes refuse the filter.
    pub fn all(conditions: impl IntoIterator<Item = Filter<R>>) -> Self {
        conditions
            .into_iter()
            .fold(Self::default(), |all, next| all & next)
    }

    /// All of those conditions that are given, as [`all`](Filter::all).
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
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

    /// This condition and another; an `Option` that is `None` adds nothing.
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
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
            None => self.unnamed(),
        }
    }

    /// A filter document as it is, unchecked. An empty one is refused by writes; see [`everything`](Filter::everything).
    pub fn raw(filter: Document) -> Self {
        Self::new(Ok(filter))
    }

    /// `$expr`: an aggregation expression that must be true.
    pub fn expr(expression: impl Into<Bson>) -> Self {
        Self::raw(doc! { "$expr": expression.into() })
    }

    /// `$text`: a search in the text index of the collection.
    ///
    /// ```
    /// # use marula::{Filter, TextSearch};
    /// let filter = Filter::<()>::text(TextSearch::new("copper kettle").language("en"));
    /// assert_eq!(filter.to_string(), r#"{"$text": {"$search": "copper kettle", "$language": "en"}}"#);
    /// ```
    pub fn text(search: impl Into<TextSearch>) -> Self {
        Self::raw(doc! { "$text": search.into().into_document() })
    }

    /// The document that will be sent.
    ///
    /// # Errors
    /// [`Error::Encode`] for a value without a BSON form, [`Error::InvalidFilter`] for a condition that the server has
    /// no form for.
    pub fn into_document(self) -> Result<Document> {
        self.into_conditions().map(Conditions::into_tree)
    }

    /// What will be sent.
    pub(crate) fn into_conditions(self) -> Result<Conditions> {
        let conditions = self.inner.map_err(|e| *e)?;
        conditions.check_placed()?;
        Ok(conditions)
    }

    /// Whether it was put together from no conditions, so that a write must refuse it.
    pub(crate) fn is_unnamed_everything(&self) -> bool {
        self.inner.as_ref().is_ok_and(Conditions::is_unnamed_everything)
    }

    /// The document with conditions on the root itself still under the empty key.
    pub(crate) fn into_unplaced(self) -> Result<Document> {
        self.inner.map(Conditions::into_tree).map_err(|e| *e)
    }

    /// The document, with an error turned into a document that [`carried`] turns back: for carriers that are plain data.
    pub(crate) fn into_carrier(self) -> Document {
        self.inner
            .map_or_else(|e| doc! { INVALID: e.to_string() }, Conditions::into_tree)
    }

    /// This filter as the result of a combination, which a write refuses if it has no conditions.
    fn unnamed(self) -> Self {
        match self.inner {
            Ok(Conditions::Everything) => Self::default(),
            inner => Filter { inner, ..self },
        }
    }

    fn zip(self, other: Self, join: impl FnOnce(Conditions, Conditions) -> Conditions) -> Self {
        let inner = match (self.inner, other.inner) {
            (Ok(a), Ok(b)) => Ok(join(a, b)),
            (Err(e), _) | (_, Err(e)) => Err(e),
        };
        Filter {
            inner,
            root: PhantomData,
        }
    }
}

impl<R: Embedded> Filter<R> {
    /// At least one of the conditions; no document when there are none.
    pub fn any(conditions: impl IntoIterator<Item = Filter<R>>) -> Self {
        conditions
            .into_iter()
            .reduce(|any, next| any | next)
            .map_or_else(Self::nothing, Self::unnamed)
    }

    /// At least one of those conditions that are given, as [`any`](Filter::any).
    pub fn any_some(conditions: impl IntoIterator<Item = Option<Filter<R>>>) -> Self {
        Self::any(conditions.into_iter().flatten())
    }

    /// This condition or another; an `Option` that is `None` adds nothing.
    ///
    /// ```
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// let p = Person::fields();
    /// let filter = p.age().lt(18).or(p.age().gt(65)).or(None);
    /// assert_eq!(filter.to_string(), r#"{"$or": [{"age": {"$lt": 18}}, {"age": {"$gt": 65}}]}"#);
    /// ```
    pub fn or(self, other: impl Into<Option<Filter<R>>>) -> Self {
        match other.into() {
            Some(other) => self | other,
            None => self.unnamed(),
        }
    }
}

/// No condition yet: the start of a filter to which conditions are added by `&=`. Reads find every document with it; writes
/// refuse it, unlike [`Filter::everything`].
///
/// With `|=` it keeps matching every document. Start with [`Filter::nothing`] where alternatives are added by `|=`.
///
/// ```
/// # use marula::{Document, Filter, prelude::*};
/// # #[derive(serde::Serialize, serde::Deserialize, Document)]
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
/// **Start with this one, not with [`Filter::everything`], where a write takes the result**: without any parameter a filter
/// that starts with `everything()` matches every document, and the write does not refuse it.
impl<R> Default for Filter<R> {
    fn default() -> Self {
        Self::from_conditions(Conditions::none())
    }
}

/// The error that a carrier document holds in place of a condition.
pub(crate) fn carried(condition: &Document) -> Option<&str> {
    condition.get_str(INVALID).ok()
}

/// Both conditions. Merged into one document where that means the same, else `$and`.
impl<R> BitAnd for Filter<R> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.zip(other, Conditions::and)
    }
}

/// At least one of the conditions.
impl<R: Embedded> BitOr for Filter<R> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.zip(other, Conditions::or)
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

/// The documents that do not match, those without the field among them.
impl<R: Embedded> Not for Filter<R> {
    type Output = Self;
    fn not(self) -> Self {
        Self {
            inner: self
                .inner
                .map(|all| Conditions::Tree(combine::nor(all.into_tree()))),
            root: PhantomData,
        }
    }
}

impl<R> Clone for Filter<R> {
    fn clone(&self) -> Self {
        Filter {
            inner: self.inner.clone(),
            root: PhantomData,
        }
    }
}

impl<R> fmt::Display for Filter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            Ok(conditions) => relaxed(&conditions.clone().into_tree()).fmt(f),
            Err(e) => write!(f, "<{e}>"),
        }
    }
}

impl<R> fmt::Debug for Filter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({self})")
    }
}
