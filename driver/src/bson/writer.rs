//! Writes documents field by field into a buffer: for commands.

use serde::Serialize;

use super::capacity;
use super::element::append_key;
use super::error::EncodeError;
use super::limits::length;
use super::oid::ObjectId;
use super::raw_value::RawValue;
use super::spec::{BinarySubtype, ElementType};
use super::{DateTime, Decimal128, RawArray, RawDocument, Timestamp, append, append_bson, append_element};

/// Appends documents to a buffer, field by field and without allocating.
///
/// The first error is kept and returned by [`finish`](Self::finish), so that the methods need no
/// `?`. The buffer is then truncated to its length before the writer.
///
/// ```
/// use marula_driver::bson::{DocumentWriter, doc, decode_document};
///
/// let mut out = Vec::new();
/// let mut command = DocumentWriter::new(&mut out);
/// let document = command.begin();
/// command.str("count", "trees");
/// let query = command.begin_document("query");
/// command.i32("age", 40);
/// command.end(query);
/// command.str("$db", "grove");
/// command.end(document);
/// command.finish()?;
///
/// let expected = doc! { "count": "trees", "query": { "age": 40 }, "$db": "grove" };
/// assert_eq!(decode_document(&out)?, expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "errors are returned by `finish`"]
pub struct DocumentWriter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    error: Option<EncodeError>,
}

/// The start of a document or array that [`DocumentWriter::end`] ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a document that is begun must be ended"]
pub struct Position(usize);

