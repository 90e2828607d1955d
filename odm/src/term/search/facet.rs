//! The collector of facets: numbers of the found documents by the values of a field.

use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, DateTime, Document, doc},
        error::Error,
    },
    path::{AsPath, Types, marker::Readable},
    term::search::{Argument, Clause, Search, Searchable, invalid, name_of, value_of},
    values::{
        search_field::{Dates, Numbers, Strings},
        value::IntoValue,
    },
};

/// The most buckets of a facet of strings, and the most boundaries of another.
const MAX_BUCKETS: u32 = 1000;

/// Counts the documents that a search finds by the values of fields; see [`facets`].
#[derive(Debug)]
#[must_use = "a collector does nothing until it is given to a stage"]
pub struct FacetCollector<R> {
    operator: Option<Argument>,
    facets: Argument,
    root: Types<R>,
}

impl<R> Clone for FacetCollector<R> {
    fn clone(&self) -> Self {
        FacetCollector {
            operator: self.operator.clone(),
            facets: self.facets.clone(),
            root: PhantomData,
        }
    }
}

/// Collects facets: for [`search_meta`](crate::Pipeline::search_meta), which returns them, and for
/// [`search`](crate::Pipeline::search), which returns documents and has the facets in [`search_meta`](crate::search::search_meta).
///
/// The index needs the mapping `token` of a field of strings (`stringFacet` in older indexes), `number` or `date`.
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{facets, text};
/// let numbers = Pipeline::<Order>::new().search_meta(|o| {
///     facets()
///         .of(text(o.note(), "tea"))
///         .string("tags", o.tags(), 10)
///         .number("totals", o.total(), [0, 100, 1000])
/// });
/// assert_eq!(
///     numbers.to_string(),
///     concat!(
///         r#"[{"$searchMeta": {"facet": {"operator": {"text": {"query": "tea", "path": "note"}}, "facets": {"#,
///         r#""tags": {"type": "string", "path": "tags", "numBuckets": 10}, "#,
///         r#""totals": {"type": "number", "path": "total", "boundaries": [0.0, 100.0, 1000.0]}}}}}]"#
///     )
/// );
/// ```
pub fn facets<R>() -> FacetCollector<R> {
    FacetCollector {
        operator: None,
        facets: Ok(Document::new()),
        root: PhantomData,
    }
}

impl<R> FacetCollector<R> {
    /// The operator that finds the documents. Default: all documents of the index.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let found = search::facets().of(search::text(o.note(), "tea")).string("tags", o.tags(), 10);
    /// # drop(found);
    /// ```
    pub fn of(mut self, operator: impl Into<Clause<R>>) -> Self {
        self.operator = Some(operator.into().operator);
        self
    }

    /// Counts the values of a field of strings, the most frequent first: at most `buckets` of them, which is 1 to 1000.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::facets().string("tags", Order::fields().tags(), 10);
    /// # drop(found);
    /// ```
    pub fn string<A>(self, name: &str, path: A, buckets: u32) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: Searchable<Strings>>,
    {
        let facet = name_of(path).and_then(|path| {
            if !(1..=MAX_BUCKETS).contains(&buckets) {
                return Err(invalid(
                    name,
                    format!("a facet of strings has 1 to {MAX_BUCKETS} buckets"),
                ));
            }
            Ok(doc! { "type": "string", "path": path, "numBuckets": i64::from(buckets) })
        });
        self.add(name, facet)
    }

    /// Counts the numbers in the intervals between boundaries, which are 2 to 1000 in ascending order. An interval contains its lower
    /// boundary. Numbers outside are counted by [`others`](FacetCollector::others).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::facets().number("totals", Order::fields().total(), [0, 100, 1000]);
    /// # drop(found);
    /// ```
    pub fn number<A, N: Into<f64>>(self, name: &str, path: A, boundaries: impl IntoIterator<Item = N>) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: Searchable<Numbers>>,
    {
        let boundaries: Vec<f64> = boundaries.into_iter().map(Into::into).collect();
        let is_ascending = boundaries.is_sorted_by(|a, b| a < b) && boundaries.iter().all(|b| b.is_finite());
        let boundaries = boundaries.into_iter().map(Bson::Double).collect();
        self.intervals(name, "number", path, boundaries, is_ascending)
    }

