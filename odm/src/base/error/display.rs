//! The parts of the messages of errors: sources, ids, paths.

use std::fmt;

use crate::base::bson::Bson;

/// Writes an error and its sources, each once.
pub(crate) fn with_sources(f: &mut impl fmt::Write, error: &dyn std::error::Error) -> fmt::Result {
    write!(f, "{error}")?;
    let mut next = error.source();
    while let Some(source) = next {
        write!(f, ": {source}")?;
        next = source.source();
    }
    Ok(())
}

/// The `_id` of a document, or a phrase if it is not known.
pub(super) struct Id<'a>(pub(super) Option<&'a Bson>, pub(super) &'static str);

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => crate::base::relaxed_json::relaxed(id).fmt(f),
            None => f.write_str(self.1),
        }
    }
}

/// A path in backticks, shortened in the middle, or a phrase if the path is empty.
pub(super) struct Location<'a>(pub(super) &'a str, pub(super) &'static str);

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(self.1);
        }
        // A path that is too deep has hundreds of names.
        let count = self.0.chars().count();
        if count <= 200 {
            return write!(f, "`{}`", self.0);
        }
        let start = self.0.chars().take(80);
        let end = self.0.chars().skip(count - 80);
        write!(f, "`{}…{}`", start.collect::<String>(), end.collect::<String>())
    }
}
