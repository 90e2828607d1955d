//! Iterates over the elements of an encoded document, without serde and without allocation.

use super::error::{DecodeError, kind_name};
use super::oid::ObjectId;
use super::raw_value::{RawValue, other_len, split_cstring, usual_len, value_len};
use super::spec::ElementType;
use super::validate;
use super::{DateTime, Decimal128, RawBinaryRef, RawDocument, Timestamp};

/// Iterates over the elements of one encoded document or array.
///
/// Every length is checked against the remaining bytes. Malformed input is an error.
/// After an error the iterator is finished.
///
/// ```
/// use marula_driver::bson::{RawElements, rawdoc};
///
/// let reply = rawdoc! { "ok": 1.0, "n": 3 };
/// let mut elements = RawElements::new(reply.as_bytes())?;
/// assert_eq!(elements.next().unwrap()?.f64()?, 1.0);
/// assert_eq!(elements.next().unwrap()?.key, "n");
/// assert!(elements.next().is_none());
/// # Ok::<(), marula_driver::bson::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RawElements<'de> {
    /// The rest of the body: without the length and the terminator.
    rest: &'de [u8],
    /// Length of the whole document, for offsets.
    total: usize,
}

/// One element: its key and its value.
#[derive(Clone, Copy, Debug)]
pub struct RawElement<'de> {
    /// The key; in an array the decimal index.
    pub key: &'de str,
    /// The value.
    pub value: RawValue<'de>,
}

impl<'de> RawElements<'de> {
    /// Validates length and terminator of `document`.
    ///
    /// # Errors
    /// If the stated length differs from the number of bytes, or the last byte is not zero.
    #[inline]
    pub fn new(document: &'de [u8]) -> Result<Self, DecodeError> {
        let Some((header, body)) = document.split_first_chunk::<4>() else {
            return Err(DecodeError::malformed(
                "the document is shorter than its length field",
                0,
            ));
        };
        if usize::try_from(i32::from_le_bytes(*header)) != Ok(document.len()) {
            return Err(DecodeError::malformed(
                "the document's length is not the one it states",
                0,
            ));
        }
        match body.split_last() {
            Some((0, rest)) => Ok(Self {
                rest,
                total: document.len(),
            }),
            _ => Err(DecodeError::malformed(
                "the document has no terminating zero byte",
                0,
            )),
        }
    }

    /// Elements without length and terminator of a document. Offsets count from the first element.
    #[inline]
    pub(crate) fn unframed(elements: &'de [u8]) -> Self {
        Self {
            rest: elements,
            total: elements.len() + 1,
        }
    }

