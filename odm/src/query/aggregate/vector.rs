//! The stage that searches by vectors: `$vectorSearch`.

use crate::{
    base::{
        bson::{Binary, Bson, Document, Vector, doc},
        error::Error,
    },
    models::model::{Fields, Model},
    path::{AsPath, Types, marker::Readable},
    query::{
        aggregate::{Pipeline, nav},
        handle::marks::Marks,
    },
    term::{
        expr::Raw,
        filter::Filter,
        search::{Searchable, name_of},
    },
    values::search_field::Vectors,
};

impl<In, S: Model, C> Pipeline<In, S, C> {
    /// A search for the nearest vectors in an index of Atlas Vector Search (`$vectorSearch`): the
    /// first stage of a pipeline. The score is
    /// [`vector_search_score`](crate::expr::vector_search_score).
    ///
    /// Soft-deleted documents are left out after the limit is applied, by a `$match` stage, because the `filter` of the
    /// stage cannot find documents without a field: the search can return fewer documents than its limit. If a
    /// certain number is needed, search for more and [limit](Pipeline::limit) the results, or delete the vectors of
    /// deleted documents. With [`only_deleted`](crate::Collection::only_deleted) the condition is in the `filter`: the
    /// field of `soft_delete` must be indexed as a filter field; declared
    /// [vector search indexes](derive@crate::Document#search-indexes) contain it.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, aggregate::VectorSearch, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "books")]
    /// # struct Book { _id: i64, embedding: Vec<f32>, year: i32 }
    /// let near = Pipeline::<Book>::new().vector_search(
    ///     VectorSearch::<Book>::new("by_meaning", |b| b.embedding(), [0.5, 0.25], 10)
    ///         .candidates(100)
    ///         .filter(|b| b.year().gte(2000)),
    /// );
    /// assert_eq!(
    ///     near.to_string(),
    ///     concat!(
    ///         r#"[{"$vectorSearch": {"index": "by_meaning", "path": "embedding", "#,
    ///         r#""queryVector": [0.5, 0.25], "limit": 10, "numCandidates": 100, "#,
    ///         r#""filter": {"year": {"$gte": 2000}}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$vectorSearch")]
    pub fn vector_search(mut self, mut search: VectorSearch<S>) -> Self {
        self.stages.marks.add(std::mem::take(&mut search.marks), None);
        self.stage("$vectorSearch", search.into_argument())
    }
}

/// The options of [`Pipeline::vector_search`].
#[must_use = "options do nothing until they are given to `vector_search`"]
pub struct VectorSearch<S> {
    argument: Result<Document, Box<Error>>,
    filter: Option<Result<Document, Box<Error>>>,
    /// What the filter reads of encrypted fields.
    marks: Marks,
    root: Types<S>,
}

impl<S: Model> VectorSearch<S> {
    /// The `limit` documents whose vector is nearest to `vector`, by an index and its field. An approximate search also needs
    /// [`candidates`](VectorSearch::candidates), and is an error without. A limit of 0, an empty vector, and a vector of another length
    /// than a field `[f32; N]` are errors.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10).exact();
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""index": "vectors", "path": "meaning""#));
    /// ```
    pub fn new<A>(
        index: &str,
        field: impl FnOnce(Fields<S>) -> A,
        vector: impl QueryVector,
        limit: u32,
    ) -> Self
    where
        A: AsPath<Root = S, Mode: Readable, Value: Searchable<Vectors>>,
    {
        let length = <A::Value as Searchable<Vectors>>::LENGTH;
        let argument = name_of(field(nav::<S>())).and_then(|path| {
            let at = path.as_str().unwrap_or_default().to_owned();
            let invalid = |reason: String| Err(Box::new(Error::pipeline(&*at, reason)));
            let (vector, dimensions) = vector.into_vector();
            match length.filter(|length| *length != dimensions) {
                Some(length) => invalid(format!(
                    "the vector of the search has {dimensions} dimensions, and the field {length}"
                )),
                None if dimensions == 0 => invalid("the vector of the search is empty".to_owned()),
                None if limit == 0 => invalid("the limit of a vector search is at least 1".to_owned()),
                None => Ok(
                    doc! { "index": index, "path": path, "queryVector": vector, "limit": i64::from(limit) },
                ),
            }
        });
        VectorSearch {
            argument,
            filter: None,
            marks: Marks::default(),
            root: std::marker::PhantomData,
        }
    }

    fn set(mut self, name: &str, value: impl Into<Bson>) -> Self {
        if let Ok(argument) = &mut self.argument {
            argument.insert(name, value);
        }
        self
    }

    /// Number of vectors that an approximate search compares, at most 10,000. Recommended are 20
    /// times the limit.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10)
    ///     .candidates(200);
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""numCandidates": 200"#));
    /// ```
    pub fn candidates(self, count: u32) -> Self {
        self.set("numCandidates", i64::from(count))
    }

