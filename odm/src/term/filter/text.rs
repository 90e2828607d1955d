//! The `$text` operator and its options.

use crate::base::bson::{Document, doc};

/// A `$text` search, which uses the text index of the collection.
#[derive(Clone, Debug)]
#[must_use]
pub struct TextSearch {
    document: Document,
}

impl TextSearch {
    /// Searches for the terms. A quoted `"phrase"` must occur as a whole; a term after `-` must not
    /// occur.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let search = TextSearch::new("copper -tin");
    /// assert_eq!(
    ///     Filter::<Order>::text(search).to_string(),
    ///     r#"{"$text": {"$search": "copper -tin"}}"#
    /// );
    /// ```
    pub fn new(search: impl Into<String>) -> Self {
        TextSearch {
            document: doc! { "$search": search.into() },
        }
    }

    /// The language of stop words and stemming, by name or ISO code, such as `"english"` or `"en"`.
    /// Default: that of the index.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let search = TextSearch::new("kupfer").language("de");
    /// assert_eq!(
    ///     Filter::<Order>::text(search).to_string(),
    ///     r#"{"$text": {"$search": "kupfer", "$language": "de"}}"#
    /// );
    /// ```
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.document.insert("$language", language.into());
        self
    }

    /// Whether the search is case-sensitive. Default: `false`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let search = TextSearch::new("Copper").case_sensitive(true);
    /// assert_eq!(
    ///     Filter::<Order>::text(search).to_string(),
    ///     r#"{"$text": {"$search": "Copper", "$caseSensitive": true}}"#
    /// );
    /// ```
    pub fn case_sensitive(mut self, yes: bool) -> Self {
        self.document.insert("$caseSensitive", yes);
        self
    }

    /// Whether the search is sensitive to diacritics. Default: `false`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let search = TextSearch::new("café").diacritic_sensitive(true);
    /// assert_eq!(
    ///     Filter::<Order>::text(search).to_string(),
    ///     r#"{"$text": {"$search": "café", "$diacriticSensitive": true}}"#
    /// );
    /// ```
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
