//! The state of a document that `findAndModify` returns.

/// The state of the document that a find-and-modify operation returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReturnDocument {
    /// The document before the change. The default.
    #[default]
    Before,
    /// The document after the change.
    After,
}
