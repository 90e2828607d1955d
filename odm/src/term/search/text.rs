//! Operators on strings.

use crate::{
    base::bson::{Bson, Document, doc},
    path::{AsPath, marker::Readable},
    term::search::{
        Argument, Operator, Queries, SearchPaths, Searchable, invalid, kinds, name_of,
        path::{paths, queries},
    },
    values::search_field::Strings,
};

kinds! {
    /// The kind of [`text`].
    TextOperator;
    /// The kind of [`phrase`].
    PhraseOperator;
    /// The kind of [`autocomplete`].
    AutocompleteOperator;
    /// The kind of [`query_string`].
    QueryStringOperator;
    /// The kind of [`regex`] and [`wildcard`].
    PatternOperator;
    /// The kind of [`more_like_this`].
    MoreLikeThisOperator;
}

/// Kinds of operators whose terms can differ from those of the documents.
#[doc(hidden)]
pub trait Fuzzy {}
impl Fuzzy for TextOperator {}
impl Fuzzy for AutocompleteOperator {}

fn query_and_path<R>(query: impl Queries, path: impl SearchPaths<R, Strings>) -> Argument {
    Ok(doc! { "query": queries(query)?, "path": paths(path)? })
}

/// Finds words of a text in fields of strings, as the analyzer of the index divides them. By default one word suffices.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let o = Order::fields();
/// let found = search::text((o.note(), o.tags()), ["green tea", "coffee"]).fuzzy(1).match_all();
/// assert_eq!(
///     found.to_string(),
///     concat!(
///         r#"{"text": {"query": ["green tea", "coffee"], "path": ["note", "tags"], "#,
///         r#""fuzzy": {"maxEdits": 1}, "matchCriteria": "all"}}"#
///     )
/// );
/// ```
pub fn text<R, P: SearchPaths<R, Strings>>(path: P, query: impl Queries) -> Operator<R, TextOperator> {
    Operator::new("text", query_and_path(query, path))
}

/// Finds words of a text next to one another, in their order.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::phrase(Order::fields().note(), "green tea").slop(2);
/// assert_eq!(
///     found.to_string(),
///     r#"{"phrase": {"query": "green tea", "path": "note", "slop": 2}}"#
/// );
/// ```
pub fn phrase<R, P: SearchPaths<R, Strings>>(path: P, query: impl Queries) -> Operator<R, PhraseOperator> {
    Operator::new("phrase", query_and_path(query, path))
}

/// Finds words by their beginnings, while a user types. The index needs the mapping `autocomplete` of the field.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::autocomplete(Order::fields().note(), "gre te").sequential();
/// assert_eq!(
///     found.to_string(),
///     r#"{"autocomplete": {"query": "gre te", "path": "note", "tokenOrder": "sequential"}}"#
/// );
/// ```
pub fn autocomplete<R, A>(path: A, query: impl Queries) -> Operator<R, AutocompleteOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Strings>>,
{
    let argument = || Ok(doc! { "query": queries(query)?, "path": name_of(path)? });
    Operator::new("autocomplete", argument())
}

/// Finds by a query in Lucene's language, such as `title:(copper OR tin) AND NOT year:1990`. `default_path` is the field of terms
/// without a name.
///
/// The query is a language that can name any indexed field. For what a user has written use [`text`].
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::query_string(Order::fields().note(), "green AND (tea OR coffee)");
/// assert_eq!(
///     found.to_string(),
///     r#"{"queryString": {"defaultPath": "note", "query": "green AND (tea OR coffee)"}}"#
/// );
/// ```
pub fn query_string<R, A>(default_path: A, query: impl Into<String>) -> Operator<R, QueryStringOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Strings>>,
{
    let argument = || Ok(doc! { "defaultPath": name_of(default_path)?, "query": queries(query.into())? });
    Operator::new("queryString", argument())
}

