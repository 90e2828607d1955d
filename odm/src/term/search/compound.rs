//! Operators that contain others.

use crate::{
    base::bson::{Bson, Document, doc},
    path::{
        AsPath, ElementNav, Path, Read,
        field::Field,
        marker::{Array, Readable},
        to_value_path,
    },
    term::search::{Clause, Operator, kinds, name_of},
    values::search_field::SearchDocument,
};

kinds! {
    /// The kind of [`compound`].
    CompoundOperator;
    /// The kind of [`embedded_document`].
    EmbeddedDocumentOperator;
}

/// Joins operators: `must` and `filter` must match, `must_not` must not, and `should` raises the score. With clauses `should` only,
/// one of them must match. A compound without clauses is an error.
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{self, compound, text};
/// let o = Order::fields();
/// let found = compound()
///     .must(text(o.note(), "tea"))
///     .should(text(o.tags(), "new").boost(2.0))
///     .filter(search::equals(o.customer(), 5));
/// assert_eq!(
///     found.to_string(),
///     concat!(
///         r#"{"compound": {"must": [{"text": {"query": "tea", "path": "note"}}], "#,
///         r#""should": [{"text": {"query": "new", "path": "tags", "score": {"boost": {"value": 2.0}}}}], "#,
///         r#""filter": [{"equals": {"path": "customer", "value": 5}}]}}"#
///     )
/// );
/// ```
pub fn compound<R>() -> Operator<R, CompoundOperator> {
    Operator::new("compound", Ok(Document::new()))
}

impl<R> Operator<R, CompoundOperator> {
    fn clause(self, name: &str, clause: impl Into<Clause<R>>) -> Self {
        let clause = clause.into().operator.map(Bson::Document);
        self.push(name, clause)
    }

    /// Adds an operator that must match, and whose score counts.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let all = search::compound().must(search::text(Order::fields().note(), "tea"));
    /// assert!(all.to_string().contains(r#""must": [{"text""#));
    /// ```
    pub fn must(self, clause: impl Into<Clause<R>>) -> Self {
        self.clause("must", clause)
    }

    /// Adds an operator that must not match.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let all = search::compound().must_not(search::text(Order::fields().note(), "tea"));
    /// assert!(all.to_string().contains(r#""mustNot": [{"text""#));
    /// ```
    #[doc(alias = "mustNot")]
    pub fn must_not(self, clause: impl Into<Clause<R>>) -> Self {
        self.clause("mustNot", clause)
    }

    /// Adds an operator that raises the score of the documents that it finds.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let all = search::compound().should(search::text(Order::fields().note(), "tea"));
    /// assert!(all.to_string().contains(r#""should": [{"text""#));
    /// ```
    pub fn should(self, clause: impl Into<Clause<R>>) -> Self {
        self.clause("should", clause)
    }

    /// Adds an operator that must match, and whose score does not count.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let all = search::compound().filter(search::exists(Order::fields().note()));
    /// assert!(all.to_string().contains(r#""filter": [{"exists""#));
    /// ```
    pub fn filter(self, clause: impl Into<Clause<R>>) -> Self {
        self.clause("filter", clause)
    }

    /// Number of clauses [`should`](Operator::should) that must match, at most their number. Default: 0.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let two = search::compound()
    ///     .should(search::text(o.note(), "tea"))
    ///     .should(search::text(o.note(), "cup"))
    ///     .should(search::text(o.tags(), "new"))
    ///     .minimum_should_match(2);
    /// assert!(two.to_string().contains(r#""minimumShouldMatch": 2"#));
    /// ```
    #[doc(alias = "minimumShouldMatch")]
    pub fn minimum_should_match(self, count: u32) -> Self {
        self.set("minimumShouldMatch", i64::from(count))
    }
}

/// Finds documents with an element of an array that matches an operator as a whole: the clauses of a [`compound`] must match the same
/// element. The index needs the mapping `embeddedDocuments` of the array. The closure receives the fields of the elements.
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{self, compound};
/// let found = search::embedded_document(Order::fields().lines(), |line| {
///     compound()
///         .must(search::text(line.sku(), "tea"))
///         .filter(search::range(line.qty()).gte(2))
/// });
/// assert_eq!(
///     found.to_string(),
///     concat!(
///         r#"{"embeddedDocument": {"path": "lines", "operator": {"compound": {"#,
///         r#""must": [{"text": {"query": "tea", "path": "lines.sku"}}], "#,
///         r#""filter": [{"range": {"path": "lines.qty", "gte": 2}}]}}}}"#
///     )
/// );
/// ```
#[doc(alias = "embeddedDocument")]
pub fn embedded_document<R, A, E, C>(
    path: A,
    operator: impl FnOnce(ElementNav<A::Value, E, Read>) -> C,
) -> Operator<R, EmbeddedDocumentOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Array<Element = E>>,
    E: SearchDocument + Field,
    C: Into<Clause<E>>,
{
    let element = E::nav(Path::from_raw(to_value_path(&path).mark_array()));
    let operator = operator(element).into().operator;
    let argument = name_of(path).and_then(|path| Ok(doc! { "path": path, "operator": operator? }));
    Operator::new("embeddedDocument", argument)
}

/// How the scores of several matching elements are one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementScores {
    /// Their sum: the default of the server.
    Sum,
    /// The greatest.
    Maximum,
    /// The least.
    Minimum,
    /// Their mean.
    Mean,
}

impl<R> Operator<R, EmbeddedDocumentOperator> {
    /// How the scores of several matching elements are one score. Default: their sum.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::ElementScores;
    /// let best = search::embedded_document(Order::fields().lines(), |line| search::text(line.sku(), "tea"))
    ///     .element_scores(ElementScores::Maximum);
    /// assert!(best.to_string().contains(r#""score": {"embedded": {"aggregate": "maximum"}}"#));
    /// ```
    pub fn element_scores(self, scores: ElementScores) -> Self {
        let aggregate = match scores {
            ElementScores::Sum => "sum",
            ElementScores::Maximum => "maximum",
            ElementScores::Minimum => "minimum",
            ElementScores::Mean => "mean",
        };
        self.set_score(Ok(doc! { "embedded": { "aggregate": aggregate } }))
    }
}