    /// Offset of the next element in the document.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.total - 1 - self.rest.len()
    }

    /// The bytes of the remaining elements.
    #[inline]
    pub(super) fn rest(&self) -> &'de [u8] {
        self.rest
    }

    /// Whether all elements have been read.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next element, or `None` at the end.
    ///
    /// # Errors
    /// If the element's type, key or length is malformed.
    #[inline]
    pub fn next_element(&mut self) -> Result<Option<RawElement<'de>>, DecodeError> {
        let mut next = *self;
        let element = next.take_element();
        if element.is_none() && !self.rest.is_empty() {
            return Err(self.element_error());
        }
        *self = next;
        Ok(element)
    }

    /// `None` at the end and if the element is malformed; [`element_error`](Self::element_error) on
    /// a copy distinguishes them.
    #[inline(always)]
    pub(super) fn take_element(&mut self) -> Option<RawElement<'de>> {
        let (kind, key) = self.take_key()?;
        let key = validate::utf8(key)?;
        let value = RawValue::new(kind, self.take_value(kind)?);
        Some(RawElement { key, value })
    }

    /// The error of a malformed element. Ends the iteration.
    #[cold]
    pub(super) fn element_error(&mut self) -> DecodeError {
        let mut failed = *self;
        self.rest = &[];
        match failed.take_key() {
            None => failed.key_error(),
            Some((_, key)) if validate::utf8(key).is_none() => failed.key_encoding_error(),
            Some((kind, _)) => failed.value_error(kind),
        }
    }

    /// Type and key of the next element. Its value must be read next. The key is not validated,
    /// since the keys of arrays are not used.
    ///
    /// Separate calls for key and value are cheaper for the deserializer than returning both at
    /// once.
    #[inline]
    pub(super) fn next_key_bytes(&mut self) -> Result<Option<(ElementType, &'de [u8])>, DecodeError> {
        match self.take_key() {
            None if !self.rest.is_empty() => Err(self.key_error()),
            key => Ok(key),
        }
    }

    /// Type and value of the next element, if its key is `name`, which is short, and its type is a
    /// common one. Otherwise, and if the element is malformed, nothing is read.
    ///
    /// Always inlined: it is the largest part of reading a field, and its result fits into registers then.
    #[inline(always)]
    pub(super) fn take_named(&mut self, name: &str) -> Option<(ElementType, &'de [u8])> {
        self.take_by(|bytes| validate::strip_short_key(bytes, name))
    }

    /// [`take_named`](Self::take_named) for a name that is known to contain no zero byte.
    #[inline(always)]
    pub(super) fn take_plain_named(&mut self, name: &str) -> Option<(ElementType, &'de [u8])> {
        self.take_by(|bytes| validate::strip_short_plain_key(bytes, name))
    }

    /// Type and value of the next element. `strip_key` returns the bytes after its key.
    #[inline(always)]
    fn take_by(
        &mut self,
        strip_key: impl FnOnce(&'de [u8]) -> Option<&'de [u8]>,
    ) -> Option<(ElementType, &'de [u8])> {
        let (&tag, after_tag) = self.rest.split_first()?;
        let rest = strip_key(after_tag)?;
        let kind = validate::element_type(tag)?;
        // No value has the maximum length. This costs less than a test of its own.
        let len = usual_len(kind, rest).unwrap_or(usize::MAX);
        let (value, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some((kind, value))
    }

    /// Type and key. `None` at the end and if they are malformed.
    ///
    /// This and [`take_value`](Self::take_value) return no errors, so that their results fit into
    /// registers.
    #[inline]
    fn take_key(&mut self) -> Option<(ElementType, &'de [u8])> {
        let (&tag, after_tag) = self.rest.split_first()?;
        let kind = validate::element_type(tag)?;
        let (key, rest) = split_cstring(after_tag)?;
        self.rest = rest;
        Some((kind, key))
    }

    /// The bytes of the value whose key was read last.
    #[inline]
    pub(super) fn next_value(&mut self, kind: ElementType) -> Result<&'de [u8], DecodeError> {
        match self.take_value(kind) {
            Some(bytes) => Ok(bytes),
            None => Err(self.value_error(kind)),
        }
    }

    #[inline]
    fn take_value(&mut self, kind: ElementType) -> Option<&'de [u8]> {
        let len = value_len(kind, self.rest)?;
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// The value of the next element. Its key is not validated.
    ///
    /// # Errors
    /// Those of [`next_element`](Self::next_element). The iteration cannot be continued.
    #[inline]
    pub(crate) fn next_item(&mut self) -> Result<Option<RawValue<'de>>, DecodeError> {
        match self.take_by(|bytes| Some(split_cstring(bytes)?.1)) {
            Some((kind, bytes)) => Ok(Some(RawValue::new(kind, bytes))),
            None if self.is_empty() => Ok(None),
            None => self.next_unusual_item(),
        }
    }

    /// [`next_item`](Self::next_item) for the types that are not common, and for a malformed item.
    #[cold]
    fn next_unusual_item(&mut self) -> Result<Option<RawValue<'de>>, DecodeError> {
        let before = *self;
        let item = self.take_item();
        if item.is_none() {
            *self = before;
            return Err(self.element_error());
        }
        Ok(item)
    }

    /// [`next_item`](Self::next_item), with `None` for a malformed element too. The iteration
    /// cannot be continued then.
    #[inline]
    pub(crate) fn take_item(&mut self) -> Option<RawValue<'de>> {
        let (kind, _) = self.take_key()?;
        Some(RawValue::new(kind, self.take_value(kind)?))
    }

    #[cold]
    fn key_error(&self) -> DecodeError {
        self.malformed(match self.rest.first() {
            Some(0) => "bytes follow the document's terminating zero byte",
            Some(tag) if validate::element_type(*tag).is_none() => "the element has an unknown type",
            _ => "the element's key has no end",
        })
    }

    #[cold]
    fn value_error(&self, kind: ElementType) -> DecodeError {
        self.malformed(match other_len(kind, self.rest) {
            Ok(_) => "the element's value is cut off",
            Err(message) => message,
        })
    }

    /// The error for a key that is not UTF-8.
    #[cold]
    pub(super) fn key_encoding_error(&self) -> DecodeError {
        self.malformed("the element's key is not UTF-8")
    }

    #[cold]
    fn malformed(&self, message: &'static str) -> DecodeError {
        DecodeError::malformed(message, self.offset())
    }
}

