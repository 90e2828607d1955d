//! The declared index that serves a query, found without a server: the conditions and the sort of the query are compared
//! with the indexes of the model.

use std::fmt;

use super::normal::normal_collation;
use super::planner::Planner;
use super::{IndexDeclaration, normal};
use crate::{
    ast::filter::Node,
    base::bson::{Bson, Document},
    driver::options::Hint,
    form::json_schema::is_in_array,
    models::{managed::CollectionKind, model::Model},
};

/// The declared indexes that serve a query, from
/// [`Find::declared_index`](crate::collection::Find::declared_index): one, or one for each alternative of an `|`.
///
/// No server is asked: a server can have other indexes, and chooses by the documents that it has. Tests of an application find
/// with it the queries without an index; what a server does shows [`Find::explain`](crate::collection::Find::explain).
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// let recent = orders.find(|o| o.customer().eq(1)).sort(|o| o.created_at().desc()).declared_index()?;
/// assert!(recent.uses_index("customer_1_created_at_-1") && recent.is_sorted());
/// assert_eq!(
///     recent.to_string(),
///     "index customer_1_created_at_-1 by equality on customer, sort on created_at"
/// );
///
/// let large = orders.find(|o| o.total().gt(100)).declared_index()?;
/// assert!(large.is_collection_scan());
/// assert_eq!(large.to_string(), "no declared index: add index(total)");
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexChoice {
    branches: Vec<IndexBranch>,
}

/// How one alternative of a query is served.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexBranch {
    /// By an index.
    Index(IndexUse),
    /// By no index: the server reads all documents.
    CollectionScan {
        /// The attribute of an index for the conditions and the sort, such as `index(customer, -created_at)`, with the
        /// stored names of the fields. `None` if the query has neither.
        suggestion: Option<String>,
    },
    /// The query contains a part that is not compared with indexes.
    Unknown {
        /// The part.
        reason: String,
    },
}

/// How an index serves a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexUse {
    /// The name of the index.
    pub name: String,
    /// The number of its first keys that select or sort the documents.
    pub prefix: usize,
    /// The keys that are compared for equality, also with several values.
    pub equality: Vec<String>,
    /// The keys that sort the documents. Empty if the server sorts them in memory.
    pub sort: Vec<String>,
    /// The keys of which ranges are read.
    pub range: Vec<String>,
    /// Whether the documents are in the order of the query without a sort in memory.
    pub is_sorted: bool,
    /// An index that also sorts the documents, if this one does not.
    pub suggestion: Option<String>,
}

impl IndexChoice {
    /// The alternatives of the query; one if it has none, or if an index serves all of them.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let choice = orders.find(|o| o.customer().eq(1) | o.id().eq(2)).declared_index()?;
    /// assert_eq!(choice.branches().len(), 2);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn branches(&self) -> &[IndexBranch] {
        &self.branches
    }

    fn used(&self) -> Option<Vec<&IndexUse>> {
        let used = self.branches.iter().map(|branch| match branch {
            IndexBranch::Index(used) => Some(used),
            IndexBranch::CollectionScan { .. } | IndexBranch::Unknown { .. } => None,
        });
        used.collect()
    }

    /// The name of the index, if one serves the whole query. The index of `_id` is `_id_`.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let choice = orders.find(|o| o.id().eq(2)).declared_index()?;
    /// assert_eq!(choice.name(), Some("_id_"));
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let used = self.used()?;
        let name = &used.first()?.name;
        used.iter().all(|other| other.name == *name).then_some(name)
    }

    /// Whether the index of this name serves the whole query.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let choice = orders.find(|o| o.customer().is_in([1, 2])).declared_index()?;
    /// assert!(choice.uses_index("customer_1_created_at_-1"));
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn uses_index(&self, name: &str) -> bool {
        self.name() == Some(name)
    }

    /// The number of the first keys of the index that select or sort the documents: the smallest one of the alternatives, 0
    /// without an index.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let one = orders.find(|o| o.customer().eq(1)).declared_index()?;
    /// let two = orders.find(|o| o.customer().eq(1) & o.created_at().lt(DateTime::now())).declared_index()?;
    /// assert_eq!((one.prefix(), two.prefix()), (1, 2));
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn prefix(&self) -> usize {
        let used = self.used().unwrap_or_default();
        used.iter().map(|used| used.prefix).min().unwrap_or(0)
    }

    /// Whether the server reads all documents, because of the whole query or of one alternative.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let choice = orders.find(|o| o.id().eq(2) | o.total().gt(100)).declared_index()?;
    /// assert!(choice.is_collection_scan());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_collection_scan(&self) -> bool {
        let is_scan = |branch: &IndexBranch| matches!(branch, IndexBranch::CollectionScan { .. });
        self.branches.iter().any(is_scan)
    }

    /// Whether the query contains a part that is not compared with indexes: a raw filter, a text search, or the hint of an
    /// index that is not declared.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let choice = orders.find(|_| Filter::raw(doc! { "total": 100 })).declared_index()?;
    /// assert!(choice.is_unknown());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        let is_unknown = |branch: &IndexBranch| matches!(branch, IndexBranch::Unknown { .. });
        self.branches.iter().any(is_unknown)
    }

    /// Whether indexes return the documents in the order of the query, so that the server does not sort them in memory. Without
    /// a sort: whether the query has an index.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let choice = orders.find(|o| o.customer().eq(1)).sort(|o| o.total().asc()).declared_index()?;
    /// assert!(!choice.is_sorted());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.used()
            .is_some_and(|used| used.iter().all(|used| used.is_sorted))
    }
}

