//! Typed operators of Atlas Search, for the stages [`search`](crate::Pipeline::search) and
//! [`search_meta`](crate::Pipeline::search_meta). They need Atlas, or a deployment with `mongot`.
//!
//! An operator is a function that takes paths of the model and values: a field of another type than those that the operator
//! finds is a compile error. Options are methods of the operator, and options of the stage those of [`Search`].
//!
//! ```
//! use marula::search::{compound, equals, range, text, Search};
//! use marula::{Document, Pipeline, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "books", search_index(name = "books", string(title), number(year), boolean(lent)))]
//! struct Book {
//!     _id: i64,
//!     title: String,
//!     year: i32,
//!     lent: bool,
//! }
//!
//! let found = Pipeline::<Book>::new().search(|b| {
//!     let terms = compound()
//!         .must(text(b.title(), "copper").fuzzy(1))
//!         .filter(range(b.year()).gte(1990))
//!         .must_not(equals(b.lent(), true));
//!     Search::new(terms).index("books").sort(b.year().desc())
//! });
//! assert_eq!(
//!     found.to_string(),
//!     concat!(
//!         r#"[{"$search": {"index": "books", "compound": {"#,
//!         r#""must": [{"text": {"query": "copper", "path": "title", "fuzzy": {"maxEdits": 1}}}], "#,
//!         r#""filter": [{"range": {"path": "year", "gte": 1990}}], "#,
//!         r#""mustNot": [{"equals": {"path": "lent", "value": true}}]}, "sort": {"year": -1}}}]"#
//!     )
//! );
//! ```
//!
//! # Which operator finds what
//!
//! | operator | fields | mapping in the index |
//! |---|---|---|
//! | [`text`], [`phrase`], [`query_string`], [`regex`], [`wildcard`], [`more_like_this`] | strings | `string` |
//! | [`autocomplete`] | strings | `autocomplete` |
//! | [`equals`], [`is_in`] | Booleans, dates, numbers, ObjectIds, UUIDs, strings | of the type; for strings `token` |
//! | [`range`] | dates, numbers, ObjectIds, strings | of the type; for strings `token` |
//! | [`near`], [`near_date`], [`near_point`] | numbers, dates, points | `number`, `date`, `geo` |
//! | [`geo_within`], [`geo_shape`] | GeoJSON values | `geo`, for `geo_shape` with `indexShapes` |
//! | [`exists`] | all | any |
//! | [`embedded_document`] | arrays of documents | `embeddedDocuments` |
//! | [`compound`] | | |
//!
//! A field that has no such mapping in the index is not found, or an error of the server. Arrays are searched by their elements:
//! `text(b.tags(), ..)`, and where an operator takes a value of the field, `equals(b.tags().any(), ..)`.
//!
//! Values are never read as syntax. [`query_string`], [`regex`], [`wildcard`] and [`wildcard_path`] take a language: what a user has
//! written should be given to [`text`].
//!
//! An [encrypted field](crate::encryption) is not searchable; its path is a compile error. The operators that this module does not
//! have are sent with [`search_raw`](crate::Pipeline::search_raw).

mod compound;
mod facet;
mod geo;
mod meta;
mod path;
mod score;
mod stage;
mod text;
mod value;

use std::fmt;
use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, Document},
        error::{Error, ValueError},
    },
    path::Types,
    term::expr::print,
};

pub use compound::*;
pub use facet::*;
pub use geo::*;
pub use meta::*;
pub use path::*;
pub use score::*;
pub use stage::*;
pub use text::*;
pub use value::*;

/// The argument of an operator, or its first error.
pub(crate) type Argument = Result<Document, Box<Error>>;

fn invalid(path: &str, reason: impl Into<String>) -> Box<Error> {
    Box::new(Error::pipeline(path.replace('\0', ""), reason))
}

/// An operator of a search over documents of type `R`. `K` is its kind, such as [`TextOperator`], which has the options of the kind as
/// methods.
///
/// `Display` prints it as Extended JSON, as it will be sent, and an error in angle brackets. An invalid argument is an error of the
/// call that runs the pipeline.
#[must_use = "an operator does nothing until it is given to a stage"]
pub struct Operator<R, K> {
    name: &'static str,
    argument: Argument,
    types: Types<(R, K)>,
}

impl<R, K> Operator<R, K> {
    fn new(name: &'static str, argument: Argument) -> Self {
        Operator {
            name,
            argument,
            types: PhantomData,
        }
    }

    fn set(self, name: &str, value: impl Into<Bson>) -> Self {
        self.try_set(name, Ok(value.into()))
    }

    fn try_set(mut self, name: &str, value: Result<Bson, Box<Error>>) -> Self {
        if let Ok(argument) = &mut self.argument {
            match value {
                Ok(value) => {
                    argument.insert(name, value);
                }
                Err(error) => self.argument = Err(error),
            }
        }
        self
    }