    /// Compare all vectors. Default: an approximate search.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10).exact();
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""exact": true"#));
    /// ```
    pub fn exact(self) -> Self {
        self.set("exact", true)
    }

    /// A filter on fields of the index. Default: none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10)
    ///     .exact()
    ///     .filter(|b| b.year().gte(2000));
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""filter": {"year": {"$gte": 2000}}"#));
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(Fields<S>) -> Filter<S>) -> Self {
        let filter = filter(nav::<S>()).into_node();
        self.marks = Marks::of_filter::<S>(&filter);
        self.filter = Some(filter.map(|filter| filter.to_document()).map_err(Box::new));
        self
    }

    fn into_argument(self) -> Raw {
        let mut argument = self.argument?;
        check_candidates(&argument)?;
        if let Some(filter) = self.filter {
            argument.insert("filter", filter?);
        }
        Ok(argument.into())
    }
}

/// The most vectors that an approximate search compares.
const MAX_CANDIDATES: i64 = 10_000;

/// Rejects a number of candidates that the server would reject.
fn check_candidates(argument: &Document) -> Result<(), Box<Error>> {
    let is_exact = argument.contains_key("exact");
    let limit = argument.get_i64("limit").unwrap_or(1);
    let reason = match argument.get_i64("numCandidates") {
        Ok(_) if is_exact => "an exact vector search compares all vectors: remove `candidates` or `exact`".to_owned(),
        Ok(count) if count < limit => {
            format!("`candidates` is {count}, and must be at least the limit of {limit}; 20 times the limit is recommended")
        }
        Ok(count) if count > MAX_CANDIDATES => format!("`candidates` is {count}, and must be at most {MAX_CANDIDATES}"),
        Err(_) if !is_exact => {
            "an approximate vector search needs `candidates`, an exact one `exact`; 20 times the limit is recommended".to_owned()
        }
        _ => return Ok(()),
    };
    Err(Box::new(Error::pipeline(
        argument.get_str("path").unwrap_or_default(),
        reason,
    )))
}

/// The vector of a [`VectorSearch`]: an array, a `Vec` or a slice of `f64` or `f32`, or a [`Vector`] of `f32`, `i8` or packed bits, which
/// is sent as binary data (subtype 9) and has the element type of the stored vectors.
///
/// ```
/// # use marula_guide::*;
/// use marula::{aggregate::VectorSearch, bson::{Binary, Vector}};
/// # #[derive(Document)] #[document(collection = "books")]
/// # struct Book { _id: i64, meaning: Binary }
/// let bytes = Vector::Int8(vec![5, -7]);
/// let books = Pipeline::<Book>::new()
///     .vector_search(VectorSearch::<Book>::new("vectors", |b| b.meaning(), bytes, 10).candidates(200));
/// # drop(books);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the vector of a search",
    label = "expected an array, a `Vec` or a slice of `f64` or `f32`, or a `bson::Vector`"
)]
pub trait QueryVector {
    /// The vector, and its number of dimensions.
    #[doc(hidden)]
    fn into_vector(self) -> (Bson, usize);
}

macro_rules! query_vectors {
    ($($number:ty)*) => { $(
        impl QueryVector for &[$number] {
            fn into_vector(self) -> (Bson, usize) {
                let numbers = self.iter().map(|number| Bson::Double(f64::from(*number))).collect();
                (Bson::Array(numbers), self.len())
            }
        }
        impl QueryVector for Vec<$number> {
            fn into_vector(self) -> (Bson, usize) {
                self.as_slice().into_vector()
            }
        }
        impl QueryVector for &Vec<$number> {
            fn into_vector(self) -> (Bson, usize) {
                self.as_slice().into_vector()
            }
        }
        impl<const N: usize> QueryVector for [$number; N] {
            fn into_vector(self) -> (Bson, usize) {
                self.as_slice().into_vector()
            }
        }
        impl<const N: usize> QueryVector for &[$number; N] {
            fn into_vector(self) -> (Bson, usize) {
                self.as_slice().into_vector()
            }
        }
    )* };
}
query_vectors!(f32 f64);

impl QueryVector for &Vector {
    fn into_vector(self) -> (Bson, usize) {
        let dimensions = match self {
            Vector::Int8(numbers) => numbers.len(),
            Vector::Float32(numbers) => numbers.len(),
            Vector::PackedBit(bits) => bits.len(),
            _ => 0,
        };
        (Bson::Binary(Binary::from(self)), dimensions)
    }
}

impl QueryVector for Vector {
    fn into_vector(self) -> (Bson, usize) {
        (&self).into_vector()
    }
}
