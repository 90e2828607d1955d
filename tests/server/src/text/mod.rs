//! Text search: text indexes, the terms of strings, and `$text` with its score.

pub(crate) mod index;
pub(crate) mod query;
mod stem;
pub(crate) mod terms;

#[cfg(test)]
mod tests;
