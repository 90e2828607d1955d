//! Expression semantics.