/// Finds terms by a regular expression of Lucene, which must match a whole term. The field needs the analyzer `lucene.keyword`, or
/// [`allow_analyzed_field`](Operator::allow_analyzed_field).
///
/// The query is a language: characters such as `.` and `*` have a meaning.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::regex(Order::fields().tags(), "gr(e|a)y.*");
/// assert_eq!(found.to_string(), r#"{"regex": {"query": "gr(e|a)y.*", "path": "tags"}}"#);
/// ```
pub fn regex<R, P: SearchPaths<R, Strings>>(path: P, query: impl Queries) -> Operator<R, PatternOperator> {
    Operator::new("regex", query_and_path(query, path))
}

/// Finds terms by a pattern in which `?` stands for one character and `*` for any number. The field needs the analyzer
/// `lucene.keyword`, or [`allow_analyzed_field`](Operator::allow_analyzed_field).
///
/// The query is a language; `\` before a character removes its meaning.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::wildcard(Order::fields().tags(), "gr?y*").allow_analyzed_field();
/// assert_eq!(
///     found.to_string(),
///     r#"{"wildcard": {"query": "gr?y*", "path": "tags", "allowAnalyzedField": true}}"#
/// );
/// ```
pub fn wildcard<R, P: SearchPaths<R, Strings>>(path: P, query: impl Queries) -> Operator<R, PatternOperator> {
    Operator::new("wildcard", query_and_path(query, path))
}

/// Finds documents with terms of given texts, which [`like`](Operator::like) adds.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let o = Order::fields();
/// let similar = search::more_like_this().like(o.note(), "green tea").like(o.lines().sku(), "cup");
/// assert_eq!(
///     similar.to_string(),
///     r#"{"moreLikeThis": {"like": {"note": "green tea", "lines": {"sku": "cup"}}}}"#
/// );
/// ```
pub fn more_like_this<R>() -> Operator<R, MoreLikeThisOperator> {
    Operator::new("moreLikeThis", Ok(Document::new()))
}

impl<R, K: Fuzzy> Operator<R, K> {
    /// Finds also words that differ by 1 or 2 characters. Default: only equal words.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "cofee").fuzzy(1);
    /// assert!(found.to_string().contains(r#""fuzzy": {"maxEdits": 1}"#));
    /// ```
    pub fn fuzzy(self, max_edits: u32) -> Self {
        if !(1..=2).contains(&max_edits) {
            return self.fail("`fuzzy` allows words to differ by 1 or 2 characters");
        }
        self.set_fuzzy("maxEdits", max_edits)
    }

    /// Number of characters at the start of each word that must be equal. Default: 0. Words may differ by 2 characters, unless
    /// [`fuzzy`](Operator::fuzzy) states another number.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "cofee").fuzzy(1).fuzzy_prefix(2);
    /// assert!(found.to_string().contains(r#""fuzzy": {"maxEdits": 1, "prefixLength": 2}"#));
    /// ```
    pub fn fuzzy_prefix(self, characters: u32) -> Self {
        self.set_fuzzy("prefixLength", characters)
    }

    /// Maximum number of words of the index that are tried for each word. Default: 50.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "cofee").fuzzy(1).fuzzy_expansions(20);
    /// assert!(found.to_string().contains(r#""fuzzy": {"maxEdits": 1, "maxExpansions": 20}"#));
    /// ```
    pub fn fuzzy_expansions(self, words: u32) -> Self {
        self.set_fuzzy("maxExpansions", words)
    }

    fn set_fuzzy(self, name: &str, value: u32) -> Self {
        if self.has("synonyms") {
            return self.fail(FUZZY_SYNONYMS);
        }
        self.set_in("fuzzy", name, i64::from(value))
    }
}

const FUZZY_SYNONYMS: &str = "`fuzzy` and `synonyms` cannot be combined";

impl<R> Operator<R, TextOperator> {
    /// Finds only documents in which all words occur in one field. Default: one word suffices.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "green tea").match_all();
    /// assert!(found.to_string().contains(r#""matchCriteria": "all""#));
    /// ```
    pub fn match_all(self) -> Self {
        self.set("matchCriteria", "all")
    }

