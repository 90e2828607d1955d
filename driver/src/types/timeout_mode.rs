//! How a timeout applies to a cursor.

/// How the timeout (`timeoutMS`) of an operation applies to the cursor that it returns ([Client Side
/// Operations Timeout], "Cursors").
///
/// [Client Side Operations Timeout]:
/// https://github.com/mongodb/specifications/blob/master/source/client-side-operations-timeout/client-side-operations-timeout.md
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutMode {
    /// The time limit includes the operation and all iterations of the cursor. The default for
    /// cursors that are not tailable, and an error for tailable cursors.
    CursorLifetime,
    /// The time limit applies to the operation, and again to each call that fetches documents. The
    /// server then has no time limit of its own. The default for tailable cursors.
    Iteration,
}
