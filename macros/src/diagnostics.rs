//! A collector of errors with their spans, so that all mistakes are reported at once.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Collects errors until [`finish`](Sink::finish). Panics if dropped without it, since errors would
/// be lost.
pub(crate) struct Sink {
    errors: RefCell<Option<Vec<syn::Error>>>,
}

impl Sink {
    pub(crate) fn new() -> Self {
        Sink {
            errors: RefCell::new(Some(Vec::new())),
        }
    }

    pub(crate) fn push(&self, error: syn::Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    pub(crate) fn at(&self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    /// An error with the span of all tokens.
    pub(crate) fn on(&self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// The value. An error is collected.
    pub(crate) fn ok<T>(&self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|e| self.push(e)).ok()
    }

    /// All errors as `compile_error!` calls.
    pub(crate) fn finish(self) -> TokenStream {
        let errors = self.errors.borrow_mut().take().unwrap_or_default();
        errors.iter().map(syn::Error::to_compile_error).collect()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.errors.borrow().is_some() {
            panic!("the errors of a derive were never reported");
        }
    }
}

/// `; did you mean …?` with the candidate closest to the input, or an empty text.
pub(crate) fn did_you_mean<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let limit = (written.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|c| (distance(written, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map_or_else(String::new, |(_, c)| format!("; did you mean `{c}`?"))
}

/// The number of single-character edits, including transpositions, between two words
/// (Damerau-Levenshtein distance).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_close() {
        assert_eq!(
            did_you_mean("colection", ["collection", "index"]),
            "; did you mean `collection`?"
        );
        assert_eq!(
            did_you_mean("inedx", ["collection", "index"]),
            "; did you mean `index`?"
        );
        assert_eq!(did_you_mean("timestamps", ["collection", "index"]), "");
        assert_eq!(distance("", "abc"), 3);
    }
}
