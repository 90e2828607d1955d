//! The documents of the files collection.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{number::integer, sequence::Layout};
use crate::{
    Error, Result,
    bson::{Bson, DateTime, Document, doc, exact},
    error::GridFsError,
};

/// A stored file: a document of the files collection of a bucket.
///
/// Any numeric type is accepted for `length` and `chunkSize`, as older drivers and the shell store
/// other types.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GridFsFile {
    /// `_id`, of any type.
    pub id: Bson,
    /// The number of bytes of the file.
    pub length: u64,
    /// `chunkSize`: the number of bytes of each chunk but the last.
    pub chunk_size: u32,
    /// `uploadDate`: when the upload was completed. `None` if the field is missing or is not a date.
    pub upload_date: Option<DateTime>,
    /// `filename`, which is not unique. `None` if the field is missing or is not a string.
    pub filename: Option<String>,
    /// The document that the application stored with the file. `None` if there is none, or a value
    /// of another type.
    pub metadata: Option<Document>,
    /// All other fields, e.g. the deprecated `contentType`, `aliases` and `md5`. Also `uploadDate`,
    /// `filename` and `metadata` if their types are not those of the specification: such a file can
    /// be read.
    pub other: Document,
}

impl GridFsFile {
    /// Reads a files collection document.
    ///
    /// # Errors
    /// [`GridFsError::InvalidFile`] if `length` or `chunkSize` is missing or has an invalid value.
    pub fn from_document(mut document: Document) -> Result<Self> {
        let id = document.remove("_id").unwrap_or(Bson::Null);
        let invalid = |reason: String| {
            Error::from(GridFsError::InvalidFile {
                id: id.clone(),
                reason,
            })
        };
        let length = document.remove("length");
        let length = length
            .as_ref()
            .and_then(integer)
            .and_then(|length| u64::try_from(length).ok())
            .ok_or_else(|| invalid(not("length", "a non-negative integer", length.as_ref())))?;
        let chunk_size = document.remove("chunkSize");
        let chunk_size = chunk_size
            .as_ref()
            .and_then(integer)
            .and_then(|size| u32::try_from(size).ok())
            .filter(|size| *size > 0)
            .ok_or_else(|| invalid(not("chunkSize", "a positive integer", chunk_size.as_ref())))?;
        let upload_date = take(&mut document, "uploadDate", |value| match value {
            Bson::DateTime(date) => Ok(date),
            other => Err(other),
        });
        let filename = take(&mut document, "filename", |value| match value {
            Bson::String(name) => Ok(name),
            other => Err(other),
        });
        let metadata = take(&mut document, "metadata", |value| match value {
            Bson::Document(metadata) => Ok(metadata),
            other => Err(other),
        });
        Ok(Self {
            id,
            length,
            chunk_size,
            upload_date,
            filename,
            metadata,
            other: document,
        })
    }

    /// The files collection document of a new file: `length` is Int64, `chunkSize` is Int32.
    pub(crate) fn new_document(
        id: &Bson,
        filename: &str,
        layout: Layout,
        upload_date: DateTime,
        metadata: Option<&Document>,
    ) -> Document {
        let mut document = doc! {
            "_id": id.clone(),
            "length": i64::try_from(layout.length).unwrap_or(i64::MAX),
            "chunkSize": i32::try_from(layout.chunk_size).unwrap_or(i32::MAX),
            "uploadDate": upload_date,
            "filename": filename,
        };
        if let Some(metadata) = metadata {
            document.insert("metadata", metadata.clone());
        }
        document
    }

    /// How the file is divided into chunks.
    pub(crate) fn layout(&self) -> Layout {
        Layout {
            length: self.length,
            chunk_size: self.chunk_size,
        }
    }
}

/// Removes a field. A value of another type than `convert` accepts remains in the document, after the
/// other fields.
fn take<T>(document: &mut Document, field: &str, convert: impl FnOnce(Bson) -> Result<T, Bson>) -> Option<T> {
    match convert(document.remove(field)?) {
        Ok(value) => Some(value),
        Err(Bson::Null) => None,
        Err(other) => {
            document.insert(field, other);
            None
        }
    }
}

fn not(field: &str, wanted: &str, found: Option<&Bson>) -> String {
    match found {
        None => format!("the field {field:?} is missing"),
        Some(found) => format!("the field {field:?} must be {wanted}, found {found}"),
    }
}

impl<'de> Deserialize<'de> for GridFsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_document(exact::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
