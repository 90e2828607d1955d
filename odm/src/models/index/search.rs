//! Declared search indexes: the builder behind `#[document(search_index(…))]`, and their
//! definitions for `createSearchIndexes`.
//!
//! Definitions: <https://www.mongodb.com/docs/atlas/atlas-search/define-field-mappings/>.

use std::fmt;

use crate::{
    base::bson::{Bson, Document, doc},
    models::index::search_mapping::SearchMapping,
    path::{AsPath, marker::Readable},
    values::search_field::{SearchDocument, SearchField},
};

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
    ///
    /// ```
    /// use marula::index::SearchIndexKind;
    /// assert_eq!(SearchIndexKind::VectorSearch.as_str(), "vectorSearch");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SearchIndexKind::Search => "search",
            SearchIndexKind::VectorSearch => "vectorSearch",
        }
    }
}

/// A search index or vector search index that a model declares: a [`SearchIndex`] or a
/// [`VectorSearchIndex`](crate::index::VectorSearchIndex).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct SearchIndexDeclaration {
    pub(super) name: String,
    pub(super) kind: SearchIndexKind,
    pub(super) definition: Document,
    pub(super) error: Option<String>,
}

impl SearchIndexDeclaration {
    /// The name of the index.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::{SearchIndexKind, SearchIndexDeclaration};
    /// #[derive(Document)]
    /// #[document(collection = "films", search_index(name = "titles", string(title)))]
    /// struct Film {
    ///     _id: i64,
    ///     title: String,
    /// }
    /// let index: &SearchIndexDeclaration = &Film::search_indexes()[0];
    /// assert_eq!(index.index_name(), "titles");
    /// ```
    #[must_use]
    pub fn index_name(&self) -> &str {
        &self.name
    }

    /// The type of the index.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::{SearchIndexKind, SearchIndexDeclaration};
    /// #[derive(Document)]
    /// #[document(collection = "films", search_index(name = "titles", string(title)))]
    /// struct Film {
    ///     _id: i64,
    ///     title: String,
    /// }
    /// let index: &SearchIndexDeclaration = &Film::search_indexes()[0];
    /// assert_eq!(index.kind(), SearchIndexKind::Search);
    /// ```
    #[must_use]
    pub fn kind(&self) -> SearchIndexKind {
        self.kind
    }

    /// The definition, as `createSearchIndexes` has it.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::{SearchIndexKind, SearchIndexDeclaration};
    /// #[derive(Document)]
    /// #[document(collection = "films", search_index(name = "titles", string(title)))]
    /// struct Film {
    ///     _id: i64,
    ///     title: String,
    /// }
    /// let index: &SearchIndexDeclaration = &Film::search_indexes()[0];
    /// assert!(!index.definition().get_document("mappings").unwrap().get_bool("dynamic").unwrap());
    /// ```
    #[must_use]
    pub fn definition(&self) -> &Document {
        &self.definition
    }

