//! Declared search indexes and vector search indexes: the builders behind
//! `#[document(search_index(…))]` and `#[document(vector_search_index(…))]`, and their definitions for
//! `createSearchIndexes`.
//!
//! Definitions: <https://www.mongodb.com/docs/atlas/atlas-search/define-field-mappings/> and
//! <https://www.mongodb.com/docs/atlas/atlas-vector-search/vector-search-type/>.

use std::fmt;
use std::marker::PhantomData;

use crate::bson::{Bson, Document, doc};
use crate::index::search_field::{
    Booleans, Dates, Filters, Numbers, ObjectIds, SearchDocument, SearchField, Shapes, Strings, Uuids,
    Vectors,
};
use crate::path::AsPath;
use crate::path::marker::Readable;

/// The largest number of dimensions of a vector.
const MAX_DIMENSIONS: u32 = 8192;

/// The type of a search index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SearchIndexKind {
    /// A search index, for the stage `$search`.
    Search,
    /// A vector search index, for the stage `$vectorSearch`.
    VectorSearch,
}

impl SearchIndexKind {
    /// The name in commands: `search` or `vectorSearch`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SearchIndexKind::Search => "search",
            SearchIndexKind::VectorSearch => "vectorSearch",
        }
    }
}

/// A search index or vector search index that a model declares: a [`SearchIndex`] or a
/// [`VectorSearchIndex`].
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct SearchIndexDeclaration {
    name: String,
    kind: SearchIndexKind,
    definition: Document,
    error: Option<String>,
}

impl SearchIndexDeclaration {
    /// The name of the index.
    #[must_use]
    pub fn index_name(&self) -> &str {
        &self.name
    }

    /// The type of the index.
    #[must_use]
    pub fn kind(&self) -> SearchIndexKind {
        self.kind
    }

    /// The definition, as `createSearchIndexes` has it.
    #[must_use]
    pub fn definition(&self) -> &Document {
        &self.definition
    }

    /// Why the server would reject the declaration.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.error {
            Some(reason) => Err(reason.clone()),
            None if self.name.is_empty() => Err("the name of a search index cannot be empty".to_owned()),
            None => Ok(()),
        }
    }
}

/// The definition, as Extended JSON.
impl fmt::Display for SearchIndexDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::json::relaxed(&self.definition).fmt(f)
    }
}

/// The mapping of one field in a search index, for fields of the kind `K`; see
/// [`search_field`](crate::index::search_field).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct SearchMapping<K> {
    options: Document,
    kind: PhantomData<fn() -> K>,
}

impl<K> SearchMapping<K> {
    fn of(name: &str) -> Self {
        SearchMapping {
            options: doc! { "type": name },
            kind: PhantomData,
        }
    }

    /// Sets an option of the mapping by its name in the definition, such as `analyzer` or `minGrams`. It
    /// is sent unchecked.
    pub fn option(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value.into());
        self
    }
}

