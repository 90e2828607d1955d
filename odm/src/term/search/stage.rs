//! The options of the stages `$search` and `$searchMeta`.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    path::Types,
    term::{
        expr::{Raw, print},
        search::{Argument, Clause, FacetCollector, Operator, SearchPaths, invalid, path::paths},
        sort::{Direction, IntoSort},
    },
    values::search_field::Strings,
};

/// A search over documents of type `R`: an operator, or a [collector of facets](crate::search::facets), and the options of the stage.
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{Search, text};
/// let page = Pipeline::<Order>::new().search(|o| {
///     Search::new(text(o.note(), "tea"))
///         .index("orders")
///         .highlight(o.note())
///         .count_total()
///         .sort(o.created_at().desc())
/// });
/// assert_eq!(
///     page.to_string(),
///     concat!(
///         r#"[{"$search": {"index": "orders", "text": {"query": "tea", "path": "note"}, "#,
///         r#""highlight": {"path": "note"}, "count": {"type": "total"}, "sort": {"created_at": -1}}}]"#
///     )
/// );
/// ```
#[must_use = "a search does nothing until it is given to a stage"]
pub struct Search<R> {
    index: Option<String>,
    operator: Argument,
    options: Document,
    error: Option<Box<Error>>,
    root: Types<R>,
}

impl<R> Search<R> {
    /// A search by an operator, in the index `default`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::{Search, text};
    /// let found = Search::new(text(Order::fields().note(), "tea"));
    /// assert_eq!(found.to_string(), r#"{"text": {"query": "tea", "path": "note"}}"#);
    /// ```
    pub fn new(operator: impl Into<Clause<R>>) -> Self {
        Self::of(operator.into().operator)
    }

    pub(super) fn of(operator: Argument) -> Self {
        Search {
            index: None,
            operator,
            options: Document::new(),
            error: None,
            root: PhantomData,
        }
    }

