//! Encoding and decoding of [`Document`](super::Document) and [`Bson`](super::Bson) trees without
//! serde.

mod decode;
mod encode;

pub use decode::decode_document;
pub(super) use decode::{value, value_with_unique_keys, value_within};
pub use encode::{append_bson, append_document};
pub(super) use encode::{append_content, append_fields};
