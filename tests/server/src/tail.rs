//! Tailable cursors: a query over a capped collection that also returns documents inserted later.

use crate::error::{Error, Result, code};
use crate::query::projection::Projection;
use crate::query::{Env, Filter};
use crate::storage::{Catalog, Namespace, RecordId};
use bson::Document;
use std::sync::Arc;

/// The state of a tailable cursor.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) namespace: Namespace,
    pub(crate) uuid: bson::Uuid,
    pub(crate) filter: Filter,
    pub(crate) projection: Option<Projection>,
    pub(crate) env: Env,
    /// The last record that was examined.
    pub(crate) position: RecordId,
    /// Number of matching documents still to be skipped.
    pub(crate) skip: usize,
    /// Number of documents until the limit is reached.
    pub(crate) left: usize,
}

impl Tail {
    /// Returns up to `count` documents that match, from the position on.
    pub(crate) fn next(&mut self, catalog: &Catalog, count: usize) -> Result<Vec<Arc<Document>>> {
        let collection = catalog
            .get(&self.namespace)
            .filter(|collection| collection.uuid == self.uuid)
            .ok_or_else(|| {
                Error::new(
                    code::QUERY_PLAN_KILLED,
                    format!("collection dropped between getMore calls: {}", self.namespace),
                )
            })?;
        if self.position > 0 && collection.record(self.position).is_none() {
            return Err(Error::new(
                136,
                "CollectionScan died due to failure to restore tailable cursor position. Last seen record is gone",
            ));
        }
        let mut found = Vec::new();
        for (id, document) in collection.records_after(self.position) {
            if found.len() == count || self.left == 0 {
                break;
            }
            self.position = id;
            if self.filter.matches(document, &self.env)? {
                if self.skip > 0 {
                    self.skip -= 1;
                    continue;
                }
                self.left -= 1;
                found.push(match &self.projection {
                    Some(projection) => {
                        Arc::new(projection.apply_matched(document, &self.filter, &self.env)?)
                    }
                    None => Arc::clone(document),
                });
            }
        }
        Ok(found)
    }
}