    /// Sets an option whose value is invalid unless the condition is met.
    fn set_if(self, is_valid: bool, name: &str, value: impl Into<Bson>, reason: &str) -> Self {
        let value = if is_valid {
            Ok(value.into())
        } else {
            Err(invalid("", reason))
        };
        self.try_set(name, value)
    }

    /// Sets a field of an option that is a document.
    fn set_in(mut self, option: &str, name: &str, value: impl Into<Bson>) -> Self {
        if let Ok(argument) = &mut self.argument {
            let mut fields = match argument.remove(option) {
                Some(Bson::Document(fields)) => fields,
                _ => Document::new(),
            };
            fields.insert(name, value);
            argument.insert(option, fields);
        }
        self
    }

    /// Adds an item to an option that is an array.
    fn push(mut self, option: &str, item: Result<Bson, Box<Error>>) -> Self {
        if let Ok(argument) = &mut self.argument {
            match (item, argument.get_array_mut(option)) {
                (Err(error), _) => self.argument = Err(error),
                (Ok(item), Ok(items)) => items.push(item),
                (Ok(item), Err(_)) => {
                    argument.insert(option, vec![item]);
                }
            }
        }
        self
    }

    fn has(&self, option: &str) -> bool {
        matches!(&self.argument, Ok(argument) if argument.contains_key(option))
    }

    fn fail(mut self, reason: &str) -> Self {
        if self.argument.is_ok() {
            self.argument = Err(invalid("", reason));
        }
        self
    }

    /// The operator as a document with one field, if it is complete.
    fn into_document(self) -> Argument {
        let argument = self.argument?;
        let has_any = |names: &[&str]| names.iter().any(|name| argument.contains_key(name));
        let missing = match self.name {
            "range" if !has_any(&["gt", "gte", "lt", "lte"]) => {
                "a range needs a limit: `gt`, `gte`, `lt` or `lte`"
            }
            "compound" if !has_any(&["must", "mustNot", "should", "filter"]) => {
                "a compound needs a clause: `must`, `must_not`, `should` or `filter`"
            }
            "moreLikeThis" if !has_any(&["like"]) => {
                "`more_like_this` needs a text: add one by `like(path, text)`"
            }
            _ => "",
        };
        if !missing.is_empty() {
            return Err(invalid("", missing));
        }
        let should = argument.get_array("should").map_or(0, Vec::len);
        if let Some(Bson::Int64(minimum)) = argument.get("minimumShouldMatch")
            && usize::try_from(*minimum).is_ok_and(|minimum| minimum > should)
        {
            return Err(invalid(
                "",
                format!(
                    "`minimum_should_match` is {minimum}, and the compound has {should} clauses `should`"
                ),
            ));
        }
        let mut operator = Document::new();
        operator.insert(self.name, argument);
        Ok(operator)
    }
}

impl<R, K> Clone for Operator<R, K> {
    fn clone(&self) -> Self {
        Self::new(self.name, self.argument.clone())
    }
}

impl<R, K> fmt::Display for Operator<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&self.clone().into_document().map(Bson::Document), f)
    }
}

impl<R, K> fmt::Debug for Operator<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({self})")
    }
}

/// An operator of any kind over documents of type `R`: a clause of a [`compound`].
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{self, Clause};
/// let o = Order::fields();
/// let clauses: [Clause<Order>; 2] = [
///     search::text(o.note(), "tea").into(),
///     search::equals(o.customer(), 5).into(),
/// ];
/// let all = clauses.into_iter().fold(search::compound(), |all, clause| all.must(clause));
/// assert!(all.to_string().starts_with(r#"{"compound": {"must": ["#));
/// ```
#[must_use = "a clause does nothing until it is given to a compound or a stage"]
pub struct Clause<R> {
    operator: Argument,
    root: Types<R>,
}

impl<R> Clause<R> {
    fn of(operator: Argument) -> Self {
        Clause {
            operator,
            root: PhantomData,
        }
    }
}

impl<R, K> From<Operator<R, K>> for Clause<R> {
    fn from(operator: Operator<R, K>) -> Self {
        Clause::of(operator.into_document())
    }
}

impl<R> Clone for Clause<R> {
    fn clone(&self) -> Self {
        Clause::of(self.operator.clone())
    }
}

impl<R> fmt::Display for Clause<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&self.operator.clone().map(Bson::Document), f)
    }
}

impl<R> fmt::Debug for Clause<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clause({self})")
    }
}

/// A value of the field at a path.
fn value_of(path: &Bson, value: Result<Bson, ValueError>) -> Result<Bson, Box<Error>> {
    value.map_err(|error| Box::new(Error::encode(path.as_str().unwrap_or_default(), error)))
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $kind {}
    )* };
}
use kinds;
