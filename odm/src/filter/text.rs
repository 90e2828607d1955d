//! The options of `$text`.

use crate::bson::{Document, doc};

/// A search in a text index.
#[derive(Clone, Debug)]
#[must_use]
pub struct TextSearch {
    document: Document,
}

impl TextSearch {
    /// Searches for the terms; `"a phrase"` in quotes and `-without` are the server's syntax.
    pub fn new(search: impl Into<String>) -> Self {
        TextSearch {
            document: doc! { "$search": search.into() },
        }
    }

    /// The language of stop words and stemming. Default: the index's.
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.document.insert("$language", language.into());
        self
    }

    /// Whether case matters. Default: no.
    pub fn case_sensitive(mut self, yes: bool) -> Self {
        self.document.insert("$caseSensitive", yes);
        self
    }

    /// Whether diacritics matter. Default: no.
    pub fn diacritic_sensitive(mut self, yes: bool) -> Self {
        self.document.insert("$diacriticSensitive", yes);
        self
    }

    pub(super) fn into_document(self) -> Document {
        self.document
    }
}

impl From<&str> for TextSearch {
    fn from(search: &str) -> Self {
        TextSearch::new(search)
    }
}

impl From<String> for TextSearch {
    fn from(search: String) -> Self {
        TextSearch::new(search)
    }
}
