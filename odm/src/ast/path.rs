//! Dotted paths.

/// Whether a path is `outer`, or inside of it.
pub(crate) fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