    /// Finds also the synonyms of the words, by a mapping of the index. Not with [`fuzzy`](Operator::fuzzy).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "mug").synonyms("dishes");
    /// assert!(found.to_string().contains(r#""synonyms": "dishes""#));
    /// ```
    pub fn synonyms(self, mapping: impl Into<String>) -> Self {
        if self.has("fuzzy") {
            return self.fail(FUZZY_SYNONYMS);
        }
        self.set("synonyms", mapping.into())
    }
}

impl<R> Operator<R, PhraseOperator> {
    /// Maximum number of positions by which the words may be moved. Default: 0.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::phrase(Order::fields().note(), "green tea").slop(1);
    /// assert!(found.to_string().contains(r#""slop": 1"#));
    /// ```
    pub fn slop(self, positions: u32) -> Self {
        self.set("slop", i64::from(positions))
    }

    /// Finds also the synonyms of the words, by a mapping of the index.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::phrase(Order::fields().note(), "blue mug").synonyms_of("dishes");
    /// assert!(found.to_string().contains(r#""synonyms": "dishes""#));
    /// ```
    pub fn synonyms_of(self, mapping: impl Into<String>) -> Self {
        self.set("synonyms", mapping.into())
    }
}

impl<R> Operator<R, AutocompleteOperator> {
    /// Finds only words next to one another, in the order of the query. Default: in any order.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::autocomplete(Order::fields().note(), "gre te").sequential();
    /// assert!(found.to_string().contains(r#""tokenOrder": "sequential""#));
    /// ```
    pub fn sequential(self) -> Self {
        self.set("tokenOrder", "sequential")
    }
}

impl<R> Operator<R, PatternOperator> {
    /// Allows fields whose analyzer divides texts into terms. Default: an error of the server.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::regex(Order::fields().note(), "te.").allow_analyzed_field();
    /// assert!(found.to_string().contains(r#""allowAnalyzedField": true"#));
    /// ```
    pub fn allow_analyzed_field(self) -> Self {
        self.set("allowAnalyzedField", true)
    }
}

impl<R> Operator<R, MoreLikeThisOperator> {
    /// Adds a text of a field; several texts of one field are alternatives.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let similar = search::more_like_this().like(o.tags(), ["tea", "cup"]);
    /// assert_eq!(similar.to_string(), r#"{"moreLikeThis": {"like": {"tags": ["tea", "cup"]}}}"#);
    /// ```
    pub fn like<A>(mut self, path: A, text: impl Queries) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: Searchable<Strings>>,
    {
        let added = || {
            let name = name_of(path)?;
            Ok((name.as_str().unwrap_or_default().to_owned(), queries(text)?))
        };
        if let Ok(argument) = &mut self.argument {
            let mut like = match argument.remove("like") {
                Some(Bson::Document(like)) => like,
                _ => Document::new(),
            };
            match added().and_then(|(name, text)| insert(&mut like, &name, text, &name)) {
                Ok(()) => {
                    argument.insert("like", like);
                }
                Err(error) => self.argument = Err(error),
            }
        }
        self
    }
}

/// Sets the value at a path.
fn insert(
    document: &mut Document,
    path: &str,
    value: Bson,
    whole: &str,
) -> Result<(), Box<crate::base::error::Error>> {
    match path.split_once('.') {
        None if document.contains_key(path) => Err(invalid(
            whole,
            "`more_like_this` has a text of this field: give all of its texts in one list",
        )),
        None => {
            document.insert(path, value);
            Ok(())
        }
        Some((first, rest)) => {
            let mut inner = match document.get(first) {
                Some(Bson::Document(inner)) => inner.clone(),
                _ => Document::new(),
            };
            insert(&mut inner, rest, value, whole)?;
            document.insert(first, inner);
            Ok(())
        }
    }
}
