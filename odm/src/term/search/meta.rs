//! The results of a search beside the documents: counts, facets, highlights and tokens.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    base::bson::{Bson, DateTime, DecodeError, Document, doc},
    path::{
        AsPath, Inner, Mode, Path, RawPath,
        field::{DerivedDocument, Field},
    },
    term::expr::Expr,
    values::{
        codec::{Decode, Value, read},
        record::result_types,
    },
};

result_types! {
    /// The number of documents that a search finds, and its facets: the result of
    /// [`Pipeline::search_meta`](crate::Pipeline::search_meta) and the value of [`search_meta`].
    [Clone, Debug, PartialEq, Serialize, Deserialize] SearchMeta<> SearchMetaFields {
        /// The number of documents.
        count: SearchCount;
        /// The facets by their names, if the search [collects](crate::search::facets) some.
        facets as "facet": Option<BTreeMap<String, Facet>>;
    }
    /// The number of documents that a search finds: one of both fields has a value.
    [Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize] SearchCount<> SearchCountFields {
        /// All documents, with [`count_total`](crate::search::Search::count_total).
        total: Option<i64>;
        /// The documents, if they are fewer than the threshold of the count, and the threshold or more otherwise.
        lower_bound as "lowerBound": Option<i64>;
    }
    /// The buckets of one facet.
    [Clone, Debug, PartialEq, Serialize, Deserialize] Facet<> FacetFields {
        /// The buckets: those of strings by their counts, the greatest first, those of intervals in their order.
        buckets: Vec<FacetBucket>;
    }
    /// One value or interval of a facet.
    [Clone, Debug, PartialEq, Serialize, Deserialize] FacetBucket<> FacetBucketFields {
        /// The string, or the lower boundary of the interval, or the name of the bucket of other values.
        value as "_id": Bson;
        /// The number of documents.
        count: i64;
    }
    /// A passage of a field with found words; see [`search_highlights`].
    [Clone, Debug, PartialEq, Serialize, Deserialize] Highlight<> HighlightFields {
        /// The path of the field; a document with the analyzer for a path of [`multi`](crate::search::multi).
        path: Bson;
        /// The parts of the passage in their order.
        texts: Vec<HighlightText>;
        /// The score of the passage.
        score: f64;
    }
    /// A part of a passage.
    [Clone, Debug, PartialEq, Eq, Serialize, Deserialize] HighlightText<> HighlightTextFields {
        /// The text.
        value: String;
        /// `hit` for a found word, `text` for the text around it.
        kind as "type": String;
    }
}

impl SearchMeta {
    /// The number of documents, or its lower bound.
    ///
    /// ```
    /// # async fn run(orders: marula::Collection<marula_guide::Order>) -> marula::Result<()> {
    /// # use marula_guide::*;
    /// let meta = orders.aggregate().search_meta(|o| search::text(o.note(), "tea").index("notes")).first().await?;
    /// println!("{} orders or more", meta.map_or(0, |meta| meta.documents()));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn documents(&self) -> i64 {
        self.count.total.or(self.count.lower_bound).unwrap_or(0)
    }

    /// The buckets of a facet; none for a name that the search does not collect.
    ///
    /// ```
    /// # async fn run(orders: marula::Collection<marula_guide::Order>) -> marula::Result<()> {
    /// # use marula_guide::*;
    /// let tags = orders.aggregate().search_meta(|o| search::facets().string("tags", o.tags(), 10).index("notes"));
    /// if let Some(meta) = tags.first().await? {
    ///     for bucket in meta.facet("tags") {
    ///         println!("{}: {}", bucket.text().unwrap_or_default(), bucket.count);
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn facet(&self, name: &str) -> &[FacetBucket] {
        let facet = self.facets.as_ref().and_then(|facets| facets.get(name));
        facet.map_or(&[], |facet| &facet.buckets)
    }
}

