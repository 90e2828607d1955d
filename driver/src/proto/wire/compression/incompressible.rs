//! Commands that must not be compressed, because their compressed size could reveal a secret
//! ([OP_COMPRESSED], "Messages not allowed to be compressed").
//!
//! [OP_COMPRESSED]:
//! https://github.com/mongodb/specifications/blob/master/source/compression/OP_COMPRESSED.md

use super::super::{
    HEADER_LENGTH,
    sensitive::{is_hello, is_sensitive},
};

/// Whether the command in an OP_MSG written by the driver may be compressed.
pub(super) fn may_compress(request: &[u8]) -> bool {
    // Flag bits, section kind, length of the body, type of the first element.
    let key = request.get(HEADER_LENGTH + 4 + 1 + 4 + 1..).unwrap_or_default();
    let name = key.split(|byte| *byte == 0).next().unwrap_or_default();
    !is_sensitive(name) && !is_hello(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bson::rawdoc, proto::wire::MessageWriter};

    fn compressible(name: &str) -> bool {
        let mut buffer = Vec::new();
        let message = MessageWriter::begin(&mut buffer, 1, usize::MAX);
        let mut body = rawdoc! {};
        body.append(crate::bson::raw::CString::try_from(name).unwrap(), 1);
        message.buffer.extend_from_slice(body.as_bytes());
        message.finish().unwrap();
        may_compress(&buffer)
    }

    #[test]
    fn secrets_and_handshakes_are_not_compressed_in_any_spelling() {
        for name in [
            "hello",
            "isMaster",
            "ismaster",
            "saslStart",
            "saslContinue",
            "getnonce",
            "authenticate",
            "createUser",
            "updateUser",
            "copydbSaslStart",
            "copydbsaslstart",
            "copydbgetnonce",
            "copydb",
            "SASLSTART",
        ] {
            assert!(!compressible(name), "{name}");
        }
        for name in [
            "ping", "insert", "hell", "helloo", "copydbs", "logout", "dropUser",
        ] {
            assert!(compressible(name), "{name}");
        }
    }
}
