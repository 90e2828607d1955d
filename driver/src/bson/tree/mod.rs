//! Documents as trees, to bytes and back without serde.

mod decode;
mod encode;

pub use decode::decode_document;
pub(super) use decode::value;
pub use encode::{append_bson, append_document};
