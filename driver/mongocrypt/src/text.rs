//! Texts that are passed to the library.

use std::ffi::{c_char, c_int};

use crate::error::Error;

/// A text with a zero byte after it. The library's functions that take a length read that byte too (`bson_strndup`).
pub(crate) struct Text {
    bytes: Vec<u8>,
    length: c_int,
}

impl Text {
    /// # Errors
    /// The text is longer than 2 GiB.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        // With the zero byte.
        let too_long = || Error::client("a text is longer than 2 GiB");
        let length = c_int::try_from(text.len())
            .ok()
            .filter(|length| *length < c_int::MAX)
            .ok_or_else(too_long)?;
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        Ok(Self { bytes, length })
    }

    /// The text, which has a zero byte after [`length`](Self::length) bytes.
    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    /// Without the zero byte.
    pub(crate) fn length(&self) -> c_int {
        self.length
    }
}
