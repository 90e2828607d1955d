//! Declared vector search indexes: the builder behind `#[document(vector_search_index(…))]`.
//!
//! Definitions: <https://www.mongodb.com/docs/atlas/atlas-vector-search/vector-search-type/>.

use crate::{
    base::bson::{Document, doc},
    models::index::search::{SearchIndexDeclaration, SearchIndexKind, path_of},
    path::{AsPath, marker::Readable},
    values::search_field::{Filters, SearchField, Vectors},
};

/// The largest number of dimensions of a vector.
const MAX_DIMENSIONS: u32 = 8192;

/// How the similarity of two vectors is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Similarity {
    /// By the distance between their ends.
    Euclidean,
    /// By the angle between them.
    Cosine,
    /// By the angle and the length: for vectors of length 1 as `Cosine`, and faster.
    DotProduct,
}

impl Similarity {
    fn name(self) -> &'static str {
        match self {
            Similarity::Euclidean => "euclidean",
            Similarity::Cosine => "cosine",
            Similarity::DotProduct => "dotProduct",
        }
    }
}

/// The form in which the index holds vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quantization {
    /// As they are stored.
    None,
    /// Each number in one byte.
    Scalar,
    /// Each number in one bit.
    Binary,
}

impl Quantization {
    fn name(self) -> &'static str {
        match self {
            Quantization::None => "none",
            Quantization::Scalar => "scalar",
            Quantization::Binary => "binary",
        }
    }
}

/// The definition of a vector search index (Atlas, or a deployment with `mongot`).
///
/// ```
/// # use marula::{Document, prelude::*};
/// use marula::index::{SearchIndexDeclaration, Similarity, VectorSearchIndex};
/// # #[derive(Document)]
/// # #[document(collection = "films")]
/// # struct Film { _id: i64, plot: Vec<f32>, year: i32 }
/// let f = Film::fields();
/// let index: SearchIndexDeclaration = VectorSearchIndex::new("plots")
///     .vector(&f.plot(), 1536, Similarity::Cosine, None)
///     .filter(&f.year())
///     .into();
/// assert_eq!(
///     index.to_string(),
///     concat!(
///         r#"{"fields": [{"type": "vector", "path": "plot", "numDimensions": 1536, "#,
///         r#""similarity": "cosine"}, {"type": "filter", "path": "year"}]}"#
///     )
/// );
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct VectorSearchIndex {
    name: String,
    fields: Vec<Document>,
    error: Option<String>,
}

impl VectorSearchIndex {
    /// An index of this name, to which at least one vector must be added.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let index = VectorSearchIndex::new("plots").vector(&f.plot(), 3, Similarity::Cosine, None);
    /// assert_eq!(SearchIndexDeclaration::from(index).index_name(), "plots");
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        VectorSearchIndex {
            name: name.into(),
            fields: Vec::new(),
            error: None,
        }
    }

    /// Adds a vector of 1 to 8192 dimensions. Quantization: that of the server by default, which is
    /// none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let index: SearchIndexDeclaration = VectorSearchIndex::new("plots")
    ///     .vector(&f.plot(), 3, Similarity::DotProduct, Some(Quantization::Scalar))
    ///     .into();
    /// assert!(index.to_string().contains(r#""quantization": "scalar""#));
    /// ```
    pub fn vector<A>(
        mut self,
        path: &A,
        dimensions: u32,
        similarity: Similarity,
        quantization: Option<Quantization>,
    ) -> Self
    where
        A: AsPath<Mode: Readable, Value: SearchField<Vectors>>,
    {
        let length = <A::Value as SearchField<Vectors>>::LENGTH;
        if dimensions == 0 || dimensions > MAX_DIMENSIONS {
            let reason = format!("a vector has 1 to {MAX_DIMENSIONS} dimensions, found {dimensions}");
            self.error.get_or_insert(reason);
        } else if let Some(length) = length.filter(|length| u32::try_from(*length) != Ok(dimensions)) {
            let reason = format!("the field has {length} numbers, and the index {dimensions} dimensions");
            self.error.get_or_insert(reason);
        }
        let mut field = doc! {
            "numDimensions": i64::from(dimensions), "similarity": similarity.name(),
        };
        if let Some(quantization) = quantization {
            field.insert("quantization", quantization.name());
        }
        self.add("vector", path, field)
    }

    /// Adds a field by which a search can be filtered.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let index: SearchIndexDeclaration = VectorSearchIndex::new("plots")
    ///     .vector(&f.plot(), 3, Similarity::Cosine, None)
    ///     .filter(&f.year())
    ///     .into();
    /// assert!(index.to_string().contains(r#"{"type": "filter", "path": "year"}"#));
    /// ```
    pub fn filter<A>(self, path: &A) -> Self
    where
        A: AsPath<Mode: Readable, Value: SearchField<Filters>>,
    {
        self.add("filter", path, Document::new())
    }

    fn add<A: AsPath>(mut self, kind: &str, path: &A, options: Document) -> Self {
        match path_of(path) {
            Ok(path)
                if self
                    .fields
                    .iter()
                    .any(|field| field.get_str("path").is_ok_and(|known| known == path)) =>
            {
                let reason = format!("`{path}` is in the index twice");
                self.error.get_or_insert(reason);
            }
            Ok(path) => {
                let mut field = doc! { "type": kind, "path": path };
                field.extend(options);
                self.fields.push(field);
            }
            Err(reason) => {
                self.error.get_or_insert(reason);
            }
        }
        self
    }
}

impl From<VectorSearchIndex> for SearchIndexDeclaration {
    fn from(index: VectorSearchIndex) -> Self {
        let mut error = index.error;
        if !index
            .fields
            .iter()
            .any(|field| field.get_str("type").is_ok_and(|kind| kind == "vector"))
        {
            error.get_or_insert_with(|| "a vector search index needs a vector".to_owned());
        }
        SearchIndexDeclaration {
            name: index.name,
            kind: SearchIndexKind::VectorSearch,
            definition: doc! { "fields": index.fields },
            error,
        }
    }
}
