//! Index specifications.