impl<'de> Iterator for RawElements<'de> {
    type Item = Result<RawElement<'de>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.next_element().transpose()
    }
}

/// The first element of `document` with this key.
///
/// # Errors
/// If the document is malformed before or at the element.
pub fn find_element<'de>(document: &'de [u8], key: &str) -> Result<Option<RawElement<'de>>, DecodeError> {
    let mut elements = RawElements::new(document)?;
    while let Some(element) = elements.next_element()? {
        if element.key == key {
            return Ok(Some(element));
        }
    }
    Ok(None)
}

/// The value of the first element of `document` with this key, which contains no zero byte. It is found fastest if it is the first
/// element of all.
///
/// # Errors
/// If the document is malformed before or at the element.
#[inline]
pub(crate) fn find_value<'de>(document: &'de [u8], key: &str) -> Result<Option<RawValue<'de>>, DecodeError> {
    if let Some((kind, bytes)) = RawElements::new(document)?.take_plain_named(key) {
        return Ok(Some(RawValue::new(kind, bytes)));
    }
    find_later_value(document, key)
}

#[cold]
#[inline(never)]
fn find_later_value<'de>(document: &'de [u8], key: &str) -> Result<Option<RawValue<'de>>, DecodeError> {
    Ok(find_element(document, key)?.map(|element| element.value))
}

/// The key of the first element. Nothing but the key is read or validated. `None` if there is no
/// element or its key is malformed.
pub(crate) fn first_key(document: &[u8]) -> Option<&str> {
    let (key, _) = split_cstring(document.get(size_of::<i32>() + 1..)?)?;
    validate::utf8(key)
}

macro_rules! delegate {
    ($($name:ident -> $out:ty;)*) => {
        /// The getters of [`RawValue`], with the key in their errors.
        impl<'de> RawElement<'de> {
            $(
                #[doc = concat!("See [`RawValue::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// Those of the getter, with the key as path.
                #[inline]
                pub fn $name(&self) -> Result<$out, DecodeError> {
                    self.value.$name().map_err(|error| error.in_field(self.key))
                }
            )*
        }
    };
}

delegate! {
    i32 -> i32;
    i64 -> i64;
    f64 -> f64;
    int -> i64;
    bool -> bool;
    str -> &'de str;
    document -> &'de RawDocument;
    elements -> RawElements<'de>;
    array -> RawElements<'de>;
    binary -> RawBinaryRef<'de>;
    regex -> (&'de str, &'de str);
    date_time -> DateTime;
    timestamp -> Timestamp;
    object_id -> ObjectId;
    decimal128 -> Decimal128;
}

impl RawElement<'_> {
    /// The value's BSON type.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> ElementType {
        self.value.kind()
    }

    /// The name of the value's BSON type in messages.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        kind_name(self.value.kind())
    }
}
