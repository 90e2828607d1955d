//! The forms in which the trees are written: bytes, and documents.

use serde::ser::Error as _;

use crate::base::bson::{Bson, Document, DocumentWriter, EncodeError, IndexKey, Position, RawDocumentBuf};

/// A form in which the trees are written. Keys inside of arrays are their indexes.
pub(crate) trait Sink {
    /// The begin of a document or an array.
    type Open;
    fn begin_document(&mut self, key: &str) -> Self::Open;
    fn begin_array(&mut self, key: &str) -> Self::Open;
    fn end(&mut self, open: Self::Open);
    fn value(&mut self, key: &str, value: &Bson);
    fn document(&mut self, key: &str, value: &Document);
    /// An array of values.
    fn values(&mut self, key: &str, values: &[Bson]);
    fn str(&mut self, key: &str, value: &str);
    fn i64(&mut self, key: &str, value: i64);
    fn bool(&mut self, key: &str, value: bool);
}

/// The bytes of a document.
pub(crate) fn to_bytes(write: impl FnOnce(&mut DocumentWriter<'_>)) -> Result<RawDocumentBuf, EncodeError> {
    let mut bytes = Vec::with_capacity(128);
    let mut writer = DocumentWriter::new(&mut bytes);
    let document = writer.begin();
    write(&mut writer);
    writer.end(document);
    writer.finish()?;
    RawDocumentBuf::from_bytes(bytes).map_err(EncodeError::custom)
}

impl Sink for DocumentWriter<'_> {
    type Open = Position;

    fn begin_document(&mut self, key: &str) -> Position {
        DocumentWriter::begin_document(self, key)
    }

    fn begin_array(&mut self, key: &str) -> Position {
        DocumentWriter::begin_array(self, key)
    }

    fn end(&mut self, open: Position) {
        DocumentWriter::end(self, open);
    }

    fn value(&mut self, key: &str, value: &Bson) {
        self.bson(key, value);
    }

    fn document(&mut self, key: &str, value: &Document) {
        let document = DocumentWriter::begin_document(self, key);
        for (key, value) in value {
            self.bson(key, value);
        }
        DocumentWriter::end(self, document);
    }

    fn values(&mut self, key: &str, values: &[Bson]) {
        let array = DocumentWriter::begin_array(self, key);
        for (at, value) in values.iter().enumerate() {
            self.bson(IndexKey::new(at).as_str(), value);
        }
        DocumentWriter::end(self, array);
    }

    fn str(&mut self, key: &str, value: &str) {
        DocumentWriter::str(self, key, value);
    }

    fn i64(&mut self, key: &str, value: i64) {
        DocumentWriter::i64(self, key, value);
    }

    fn bool(&mut self, key: &str, value: bool) {
        DocumentWriter::bool(self, key, value);
    }
}

/// Builds a document.
pub(crate) struct Documents {
    /// The documents and arrays around the innermost one, with the key of the next one.
    open: Vec<(Bson, String)>,
    innermost: Bson,
}

impl Documents {
    pub(crate) fn of(write: impl FnOnce(&mut Self)) -> Document {
        let mut documents = Documents {
            open: Vec::new(),
            innermost: Bson::Document(Document::new()),
        };
        write(&mut documents);
        match documents.innermost {
            Bson::Document(document) => document,
            _ => Document::new(),
        }
    }

    fn begin(&mut self, key: &str, empty: Bson) {
        let outer = std::mem::replace(&mut self.innermost, empty);
        self.open.push((outer, key.to_owned()));
    }

    fn insert(&mut self, key: &str, value: Bson) {
        if let Bson::Document(document) = &mut self.innermost {
            document.insert(key, value);
        } else if let Bson::Array(array) = &mut self.innermost {
            array.push(value);
        }
    }
}

impl Sink for Documents {
    type Open = ();

    fn begin_document(&mut self, key: &str) {
        self.begin(key, Bson::Document(Document::new()));
    }

    fn begin_array(&mut self, key: &str) {
        self.begin(key, Bson::Array(Vec::new()));
    }

    fn end(&mut self, (): ()) {
        if let Some((outer, key)) = self.open.pop() {
            let ended = std::mem::replace(&mut self.innermost, outer);
            self.insert(&key, ended);
        }
    }

    fn value(&mut self, key: &str, value: &Bson) {
        self.insert(key, value.clone());
    }

    fn document(&mut self, key: &str, value: &Document) {
        self.insert(key, Bson::Document(value.clone()));
    }

    fn values(&mut self, key: &str, values: &[Bson]) {
        self.insert(key, Bson::Array(values.to_vec()));
    }

    fn str(&mut self, key: &str, value: &str) {
        self.insert(key, Bson::from(value));
    }

    fn i64(&mut self, key: &str, value: i64) {
        self.insert(key, Bson::Int64(value));
    }

    fn bool(&mut self, key: &str, value: bool) {
        self.insert(key, Bson::Boolean(value));
    }
}