    /// Counts the dates in the intervals between boundaries, which are 2 to 1000 in ascending order. An interval contains its lower
    /// boundary. Dates outside are counted by [`others`](FacetCollector::others).
    ///
    /// ```
    /// # use marula_guide::*;
    /// let days = [0, 1, 2].map(|day| DateTime::from_millis(day * 86_400_000));
    /// let found = search::facets().date("days", Order::fields().created_at(), days);
    /// # drop(found);
    /// ```
    pub fn date<A, D: IntoValue<DateTime>>(
        self,
        name: &str,
        path: A,
        boundaries: impl IntoIterator<Item = D>,
    ) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: Searchable<Dates>>,
    {
        let boundaries = boundaries.into_iter();
        let boundaries: Result<Vec<Bson>, Box<Error>> = boundaries
            .map(|boundary| value_of(&name.into(), boundary.into_value()))
            .collect();
        match boundaries {
            Err(error) => self.add(name, Err(error)),
            Ok(boundaries) => {
                let is_ascending = boundaries.is_sorted_by(|a, b| a.as_datetime() < b.as_datetime());
                self.intervals(name, "date", path, boundaries, is_ascending)
            }
        }
    }

    /// Counts the numbers or dates of the last added facet that are in none of its intervals, in a bucket of this name.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::facets().number("totals", Order::fields().total(), [0, 100]).others("more");
    /// # drop(found);
    /// ```
    pub fn others(mut self, bucket: &str) -> Self {
        let last = self.facets.as_mut().ok().and_then(|facets| {
            let name = facets.keys().last()?.clone();
            facets.get_document_mut(&name).ok()
        });
        let is_added = last.is_some_and(|facet| {
            let has_intervals = facet.contains_key("boundaries");
            if has_intervals {
                facet.insert("default", bucket);
            }
            has_intervals
        });
        if !is_added && self.facets.is_ok() {
            let reason = "`others` follows a facet of numbers or dates";
            self.facets = Err(invalid("", reason));
        }
        self
    }

    /// A [search](Search) with this collector in the index of this name.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::facets().string("tags", Order::fields().tags(), 10).index("orders");
    /// assert!(found.to_string().starts_with(r#"{"index": "orders", "facet""#));
    /// ```
    pub fn index(self, name: impl Into<String>) -> Search<R> {
        Search::from(self).index(name)
    }

    fn intervals<A: AsPath>(
        self,
        name: &str,
        kind: &str,
        path: A,
        boundaries: Vec<Bson>,
        is_ascending: bool,
    ) -> Self {
        let facet = name_of(path).and_then(|path| {
            let is_valid = is_ascending && boundaries.len() >= 2 && boundaries.len() <= MAX_BUCKETS as usize;
            if !is_valid {
                let reason =
                    format!("the boundaries of a facet are 2 to {MAX_BUCKETS} values in ascending order");
                return Err(invalid(name, reason));
            }
            Ok(doc! { "type": kind, "path": path, "boundaries": boundaries })
        });
        self.add(name, facet)
    }

    fn add(mut self, name: &str, facet: Argument) -> Self {
        let Ok(facets) = &mut self.facets else {
            return self;
        };
        let is_name = !name.is_empty() && !name.starts_with('$') && !name.contains(['.', '\0']);
        if !is_name {
            let reason =
                "the name of a facet is not empty, does not begin with `$`, and contains no dot and no NUL";
            self.facets = Err(invalid(name, reason));
        } else if facets.contains_key(name) {
            self.facets = Err(invalid(name, "two facets have this name"));
        } else {
            match facet {
                Ok(facet) => {
                    facets.insert(name, facet);
                }
                Err(error) => self.facets = Err(error),
            }
        }
        self
    }

    pub(super) fn into_document(self) -> Argument {
        let facets = self.facets?;
        if facets.is_empty() {
            return Err(invalid(
                "",
                "a collector of facets needs a facet: `string`, `number` or `date`",
            ));
        }
        let mut collector = Document::new();
        if let Some(operator) = self.operator {
            collector.insert("operator", operator?);
        }
        collector.insert("facets", facets);
        Ok(doc! { "facet": collector })
    }
}
