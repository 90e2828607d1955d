//! Replaces `meter` without the feature `metrics`. Nothing is measured.

use super::Boxed;
use crate::base::error::Result;

/// Measures nothing.
#[derive(Clone)]
pub(super) struct Meter;

/// Measures nothing.
pub(crate) struct Running;

impl Meter {
    #[inline]
    pub(super) fn new(_model: &'static str, _operation: &'static str) -> Self {
        Meter
    }

    #[inline]
    pub(super) fn start(&self) -> Running {
        Running
    }

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
}

impl Running {
    #[inline]
    pub(super) fn end<T>(&mut self, _result: &Result<T>) {}
}
