//! The paths that an operator searches.

use std::borrow::Cow;
use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, doc},
        error::Error,
    },
    path::{AsPath, Types, marker::Readable, value_path},
    term::{expr::field_name, search::invalid},
    values::search_field::SearchField,
};

/// Types of fields that an operator of a search finds: those that an index holds as `K`. Implemented for every
/// [`SearchField`](crate::index::search_field::SearchField).
#[diagnostic::on_unimplemented(
    message = "this operator of a search does not find fields of type `{Self}`",
    label = "the operator searches fields that an index holds as `{K}`",
    note = "`text`, `phrase` and `autocomplete` find strings; `equals` and `is_in` Booleans, dates, numbers, ObjectIds, UUIDs and strings; \
            `range` dates, numbers, ObjectIds and strings; `near` numbers, `near_date` dates, `near_point` points; vectors are lists of \
            `f32` or `f64`, and `Binary`"
)]
pub trait Searchable<K> {
    /// The number of elements of an array type with a fixed length.
    #[doc(hidden)]
    const LENGTH: Option<usize>;
}

#[diagnostic::do_not_recommend]
impl<K, T: SearchField<K>> Searchable<K> for T {
    const LENGTH: Option<usize> = T::LENGTH;
}

/// The paths that an operator searches: a path, a tuple of up to six, a list of [`SearchPath`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a path that a search over `{R}` finds",
    label = "expected a path, a tuple of paths, or a list of `SearchPath`s"
)]
pub trait SearchPaths<R, K> {
    #[doc(hidden)]
    fn into_paths(self) -> Result<Vec<Bson>, Box<Error>>;
}

impl<R, K, A> SearchPaths<R, K> for A
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<K>>,
{
    fn into_paths(self) -> Result<Vec<Bson>, Box<Error>> {
        Ok(vec![name_of(self)?])
    }
}

/// A path of a search over documents of type `R`, of a field that an index holds as `K`. Its type does not depend on that of the
/// field, so that lists can contain paths of several.
#[derive(Debug)]
#[must_use]
pub struct SearchPath<R, K> {
    path: Result<Bson, Box<Error>>,
    types: Types<(R, K)>,
}

impl<R, K> SearchPath<R, K> {
    fn of(path: Result<Bson, Box<Error>>) -> Self {
        SearchPath {
            path,
            types: PhantomData,
        }
    }
}

impl<R, K> Clone for SearchPath<R, K> {
    fn clone(&self) -> Self {
        SearchPath::of(self.path.clone())
    }
}

/// A path as an item of a list.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let o = Order::fields();
/// let paths = vec![search::path(o.note()), search::path(o.tags())];
/// assert_eq!(
///     search::text(paths, "tea").to_string(),
///     r#"{"text": {"query": "tea", "path": ["note", "tags"]}}"#
/// );
/// ```
pub fn path<R, K, A>(path: A) -> SearchPath<R, K>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<K>>,
{
    SearchPath::of(name_of(path))
}

/// A path with the analyzer `multi` of its field in the index.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let o = Order::fields();
/// assert_eq!(
///     search::text(search::multi(o.note(), "english"), "tea").to_string(),
///     r#"{"text": {"query": "tea", "path": {"value": "note", "multi": "english"}}}"#
/// );
/// ```
pub fn multi<R, K, A>(path: A, analyzer: impl Into<String>) -> SearchPath<R, K>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<K>>,
{
    let analyzer = analyzer.into();
    SearchPath::of(name_of(path).map(|path| doc! { "value": path, "multi": analyzer }.into()))
}

/// All indexed paths that match a pattern, in which `*` stands for any characters. The pattern is a language, and its names are
/// not checked.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let all = search::text::<Order, _>(search::wildcard_path("lines.*"), "tea");
/// assert_eq!(all.to_string(), r#"{"text": {"query": "tea", "path": {"wildcard": "lines.*"}}}"#);
/// ```
pub fn wildcard_path<R, K>(pattern: impl Into<String>) -> SearchPath<R, K> {
    let pattern = pattern.into();
    SearchPath::of(
        if pattern.is_empty() || pattern.contains('\0') || pattern.contains("**") {
            Err(invalid(
                "",
                "a pattern of paths is not empty and contains no NUL and no `**`",
            ))
        } else {
            Ok(doc! { "wildcard": pattern }.into())
        },
    )
}

