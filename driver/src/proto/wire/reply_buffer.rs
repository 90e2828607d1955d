//! An owned copy of a reply, which outlives the read buffer of its connection.

use std::{fmt, ops::Range};

/// The bytes of a reply.
#[derive(Default)]
pub struct ReplyBuffer {
    bytes: Vec<u8>,
    body: Range<usize>,
}

impl fmt::Debug for ReplyBuffer {
    /// Prints no bytes: the reply may have been decrypted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyBuffer")
            .field("length", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl ReplyBuffer {
    /// A reply whose body document is the range `body` of `bytes`.
    pub fn new(bytes: Vec<u8>, body: Range<usize>) -> Self {
        Self { bytes, body }
    }

    /// A reply that consists of its body document.
    pub fn whole(bytes: Vec<u8>) -> Self {
        let body = 0..bytes.len();
        Self { bytes, body }
    }

    /// The body document.
    pub fn body(&self) -> &[u8] {
        self.bytes.get(self.body.clone()).unwrap_or_default()
    }
}
