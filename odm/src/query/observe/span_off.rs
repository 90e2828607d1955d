//! Replaces `span` without the feature `tracing`. No spans are created.

use super::Boxed;
use crate::{
    ast::filter::Node,
    base::{
        bson::Document,
        error::{BulkOperation, Result},
    },
    driver::Namespace,
    term::update::Update,
};

/// Has no span.
#[derive(Clone)]
pub(super) struct CallSpan;

impl CallSpan {
    #[inline]
    pub(super) fn new(_model: &'static str, _operation: &'static str, _collection: &Namespace) -> Self {
        CallSpan
    }

    #[inline]
    pub(super) fn of_client(_operation: &'static str) -> Self {
        CallSpan
    }

    #[inline]
    pub(super) fn record_filter(&self, _filter: Option<&Node>) {}

    #[inline]
    pub(super) fn record_stages(&self, _stages: &Result<Vec<Document>>) {}

    #[inline]
    pub(super) fn record_update<D>(&self, _update: &Update<D>) {}

    #[inline]
    pub(super) fn record_writes(&self, _writes: &[BulkOperation], _has_models: bool) {}

    #[inline]
    pub(super) fn record_result<T>(&self, _result: &Result<T>) {}

    /// Returns the future unchanged.
    #[inline]
    #[expect(clippy::unused_self, reason = "the same signature as with the feature")]
    pub(super) fn observe<F: Future>(self, future: F) -> F {
        future
    }

    /// Returns the future unchanged.
    #[inline]
    #[expect(clippy::unused_self, reason = "the same signature as with the feature")]
    pub(super) fn observe_boxed<T>(self, future: Boxed<'_, T>) -> Boxed<'_, T> {
        future
    }

    /// Returns the future unchanged.
    #[inline]
    #[expect(clippy::unused_self, reason = "the same signature as with the feature")]
    pub(super) fn within<F: Future>(&self, future: F) -> F {
        future
    }

    #[inline]
    pub(super) fn enter<T>(&self, poll: impl FnOnce() -> T) -> T {
        poll()
    }
}
