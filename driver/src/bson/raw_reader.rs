//! Reading elements straight from a document's bytes, without serde and without allocation.

use super::error::{DecodeError, kind_name};
use super::oid::ObjectId;
use super::raw_value::{RawValue, split_cstring, value_len};
use super::spec::ElementType;
use super::{DateTime, Decimal128, RawBinaryRef, RawDocument, Timestamp};

/// Iterates over the elements of one document or array given as bytes.
///
/// Every length is checked against the bytes that are there, so malformed input ends in an error.
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
    /// What is left of the body, which excludes the length and the terminator.
    rest: &'de [u8],
    /// Length of the whole document, from which offsets follow.
    total: usize,
}

/// One element: its key and its value.
#[derive(Clone, Copy, Debug)]
pub struct RawElement<'de> {
    /// The element's name; in an array its decimal index.
    pub key: &'de str,
    /// The element's value.
    pub value: RawValue<'de>,
}

impl<'de> RawElements<'de> {
    /// Checks the outer form of `document`: its stated length and its terminator.
    ///
    /// # Errors
    /// When the length stated is not the length given, or the last byte is not zero.
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

    /// Elements that follow one another without a document around them; offsets count from the first.
    #[inline]
    pub(crate) fn unframed(elements: &'de [u8]) -> Self {
        Self {
            rest: elements,
            total: elements.len() + 1,
        }
    }

    /// Where the next element starts, counted from the start of the document.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.total - 1 - self.rest.len()
    }

    /// Whether all elements are read.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next element, or `None` at the end.
    ///
    /// # Errors
    /// When the element's type, key or length is malformed.
    #[inline]
    pub fn next_element(&mut self) -> Result<Option<RawElement<'de>>, DecodeError> {
        let before = *self;
        let result = self.next_key().and_then(|next| match next {
            Some((kind, key)) => {
                let value = RawValue::new(kind, self.next_value(kind)?);
                Ok(Some(RawElement { key, value }))
            }
            None => Ok(None),
        });
        if result.is_err() {
            *self = Self { rest: &[], ..before };
        }
        result
    }

    /// Type and key of the next element, whose value must be taken next.
    ///
    /// Key and value are taken apart for the deserializer, which uses each where it is found:
    /// carrying both around together costs more than reading them.
    #[inline]
    pub(super) fn next_key(&mut self) -> Result<Option<(ElementType, &'de str)>, DecodeError> {
        match self.next_key_bytes()? {
            Some((kind, key)) => match std::str::from_utf8(key) {
                Ok(key) => Ok(Some((kind, key))),
                Err(_) => Err(self.malformed("the element's key is not UTF-8")),
            },
            None => Ok(None),
        }
    }

    /// As [`next_key`](Self::next_key), the key not validated: in arrays nobody looks at it.
    #[inline]
    pub(super) fn next_key_bytes(&mut self) -> Result<Option<(ElementType, &'de [u8])>, DecodeError> {
        let Some((&tag, after_tag)) = self.rest.split_first() else {
            return Ok(None);
        };
        let Some(kind) = ElementType::from(tag) else {
            return Err(self.malformed(if tag == 0 {
                "bytes follow the document's terminating zero byte"
            } else {
                "the element has an unknown type"
            }));
        };
        match split_cstring(after_tag) {
            Some((key, rest)) => {
                self.rest = rest;
                Ok(Some((kind, key)))
            }
            None => Err(self.malformed("the element's key has no end")),
        }
    }

    /// The bytes of the value whose key was taken.
    #[inline]
    pub(super) fn next_value(&mut self, kind: ElementType) -> Result<&'de [u8], DecodeError> {
        match value_len(kind, self.rest) {
            Ok(len) => match self.rest.split_at_checked(len) {
                Some((bytes, rest)) => {
                    self.rest = rest;
                    Ok(bytes)
                }
                None => Err(self.malformed("the element's value is cut off")),
            },
            Err(message) => Err(self.malformed(message)),
        }
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
/// When the document is malformed before or at the element.
pub fn find_element<'de>(document: &'de [u8], key: &str) -> Result<Option<RawElement<'de>>, DecodeError> {
    let mut elements = RawElements::new(document)?;
    while let Some(element) = elements.next_element()? {
        if element.key == key {
            return Ok(Some(element));
        }
    }
    Ok(None)
}

macro_rules! delegate {
    ($($name:ident -> $out:ty;)*) => {
        /// The getters of [`RawValue`], whose errors here name the key.
        impl<'de> RawElement<'de> {
            $(
                #[doc = concat!("See [`RawValue::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// As there, with the element's key as the path.
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

    /// The name of the value's BSON type, as messages spell it.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        kind_name(self.value.kind())
    }
}