    /// Adds a filter field to a vector search index, unless the index contains the field.
    pub(crate) fn filter_by(&mut self, path: &str) {
        if self.kind != SearchIndexKind::VectorSearch {
            return;
        }
        if let Ok(fields) = self.definition.get_array_mut("fields") {
            let is_path = |field: &Bson| {
                field
                    .as_document()
                    .is_some_and(|f| f.get_str("path").is_ok_and(|known| known == path))
            };
            if !fields.iter().any(is_path) {
                fields.push(doc! { "type": "filter", "path": path }.into());
            }
        }
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
        crate::base::relaxed_json::relaxed(&self.definition).fmt(f)
    }
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
/// # #[derive(Document)]
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
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let index = SearchIndex::new("titles").field(&f.title(), SearchMapping::string());
    /// assert_eq!(SearchIndexDeclaration::from(index).index_name(), "titles");
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        SearchIndex {
            name: name.into(),
            dynamic: false,
            root: Node::default(),
            options: Document::new(),
            error: None,
        }
    }

    /// Maps all fields of all types that the index can map by themselves. Default: only the fields
    /// that are added.
    ///
    /// ```
    /// use marula::index::{SearchIndex, SearchIndexDeclaration};
    /// let index: SearchIndexDeclaration = SearchIndex::new("all").dynamic().into();
    /// assert_eq!(index.to_string(), r#"{"mappings": {"dynamic": true}}"#);
    /// ```
    pub fn dynamic(mut self) -> Self {
        self.dynamic = true;
        self
    }

    /// Adds a mapping of a field. A field can have several.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let index: SearchIndexDeclaration = SearchIndex::new("titles")
    ///     .field(&f.title(), SearchMapping::string())
    ///     .field(&f.year(), SearchMapping::number())
    ///     .into();
    /// assert!(index.to_string().contains(r#""year": {"type": "number"}"#));
    /// ```
    pub fn field<K, A>(self, path: &A, mapping: SearchMapping<K>) -> Self
    where
        A: AsPath<Mode: Readable, Value: SearchField<K>>,
    {
        self.add(path, mapping.options)
    }

    /// Adds the mapping of an embedded document, with `dynamic` for the fields below it. Fields
    /// that are added by their own paths need none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let index: SearchIndexDeclaration = SearchIndex::new("studios").document(&f.studio(), true).into();
    /// assert!(index.to_string().contains(r#""studio": {"type": "document", "dynamic": true}"#));
    /// ```
    pub fn document<A>(self, path: &A, dynamic: bool) -> Self
    where
        A: AsPath<Mode: Readable, Value: SearchDocument>,
    {
        self.add(path, doc! { "type": "document", "dynamic": dynamic })
    }

    /// Adds the mapping of an array of documents whose elements are searched one by one, by the
    /// operator `embeddedDocument`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::index::*;
    /// # #[derive(Document)] #[document(collection = "films")]
    /// # struct Film { _id: i64, title: String, year: i32, plot: Vec<f32>, studio: Studio, awards: Vec<Studio> }
    /// # #[derive(Embedded)] struct Studio { name: String }
    /// let f = Film::fields();
    /// let index: SearchIndexDeclaration = SearchIndex::new("awards")
    ///     .embedded_documents(&f.awards(), true)
    ///     .into();
    /// assert!(index.to_string().contains(r#""awards": {"type": "embeddedDocuments", "dynamic": true}"#));
    /// ```
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
    ///
    /// ```
    /// use marula::index::{SearchIndex, SearchIndexDeclaration};
    /// let index: SearchIndexDeclaration = SearchIndex::new("all").dynamic().analyzer("lucene.english").into();
    /// assert!(index.to_string().contains(r#""analyzer": "lucene.english""#));
    /// ```
    pub fn analyzer(self, name: &str) -> Self {
        self.raw_option("analyzer", name)
    }

    /// The analyzer for the texts of queries. Default: that of the index.
    ///
    /// ```
    /// use marula::index::{SearchIndex, SearchIndexDeclaration};
    /// let index: SearchIndexDeclaration = SearchIndex::new("all").dynamic().search_analyzer("lucene.english").into();
    /// assert!(index.to_string().contains(r#""searchAnalyzer": "lucene.english""#));
    /// ```
    pub fn search_analyzer(self, name: &str) -> Self {
        self.raw_option("searchAnalyzer", name)
    }

    /// Any other option of the definition, such as `synonyms` or `storedSource`. It is sent
    /// unchecked.
    ///
    /// ```
    /// use marula::index::{SearchIndex, SearchIndexDeclaration};
    /// let index: SearchIndexDeclaration = SearchIndex::new("all").dynamic().raw_option("numPartitions", 2).into();
    /// assert!(index.to_string().contains(r#""numPartitions": 2"#));
    /// ```
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

/// The stored path of a field.
pub(super) fn path_of<A: AsPath>(path: &A) -> Result<&str, String> {
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
