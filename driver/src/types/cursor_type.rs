//! Whether a cursor stays open at the end of its results.

/// The type of the cursor of a `find`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CursorType {
    /// The cursor ends after the last document. The default.
    #[default]
    NonTailable,
    /// The cursor of a capped collection stays open after the last document and returns later
    /// documents. At the end, the server replies at once with an empty batch.
    Tailable,
    /// As [`Tailable`](Self::Tailable). At the end, the server waits for a document (`awaitData`) for
    /// up to [`max_await_time`](crate::action::Find::max_await_time).
    TailableAwait,
}