macro_rules! mappings {
    ($($kind:ident: $($(#[$doc:meta])* $method:ident $name:literal),+;)*) => { $(
        impl SearchMapping<$kind> { $(
            $(#[$doc])*
            pub fn $method() -> Self {
                Self::of($name)
            }
        )+ }
    )* };
}

mappings! {
    Strings:
        /// Text that an analyzer divides into terms.
        string "string",
        /// Text that is found by the beginnings of words.
        autocomplete "autocomplete",
        /// A text that is found, sorted and counted as a whole.
        token "token";
    Numbers:
        /// A number.
        number "number";
    Dates:
        /// A date.
        date "date";
    Booleans:
        /// A Boolean.
        boolean "boolean";
    ObjectIds:
        /// An ObjectId.
        object_id "objectId";
    Uuids:
        /// A UUID.
        uuid "uuid";
    Shapes:
        /// A GeoJSON value.
        geo "geo";
}

/// A node of the mappings: the types of a field, and the fields below it.
#[derive(Clone, Debug, Default)]
struct Node {
    types: Vec<Document>,
    fields: Vec<(String, Node)>,
}

impl Node {
    fn at(&mut self, path: &str) -> &mut Node {
        path.split('.').fold(self, |node, name| {
            let index = match node.fields.iter().position(|(known, _)| known == name) {
                Some(index) => index,
                None => {
                    node.fields.push((name.to_owned(), Node::default()));
                    node.fields.len() - 1
                }
            };
            &mut node.fields[index].1
        })
    }

    fn into_fields(self) -> Document {
        let fields = self.fields.into_iter();
        fields.map(|(name, node)| (name, node.into_mapping())).collect()
    }

    /// One type as a document, several as an array.
    fn into_mapping(mut self) -> Bson {
        if !self.fields.is_empty() {
            let is_document = |mapping: &&mut Document| {
                matches!(mapping.get_str("type"), Ok("document" | "embeddedDocuments"))
            };
            let fields = Node {
                types: Vec::new(),
                fields: std::mem::take(&mut self.fields),
            }
            .into_fields();
            match self.types.iter_mut().find(is_document) {
                Some(mapping) => {
                    mapping.insert("fields", fields);
                }
                None => self.types.push(doc! { "type": "document", "fields": fields }),
            }
        }
        let mut types: Vec<Bson> = self.types.into_iter().map(Bson::Document).collect();
        match types.len() {
            1 => types.pop().unwrap_or(Bson::Null),
            _ => Bson::Array(types),
        }
    }
}

/// The definition of a search index (Atlas, or a deployment with `mongot`).
///
/// ```
/// # use marula::{Document, prelude::*};
/// use marula::index::{SearchIndex, SearchIndexDeclaration, SearchMapping};
/// # #[derive(serde::Serialize, serde::Deserialize, Document)]
/// # #[document(collection = "films")]
/// # struct Film { _id: i64, title: String, year: i32 }
/// let f = Film::fields();
/// let index: SearchIndexDeclaration = SearchIndex::new("titles")
///     .field(&f.title(), SearchMapping::string().option("analyzer", "lucene.english"))
///     .field(&f.title(), SearchMapping::autocomplete())
///     .field(&f.year(), SearchMapping::number())
///     .into();
/// assert_eq!(
///     index.to_string(),
///     concat!(
///         r#"{"mappings": {"dynamic": false, "fields": {"title": "#,
///         r#"[{"type": "string", "analyzer": "lucene.english"}, {"type": "autocomplete"}], "#,
///         r#""year": {"type": "number"}}}}"#
///     )
/// );
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SearchIndex {
    name: String,
    dynamic: bool,
    root: Node,
    options: Document,
    error: Option<String>,
}

impl SearchIndex {
    /// An index of this name without mappings: it needs [`dynamic`](Self::dynamic), or a field.
    pub fn new(name: impl Into<String>) -> Self {
        SearchIndex {
            name: name.into(),
            dynamic: false,
            root: Node::default(),
            options: Document::new(),
            error: None,
        }
    }

    /// Maps all fields of all types that the index can map by themselves. Default: only the fields that are
    /// added.
    pub fn dynamic(mut self) -> Self {
        self.dynamic = true;
        self
    }

    /// Adds a mapping of a field. A field can have several.
    pub fn field<K, A>(self, path: &A, mapping: SearchMapping<K>) -> Self
    where
        A: AsPath<Mode: Readable, Value: SearchField<K>>,
    {
        self.add(path, mapping.options)
    }

    /// Adds the mapping of an embedded document, with `dynamic` for the fields below it. Fields that are
    /// added by their own paths need none.
    pub fn document<A>(self, path: &A, dynamic: bool) -> Self
    where
        A: AsPath<Mode: Readable, Value: SearchDocument>,
    {
        self.add(path, doc! { "type": "document", "dynamic": dynamic })
    }

    /// Adds the mapping of an array of documents whose elements are searched one by one, by the operator
    /// `embeddedDocument`.
    pub fn embedded_documents<A>(self, path: &A, dynamic: bool) -> Self
    where
        A: AsPath<Mode: Readable, Value: SearchDocument>,
    {
        self.add(path, doc! { "type": "embeddedDocuments", "dynamic": dynamic })
    }

    fn add<A: AsPath>(mut self, path: &A, mapping: Document) -> Self {
        match path_of(path) {
            Ok(path) => {
                let node = self.root.at(path);
                if node
                    .types
                    .iter()
                    .any(|known| known.get("type") == mapping.get("type"))
                {
                    let kind = mapping.get_str("type").unwrap_or_default();
                    let reason = format!("`{path}` is mapped as `{kind}` twice");
                    self.error.get_or_insert(reason);
                }
                node.types.push(mapping);
            }
            Err(reason) => {
                self.error.get_or_insert(reason);
            }
        }
        self
    }

    /// The analyzer for texts. Default: `lucene.standard`.
    pub fn analyzer(self, name: &str) -> Self {
        self.raw_option("analyzer", name)
    }

    /// The analyzer for the texts of queries. Default: that of the index.
    pub fn search_analyzer(self, name: &str) -> Self {
        self.raw_option("searchAnalyzer", name)
    }

    /// Any other option of the definition, such as `synonyms` or `storedSource`. It is sent unchecked.
    pub fn raw_option(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value.into());
        self
    }
}

impl From<SearchIndex> for SearchIndexDeclaration {
    fn from(index: SearchIndex) -> Self {
        let mut error = index.error;
        if !index.dynamic && index.root.fields.is_empty() {
            error.get_or_insert_with(|| "it maps no fields: add a field, or `dynamic`".to_owned());
        }
        let mut mappings = doc! { "dynamic": index.dynamic };
        let fields = index.root.into_fields();
        if !fields.is_empty() {
            mappings.insert("fields", fields);
        }
        let mut definition = index.options;
        definition.insert("mappings", mappings);
        SearchIndexDeclaration {
            name: index.name,
            kind: SearchIndexKind::Search,
            definition,
            error,
        }
    }
}

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
/// # #[derive(serde::Serialize, serde::Deserialize, Document)]
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
    pub fn new(name: impl Into<String>) -> Self {
        VectorSearchIndex {
            name: name.into(),
            fields: Vec::new(),
            error: None,
        }
    }

    /// Adds a vector of 1 to 8192 dimensions. Quantization: that of the server by default, which is none.
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

/// The stored path of a field.
fn path_of<A: AsPath>(path: &A) -> Result<&str, String> {
    let path = path.raw().dotted();
    let is_index = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if path.is_empty() {
        Err("a field is missing: the whole document is mapped by `dynamic`".to_owned())
    } else if path.split('.').any(is_index) {
        Err(format!(
            "`{path}` is one element of an array, and an index holds all of them"
        ))
    } else {
        Ok(path)
    }
}