impl fmt::Display for IndexChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, branch) in self.branches.iter().enumerate() {
            if at > 0 {
                f.write_str(" | ")?;
            }
            branch.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for IndexBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexBranch::Index(used) => used.fmt(f),
            IndexBranch::CollectionScan {
                suggestion: Some(index),
            } => write!(f, "no declared index: add {index}"),
            IndexBranch::CollectionScan { suggestion: None } => {
                f.write_str("no declared index: the query reads all documents")
            }
            IndexBranch::Unknown { reason } => write!(f, "unknown: {reason}"),
        }
    }
}

impl fmt::Display for IndexUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uses = [
            ("equality", &self.equality),
            ("sort", &self.sort),
            ("range", &self.range),
        ];
        let uses = uses.iter().filter(|(_, keys)| !keys.is_empty());
        let uses: Vec<String> = uses
            .map(|(name, keys)| format!("{name} on {}", keys.join(", ")))
            .collect();
        write!(f, "index {} by {}", self.name, uses.join(", "))?;
        match &self.suggestion {
            _ if self.is_sorted => Ok(()),
            Some(index) => write!(f, "; sorted in memory: add {index}"),
            None => f.write_str("; sorted in memory"),
        }
    }
}

/// The options of a query that determine which index the server can use.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryOptions {
    pub(crate) sort: Document,
    pub(crate) collation: Option<Document>,
    pub(crate) hint: Option<Hint>,
}

impl IndexChoice {
    /// The choice for a query of documents of `D`.
    pub(crate) fn of<D: Model>(filter: &Node, options: &QueryOptions) -> Self {
        let unknown = |reason: &str| IndexChoice {
            branches: vec![IndexBranch::Unknown {
                reason: reason.to_owned(),
            }],
        };
        if filter.has_raw() {
            return unknown("the filter contains a raw part");
        }
        let by_score = options.sort.values().any(|key| key.as_document().is_some());
        if filter.has_text() || by_score {
            return unknown("the query is a text search");
        }
        let is_natural = |keys: &Document| keys.contains_key("$natural");
        if is_natural(&options.sort) || matches!(&options.hint, Some(Hint::Keys(keys)) if is_natural(keys)) {
            return IndexChoice {
                branches: vec![IndexBranch::CollectionScan { suggestion: None }],
            };
        }
        let mut indexes = D::indexes();
        if D::BEHAVIOR.kind != CollectionKind::TimeSeries {
            indexes.insert(0, IndexDeclaration::of_ids());
        }
        if let Some(hint) = &options.hint {
            indexes.retain(|index| match hint {
                Hint::Name(name) => index.index_name() == *name,
                Hint::Keys(keys) => same_keys(&index.key_document(), keys),
                _ => false,
            });
            if indexes.is_empty() {
                return unknown("the query has the hint of an index that is not declared");
            }
        }
        let declared = D::collection();
        let default = declared.options().get_document("collation").ok();
        let default = default.and_then(normal_collation);
        let schema = <D as Model>::json_schema();
        let planner = Planner {
            indexes,
            arrays: options
                .sort
                .keys()
                .filter(|path| is_in_array(&schema, path))
                .cloned()
                .collect(),
            sort: options
                .sort
                .iter()
                .map(|(path, direction)| (path.clone(), is_descending(direction)))
                .collect(),
            collation: options
                .collation
                .as_ref()
                .map_or(default.clone(), normal_collation),
            default,
            kind: D::BEHAVIOR.discriminator.map(|kind| kind.field),
        };
        IndexChoice {
            branches: planner.branches(filter, &[]),
        }
    }
}

fn is_descending(direction: &Bson) -> bool {
    matches!(normal::number(direction), Bson::Int64(..0))
}

fn same_keys(one: &Document, other: &Document) -> bool {
    let keys = |keys: &Document| -> Vec<(String, Bson)> {
        keys.iter()
            .map(|(path, kind)| (path.clone(), normal::number(kind)))
            .collect()
    };
    keys(one) == keys(other)
}