impl FacetBucket {
    /// The value of a facet of strings, or the name of the bucket of other values.
    ///
    /// ```
    /// # fn show(bucket: &marula::search::FacetBucket) {
    /// println!("{}", bucket.text().unwrap_or("no text"));
    /// # }
    /// ```
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.value.as_str()
    }

    /// The lower boundary of an interval of numbers.
    ///
    /// ```
    /// # fn show(bucket: &marula::search::FacetBucket) {
    /// println!("{:?}", bucket.number());
    /// # }
    /// ```
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match &self.value {
            Bson::Double(number) => Some(*number),
            Bson::Int32(number) => Some(f64::from(*number)),
            #[expect(clippy::cast_precision_loss, reason = "a boundary was given as a double")]
            Bson::Int64(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// The lower boundary of an interval of dates.
    ///
    /// ```
    /// # fn show(bucket: &marula::search::FacetBucket) {
    /// println!("{:?}", bucket.date());
    /// # }
    /// ```
    #[must_use]
    pub fn date(&self) -> Option<DateTime> {
        match &self.value {
            Bson::DateTime(date) => Some(*date),
            _ => None,
        }
    }
}

impl HighlightText {
    /// Whether the text is a found word.
    ///
    /// ```
    /// # fn show(highlight: &marula::search::Highlight) {
    /// for part in &highlight.texts {
    ///     if part.is_hit() {
    ///         print!("<em>{}</em>", part.value);
    ///     } else {
    ///         print!("{}", part.value);
    ///     }
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.kind == "hit"
    }
}

/// The passages of the fields of [`highlight`](crate::search::Search::highlight) with found words.
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{Highlight, Search, search_highlights, text};
/// #[derive(Shape)]
/// struct Found {
///     #[document(flatten)]
///     order: Order,
///     highlights: Vec<Highlight>,
/// }
/// let found = Pipeline::<Order>::new()
///     .search(|o| Search::new(text(o.note(), "tea")).highlight(o.note()))
///     .add_fields(|_| FoundAdded { highlights: search_highlights() });
/// assert!(found.to_string().contains(r#"{"$set": {"highlights": {"$meta": "searchHighlights"}}}"#));
/// ```
#[doc(alias = "$meta")]
pub fn search_highlights<R>() -> Expr<R, Vec<Highlight>> {
    Expr::unchecked(doc! { "$meta": "searchHighlights" })
}

/// How the score was obtained, with [`score_details`](crate::search::Search::score_details): `value`, `description` and `details`.
///
/// ```
/// let details = marula::search::search_score_details::<()>();
/// assert_eq!(details.to_string(), r#"{"$meta": "searchScoreDetails"}"#);
/// ```
#[doc(alias = "$meta")]
pub fn search_score_details<R>() -> Expr<R, Document> {
    Expr::unchecked(doc! { "$meta": "searchScoreDetails" })
}

/// The position of a document in the results, for [`search_after`](crate::search::Search::search_after) and
/// [`search_before`](crate::search::Search::search_before).
///
/// ```
/// let token = marula::search::search_sequence_token::<()>();
/// assert_eq!(token.to_string(), r#"{"$meta": "searchSequenceToken"}"#);
/// ```
#[doc(alias = "$meta")]
pub fn search_sequence_token<R>() -> Expr<R, String> {
    Expr::unchecked(doc! { "$meta": "searchSequenceToken" })
}

/// The counts and facets of the search of the pipeline (`$$SEARCH_META`), the same for each document (MongoDB 4.4.11+ and 5.0.5+). The
/// stage [`search_meta`](crate::Pipeline::search_meta) returns them without documents.
///
/// ```
/// let meta = marula::search::search_meta::<()>();
/// assert_eq!(meta.to_string(), r#""$$SEARCH_META""#);
/// ```
#[doc(alias = "$$SEARCH_META")]
pub fn search_meta<R>() -> Expr<R, SearchMeta> {
    Expr::unchecked("$$SEARCH_META")
}

/// The score of [`rank_fusion`](crate::Pipeline::rank_fusion) and [`score_fusion`](crate::Pipeline::score_fusion) (MongoDB 8.0+).
///
/// ```
/// let score = marula::search::fusion_score::<()>();
/// assert_eq!(score.to_string(), r#"{"$meta": "score"}"#);
/// ```
#[doc(alias = "$meta")]
pub fn fusion_score<R>() -> Expr<R, f64> {
    Expr::unchecked(doc! { "$meta": "score" })
}

/// How the score of a fusion was obtained, with `score_details()` of the fusion: `value`, `description` and `details`, which has the
/// rank or the score in each pipeline.
///
/// ```
/// let details = marula::search::fusion_score_details::<()>();
/// assert_eq!(details.to_string(), r#"{"$meta": "scoreDetails"}"#);
/// ```
#[doc(alias = "$meta")]
pub fn fusion_score_details<R>() -> Expr<R, Document> {
    Expr::unchecked(doc! { "$meta": "scoreDetails" })
}