impl<R, K> SearchPaths<R, K> for SearchPath<R, K> {
    fn into_paths(self) -> Result<Vec<Bson>, Box<Error>> {
        Ok(vec![self.path?])
    }
}

impl<R, K> SearchPaths<R, K> for Vec<SearchPath<R, K>> {
    fn into_paths(self) -> Result<Vec<Bson>, Box<Error>> {
        self.into_iter().map(|path| path.path).collect()
    }
}

impl<R, K, const N: usize> SearchPaths<R, K> for [SearchPath<R, K>; N] {
    fn into_paths(self) -> Result<Vec<Bson>, Box<Error>> {
        self.into_iter().map(|path| path.path).collect()
    }
}

macro_rules! tuples {
    ($(($($t:ident $at:tt),*);)*) => { $(
        impl<R, K, $($t: SearchPaths<R, K>),*> SearchPaths<R, K> for ($($t,)*) {
            fn into_paths(self) -> Result<Vec<Bson>, Box<Error>> {
                let mut all = Vec::new();
                $( all.extend(self.$at.into_paths()?); )*
                Ok(all)
            }
        }
    )* };
}
tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// One path as itself, several as an array.
pub(super) fn paths<R, K>(paths: impl SearchPaths<R, K>) -> Result<Bson, Box<Error>> {
    let mut all = paths.into_paths()?;
    match all.len() {
        0 => Err(invalid("", "the list of paths is empty")),
        1 => Ok(all.remove(0)),
        _ => Ok(Bson::Array(all)),
    }
}

/// The name of a field in an index, which holds the elements of an array together.
#[expect(clippy::needless_pass_by_value, reason = "the operators take paths by value")]
pub(crate) fn name_of<A: AsPath>(path: A) -> Result<Bson, Box<Error>> {
    let raw = value_path(&path);
    let name = field_name(&raw)?;
    let is_index = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if name.is_empty() {
        return Err(invalid(
            "",
            "the path is that of the whole document; give the path of a field",
        ));
    }
    if name.split('.').any(is_index) {
        let reason =
            "the path is that of one element of an array, and an index holds all of them; use `.any()`";
        return Err(invalid(name, reason));
    }
    Ok(name.into())
}

/// The texts of a query: a text, or a list of texts of which one must match.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the text of a search, or a list of texts",
    label = "expected a `&str`, a `String`, or an array, a `Vec` or a slice of them"
)]
pub trait Queries {
    #[doc(hidden)]
    fn into_queries(self) -> Vec<String>;
}

macro_rules! one_query {
    ($($t:ty),*) => { $(
        impl Queries for $t {
            fn into_queries(self) -> Vec<String> {
                vec![self.into()]
            }
        }
    )* };
}
one_query!(&str, String, &String, Cow<'_, str>, char);

impl<Q: AsRef<str>, const N: usize> Queries for [Q; N] {
    fn into_queries(self) -> Vec<String> {
        self.as_slice().into_queries()
    }
}

impl<Q: AsRef<str>> Queries for Vec<Q> {
    fn into_queries(self) -> Vec<String> {
        self.as_slice().into_queries()
    }
}

impl<Q: AsRef<str>> Queries for &[Q] {
    fn into_queries(self) -> Vec<String> {
        self.iter().map(|query| query.as_ref().to_owned()).collect()
    }
}

/// One text as itself, several as an array. The server rejects empty ones.
pub(super) fn queries(queries: impl Queries) -> Result<Bson, Box<Error>> {
    let mut all = queries.into_queries();
    if all.is_empty() || all.iter().any(String::is_empty) {
        return Err(invalid("", "the text of a search cannot be empty"));
    }
    Ok(if all.len() == 1 {
        all.remove(0).into()
    } else {
        all.into()
    })
}
