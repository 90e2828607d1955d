//! Strict access to the keys of a document: a key that is not taken is an error.

use marula_driver::bson::{Bson, Document};

use crate::unified::matcher::show;

/// The keys of a document that have not been taken.
pub(super) struct Keys {
    /// The name of the document in errors.
    place: String,
    rest: Document,
}

impl Keys {
    pub(super) fn new(place: impl Into<String>, document: Document) -> Self {
        Self {
            place: place.into(),
            rest: document,
        }
    }

    /// A message that begins with the name of the document.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> String {
        format!("{}: {message}", self.place)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Bson> {
        self.rest.remove(key)
    }

    fn typed<T>(
        &mut self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&Bson) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        match read(&value) {
            Some(value) => Ok(Some(value)),
            None => Err(self.error(format!(
                "the key \"{key}\" must be {wanted}, found {}",
                show(&value)
            ))),
        }
    }

    /// A string, if present.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// A boolean, if present.
    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, String> {
        self.typed(key, "a boolean", Bson::as_bool)
    }

    /// A document, if present.
    pub(super) fn document(&mut self, key: &str) -> Result<Option<Document>, String> {
        self.typed(key, "a document", |value| value.as_document().cloned())
    }

    /// An array of documents, if present.
    pub(super) fn documents(&mut self, key: &str) -> Result<Option<Vec<Document>>, String> {
        self.typed(key, "an array of documents", |value| {
            let elements = value.as_array()?.iter();
            elements.map(|element| element.as_document().cloned()).collect()
        })
    }

    /// A required value.
    pub(super) fn required<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self, &str) -> Result<Option<T>, String>,
    ) -> Result<T, String> {
        let value = read(self, key)?;
        value.ok_or_else(|| self.error(format!("the key \"{key}\" is missing")))
    }

    /// All keys that have not been taken.
    pub(super) fn rest(self) -> Document {
        self.rest
    }

    /// Checks that all keys have been taken.
    ///
    /// # Errors
    /// A key is unknown.
    pub(super) fn finish(self) -> Result<(), String> {
        match self.rest.keys().next() {
            Some(key) => Err(self.error(format!("unknown key \"{key}\""))),
            None => Ok(()),
        }
    }
}
