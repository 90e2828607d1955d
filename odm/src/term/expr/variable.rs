//! Variables of expressions: the elements of arrays, and the documents of outer pipelines.

use std::cell::Cell;

use crate::path::{Path, RawPath, Variable, field::Field};

thread_local! {
    /// Number of closures with a variable that are running on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs a closure with the name of a variable that no surrounding closure uses. Closures are nested
/// as the expressions are, so a name depends only on the expression.
pub(crate) fn with_variable<T>(prefix: &str, inside: impl FnOnce(&str) -> T) -> T {
    struct Restore(u32);
    impl Drop for Restore {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }
    let depth = DEPTH.get();
    let _restore = Restore(depth);
    DEPTH.set(depth + 1);
    inside(&format!("{prefix}{depth}"))
}

/// The accessors of a variable of type `T`, in documents of type `R`.
pub(crate) fn variable<R, T: Field>(name: &str) -> T::Nav<R, Variable> {
    T::nav(Path::from_raw(RawPath::variable(name)))
}