    fn set(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value);
        self
    }

    fn set_in(mut self, option: &str, name: &str, value: impl Into<Bson>) -> Self {
        match self.options.get_document_mut(option) {
            Ok(fields) => {
                fields.insert(name, value);
            }
            Err(_) => {
                self.options.insert(option, doc! { name: value.into() });
            }
        }
        self
    }

    fn fail(mut self, error: Box<Error>) -> Self {
        self.error.get_or_insert(error);
        self
    }

    /// The name of the index. Default: `default`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "tea").index("notes");
    /// assert!(found.to_string().starts_with(r#"{"index": "notes", "text""#));
    /// ```
    pub fn index(mut self, name: impl Into<String>) -> Self {
        self.index = Some(name.into());
        self
    }

    /// The fields whose found words are returned with the text around them, by
    /// [`search_highlights`](crate::search::search_highlights).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let found = search::Search::new(search::text(o.note(), "tea")).highlight((o.note(), o.tags()));
    /// assert!(found.to_string().contains(r#""highlight": {"path": ["note", "tags"]}"#));
    /// ```
    pub fn highlight(self, fields: impl SearchPaths<R, Strings>) -> Self {
        match paths(fields) {
            Ok(path) => self.set_in("highlight", "path", path),
            Err(error) => self.fail(error),
        }
    }

    /// Maximum number of characters of a field that are searched for highlights. Default: 500,000.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let found = search::Search::new(search::text(o.note(), "tea")).highlight(o.note()).highlight_chars(1000);
    /// assert!(found.to_string().contains(r#""maxCharsToExamine": 1000"#));
    /// ```
    #[doc(alias = "maxCharsToExamine")]
    pub fn highlight_chars(self, characters: u32) -> Self {
        self.set_in("highlight", "maxCharsToExamine", i64::from(characters))
    }

    /// Maximum number of passages with highlights of each field of a document. Default: 5.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let found = search::Search::new(search::text(o.note(), "tea")).highlight(o.note()).highlight_passages(2);
    /// assert!(found.to_string().contains(r#""maxNumPassages": 2"#));
    /// ```
    #[doc(alias = "maxNumPassages")]
    pub fn highlight_passages(self, passages: u32) -> Self {
        self.set_in("highlight", "maxNumPassages", i64::from(passages))
    }

    /// Counts all documents that the search finds; see [`SearchMeta`](crate::search::SearchMeta). Default: a lower bound.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).count_total();
    /// assert!(found.to_string().contains(r#""count": {"type": "total"}"#));
    /// ```
    pub fn count_total(self) -> Self {
        self.set("count", doc! { "type": "total" })
    }

    /// Counts the documents up to a number, above which the count is a lower bound. Default: 1000.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).count_up_to(100);
    /// assert!(found.to_string().contains(r#""count": {"type": "lowerBound", "threshold": 100}"#));
    /// ```
    pub fn count_up_to(self, threshold: u32) -> Self {
        self.set(
            "count",
            doc! { "type": "lowerBound", "threshold": i64::from(threshold) },
        )
    }

    /// Returns the fields that the index stores (`storedSource`) without reading the documents. The type stays the same: if the index
    /// does not store all fields of the model, state the type of the results by [`assume`](crate::Pipeline::assume).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).return_stored_source();
    /// assert!(found.to_string().contains(r#""returnStoredSource": true"#));
    /// ```
    #[doc(alias = "returnStoredSource")]
    pub fn return_stored_source(self) -> Self {
        self.set("returnStoredSource", true)
    }

    /// Computes how the score was obtained, for [`search_score_details`](crate::search::search_score_details).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).score_details();
    /// assert!(found.to_string().contains(r#""scoreDetails": true"#));
    /// ```
    #[doc(alias = "scoreDetails")]
    pub fn score_details(self) -> Self {
        self.set("scoreDetails", true)
    }

    /// Sorts by fields that the index holds. Default: by the score, highest first. Keys are added to those of earlier calls.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let found = search::Search::new(search::text(o.note(), "tea")).sort((o.total().desc(), o.id().asc()));
    /// assert!(found.to_string().contains(r#""sort": {"total": -1, "_id": 1}"#));
    /// ```
    pub fn sort(mut self, keys: impl IntoSort<R>) -> Self {
        for (name, direction) in keys.into_sort() {
            if matches!(direction, Bson::Document(_)) {
                let reason = "a search is not sorted by the score of a text index: use `sort_by_score`";
                return self.fail(invalid(&name, reason));
            }
            self = self.set_in("sort", &name, direction);
        }
        self
    }

    /// Sorts by the score, after the keys of earlier calls of [`sort`](Search::sort).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let found = search::Search::new(search::text(o.note(), "tea"))
    ///     .sort_by_score(Direction::Descending)
    ///     .sort(o.id().asc());
    /// assert!(found.to_string().contains(r#""sort": {"score": {"$meta": "searchScore", "order": -1}, "_id": 1}"#));
    /// ```
    pub fn sort_by_score(self, direction: Direction) -> Self {
        let has_field = (self.options.get_document("sort")).is_ok_and(|sort| sort.contains_key("score"));
        let name = if has_field { "searchScore" } else { "score" };
        self.set_in(
            "sort",
            name,
            doc! { "$meta": "searchScore", "order": Bson::from(direction) },
        )
    }

    /// Only the documents after one, by its [`search_sequence_token`](crate::search::search_sequence_token) in the results of the same
    /// search.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).search_after("CMtJGgYQuq+ngwgaCSkAjBYH7AAAAA==");
    /// assert!(found.to_string().contains(r#""searchAfter": "CMtJ"#));
    /// ```
    #[doc(alias = "searchAfter")]
    pub fn search_after(self, token: impl Into<String>) -> Self {
        self.set("searchAfter", token.into())
    }

    /// Only the documents before one, the nearest first, by its [`search_sequence_token`](crate::search::search_sequence_token) in the
    /// results of the same search.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).search_before("CMtJGgYQuq+ngwgaCSkAjBYH7AAAAA==");
    /// assert!(found.to_string().contains(r#""searchBefore": "CMtJ"#));
    /// ```
    #[doc(alias = "searchBefore")]
    pub fn search_before(self, token: impl Into<String>) -> Self {
        self.set("searchBefore", token.into())
    }

    /// Records the words that a user has searched for, for the statistics of Atlas.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).track("tea");
    /// assert!(found.to_string().contains(r#""tracking": {"searchTerms": "tea"}"#));
    /// ```
    #[doc(alias = "tracking")]
    pub fn track(self, terms: impl Into<String>) -> Self {
        self.set("tracking", doc! { "searchTerms": terms.into() })
    }

    /// Searches the segments of the index on dedicated nodes in parallel. Default: no.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::Search::new(search::text(Order::fields().note(), "tea")).concurrent();
    /// assert!(found.to_string().contains(r#""concurrent": true"#));
    /// ```
    pub fn concurrent(self) -> Self {
        self.set("concurrent", true)
    }

    /// The argument of `$search`.
    pub(crate) fn into_argument(self) -> Raw {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut argument = Document::new();
        if let Some(index) = self.index {
            if index.is_empty() {
                return Err(invalid("", "the name of a search index cannot be empty"));
            }
            argument.insert("index", index);
        }
        argument.extend(self.operator?);
        if let Ok(highlight) = self.options.get_document("highlight")
            && !highlight.contains_key("path")
        {
            let reason = "`highlight_chars` and `highlight_passages` need the fields of `highlight`";
            return Err(invalid("", reason));
        }
        if self.options.contains_key("searchAfter") && self.options.contains_key("searchBefore") {
            return Err(invalid(
                "",
                "`search_after` and `search_before` exclude each other",
            ));
        }
        argument.extend(self.options);
        Ok(argument.into())
    }

    /// The argument of `$searchMeta`, whose results contain no documents.
    pub(crate) fn into_meta_argument(self) -> Raw {
        let is_other = |name: &&String| !matches!(name.as_str(), "count" | "concurrent" | "tracking");
        if let Some(name) = self.options.keys().find(is_other) {
            let reason =
                format!("`{name}` is an option of the found documents, which `search_meta` does not return");
            return Err(invalid("", reason));
        }
        self.into_argument()
    }
}

impl<R, K> Operator<R, K> {
    /// A [search](Search) by this operator in the index of this name. Further options are methods of [`Search`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = Pipeline::<Order>::new().search(|o| search::text(o.note(), "tea").index("notes").count_total());
    /// assert!(found.to_string().starts_with(r#"[{"$search": {"index": "notes", "text""#));
    /// ```
    pub fn index(self, name: impl Into<String>) -> Search<R> {
        Search::new(self).index(name)
    }
}

impl<R, K> From<Operator<R, K>> for Search<R> {
    fn from(operator: Operator<R, K>) -> Self {
        Search::new(operator)
    }
}

impl<R> From<Clause<R>> for Search<R> {
    fn from(clause: Clause<R>) -> Self {
        Search::new(clause)
    }
}

impl<R> From<FacetCollector<R>> for Search<R> {
    fn from(collector: FacetCollector<R>) -> Self {
        Search::of(collector.into_document())
    }
}

impl<R> Clone for Search<R> {
    fn clone(&self) -> Self {
        Search {
            index: self.index.clone(),
            operator: self.operator.clone(),
            options: self.options.clone(),
            error: self.error.clone(),
            root: PhantomData,
        }
    }
}

impl<R> fmt::Display for Search<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&self.clone().into_argument(), f)
    }
}

impl<R> fmt::Debug for Search<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Search({self})")
    }
}
