//! Pipeline semantics.
