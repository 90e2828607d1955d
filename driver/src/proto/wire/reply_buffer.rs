//! A reply that outlives the connection it came on.

use std::ops::Range;

/// A reply's body that outlives its connection.
#[derive(Debug, Default)]
pub struct ReplyBuffer {
    bytes: Vec<u8>,
    body: Range<usize>,
}

impl ReplyBuffer {
    pub fn new(bytes: Vec<u8>, body: Range<usize>) -> Self {
        Self { bytes, body }
    }

    /// The body document.
    pub fn body(&self) -> &[u8] {
        self.bytes.get(self.body.clone()).unwrap_or_default()
    }
}
