//! Conditions on encrypted fields.

use crate::filter::Filter;

impl<R> Filter<R> {
    /// The filter, which has a condition on the encrypted field at this path.
    pub(crate) fn on_encrypted(self, path: &str) -> Self {
        let encrypted = Some(path.into());
        Filter { encrypted, ..self }
    }

    /// The path of a condition on an encrypted field, for the pipeline that contains the filter.
    pub(crate) fn take_encrypted(&mut self) -> Option<Box<str>> {
        self.encrypted.take()
    }
}
