//! Which state of a changed document is returned.

/// Which state of the document a find-and-modify returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReturnDocument {
    /// As it was before the change. The default.
    #[default]
    Before,
    /// As it is after the change.
    After,
}