impl<'o> DocumentWriter<'o> {
    /// A writer that appends to `out`.
    #[inline]
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        Self {
            out,
            start,
            error: None,
        }
    }

    /// Finishes the writer.
    ///
    /// # Errors
    /// The first error. The buffer then has the same content as before the writer.
    #[inline]
    pub fn finish(self) -> Result<(), EncodeError> {
        match self.error {
            None => Ok(()),
            Some(error) => {
                self.out.truncate(self.start);
                Err(error)
            }
        }
    }

    /// Begins a document outside of a field.
    #[inline]
    pub fn begin(&mut self) -> Position {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        Position(start)
    }

    /// Begins a document in a field.
    #[inline]
    pub fn begin_document(&mut self, key: &str) -> Position {
        self.fixed(key, ElementType::EmbeddedDocument, [0; 4]);
        Position(self.out.len() - 4)
    }

    /// Begins an array in a field. The keys of its elements are [`IndexKey`](super::IndexKey)s.
    #[inline]
    pub fn begin_array(&mut self, key: &str) -> Position {
        self.fixed(key, ElementType::Array, [0; 4]);
        Position(self.out.len() - 4)
    }

    /// Ends the document or array begun at `position`.
    #[inline]
    pub fn end(&mut self, position: Position) {
        self.out.push(0);
        self.patch(position, self.out.len() - position.0);
    }

    /// Length of the buffer.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing has been written by this writer.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.len() == self.start
    }

    /// A String.
    #[inline]
    pub fn str(&mut self, key: &str, value: &str) {
        self.text(key, ElementType::String, value);
    }

    /// An Int32.
    #[inline]
    pub fn i32(&mut self, key: &str, value: i32) {
        self.fixed(key, ElementType::Int32, value.to_le_bytes());
    }

    /// An Int64.
    #[inline]
    pub fn i64(&mut self, key: &str, value: i64) {
        self.fixed(key, ElementType::Int64, value.to_le_bytes());
    }

    /// A Double.
    #[inline]
    pub fn f64(&mut self, key: &str, value: f64) {
        self.fixed(key, ElementType::Double, value.to_le_bytes());
    }

    /// A Boolean.
    #[inline]
    pub fn bool(&mut self, key: &str, value: bool) {
        self.fixed(key, ElementType::Boolean, [u8::from(value)]);
    }

    /// A Null.
    #[inline]
    pub fn null(&mut self, key: &str) {
        self.empty(key, ElementType::Null);
    }

    /// An ObjectId.
    #[inline]
    pub fn object_id(&mut self, key: &str, value: ObjectId) {
        self.fixed(key, ElementType::ObjectId, value.bytes());
    }

    /// A DateTime.
    #[inline]
    pub fn date_time(&mut self, key: &str, value: DateTime) {
        self.fixed(key, ElementType::DateTime, value.timestamp_millis().to_le_bytes());
    }

    /// A Timestamp.
    #[inline]
    pub fn timestamp(&mut self, key: &str, value: Timestamp) {
        let both = u64::from(value.time) << 32 | u64::from(value.increment);
        self.fixed(key, ElementType::Timestamp, both.to_le_bytes());
    }

    /// A Decimal128.
    #[inline]
    pub fn decimal128(&mut self, key: &str, value: Decimal128) {
        self.fixed(key, ElementType::Decimal128, value.bytes());
    }

    /// A Binary. The inner length of subtype 2 is added.
    pub fn binary(&mut self, key: &str, subtype: BinarySubtype, bytes: &[u8]) {
        self.key(key, ElementType::Binary);
        let inner = if subtype == BinarySubtype::BinaryOld { 4 } else { 0 };
        self.length(bytes.len() + inner);
        self.out.push(subtype.into());
        if inner != 0 {
            self.length(bytes.len());
        }
        capacity::append(self.out, bytes);
    }

    /// A regular expression.
    pub fn regex(&mut self, key: &str, pattern: &str, options: &str) {
        self.key(key, ElementType::RegularExpression);
        for part in [pattern, options] {
            if part.as_bytes().contains(&0) {
                self.fail(EncodeError::new("a regular expression cannot hold a zero byte"));
            }
            self.out.extend_from_slice(part.as_bytes());
            self.out.push(0);
        }
    }

    /// A raw document.
    #[inline]
    pub fn document(&mut self, key: &str, value: &RawDocument) {
        self.key(key, ElementType::EmbeddedDocument);
        capacity::append(self.out, value.as_bytes());
    }

    /// A raw array.
    #[inline]
    pub fn array(&mut self, key: &str, value: &RawArray) {
        self.key(key, ElementType::Array);
        capacity::append(self.out, value.as_bytes());
    }

    /// A value of any type.
    pub fn bson(&mut self, key: &str, value: &super::Bson) {
        if let Err(error) = append_bson(key, value, self.out) {
            self.fail(error.in_field(key));
        }
    }

    /// Any serde value.
    #[inline]
    pub fn serialize<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        if let Err(error) = append_element(key, value, self.out) {
            self.error.get_or_insert(error);
        }
    }

    /// Any serde value that is a document, outside of a field.
    #[inline]
    pub fn serialize_document<T: Serialize + ?Sized>(&mut self, value: &T) {
        if let Err(error) = append(value, self.out) {
            self.error.get_or_insert(error);
        }
    }

    /// The elements of a document, as fields of the current one.
    #[inline]
    pub fn elements_of(&mut self, document: &RawDocument) {
        if let [_, _, _, _, elements @ .., _] = document.as_bytes() {
            self.out.extend_from_slice(elements);
        }
    }

    /// A value of another document.
    pub(crate) fn raw_value(&mut self, key: &str, value: RawValue<'_>) {
        self.key(key, value.kind());
        self.out.extend_from_slice(value.bytes());
    }

    /// Text of one of the types encoded as a String.
    #[inline]
    fn text(&mut self, key: &str, kind: ElementType, value: &str) {
        let len = self.checked_length(value.len() + 1);
        self.fixed(key, kind, len.to_le_bytes());
        capacity::append(self.out, value.as_bytes());
        self.out.push(0);
    }

    /// A value of a type without content, such as MinKey.
    #[inline]
    fn empty(&mut self, key: &str, kind: ElementType) {
        self.key(key, kind);
    }

    /// Keeps the first error.
    #[cold]
    fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, key: &str, kind: ElementType, bytes: [u8; N]) {
        if !append_key(self.out, kind as u8, key) {
            self.fail(EncodeError::new("the key contains a zero byte"));
        }
        self.out.extend_from_slice(&bytes);
    }

    #[inline]
    fn key(&mut self, key: &str, kind: ElementType) {
        self.fixed(key, kind, []);
    }

    #[inline]
    fn length(&mut self, len: usize) {
        let len = self.checked_length(len);
        self.out.extend_from_slice(&len.to_le_bytes());
    }

    /// The length, or zero after recording an error, which discards the output.
    #[inline]
    fn checked_length(&mut self, len: usize) -> i32 {
        match length(len) {
            Ok(len) => len,
            Err(error) => {
                self.fail(error);
                0
            }
        }
    }

    #[inline]
    fn patch(&mut self, position: Position, len: usize) {
        match length(len) {
            Ok(len) => {
                if let Some(slot) = self.out.get_mut(position.0..).and_then(<[u8]>::first_chunk_mut) {
                    *slot = len.to_le_bytes();
                }
            }
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }
}
