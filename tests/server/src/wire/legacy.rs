//! OP_QUERY on `admin.$cmd`, which some clients use for the initial handshake, and OP_REPLY.

use super::{HEADER_SIZE, OP_REPLY, Reader, encode};
use crate::error::{Error, Result, code};
use bson::{Bson, Document};

/// Parses an OP_QUERY command. `$db` is added to the body, as in OP_MSG.
pub(crate) fn parse(message: &[u8]) -> Result<Document> {
    let mut reader = Reader::new(message);
    reader.take(HEADER_SIZE)?;
    reader.i32()?;
    let namespace = reader.cstring()?;
    reader.i32()?;
    reader.i32()?;
    let mut body = reader.document()?;
    let Some(database) = namespace.strip_suffix(".$cmd") else {
        return Err(Error::new(
            code::PROTOCOL_ERROR,
            "Unsupported OP_QUERY command: the client driver may require an upgrade",
        ));
    };
    if let Some(Bson::Document(query)) = body.get("$query") {
        body = query.clone();
    }
    let command = body.keys().next().cloned().unwrap_or_default();
    if !matches!(command.as_str(), "hello" | "isMaster" | "ismaster") {
        return Err(Error::new(
            352,
            format!(
                "Unsupported OP_QUERY command: {command}. The client driver may require an upgrade. For more details see \
                 the documentation of legacy opcode removal"
            ),
        ));
    }
    body.insert("$db", database);
    Ok(body)
}

/// Encodes an OP_REPLY with one document.
pub(crate) fn reply(request_id: i32, response_to: i32, document: &Document) -> Vec<u8> {
    let body = encode(document);
    let length = HEADER_SIZE + 20 + body.len();
    let mut message = Vec::with_capacity(length);
    message.extend((length as i32).to_le_bytes());
    message.extend(request_id.to_le_bytes());
    message.extend(response_to.to_le_bytes());
    message.extend(OP_REPLY.to_le_bytes());
    // The AwaitCapable flag, which MongoDB servers always set.
    message.extend(8_i32.to_le_bytes());
    message.extend(0_i64.to_le_bytes());
    message.extend(0_i32.to_le_bytes());
    message.extend(1_i32.to_le_bytes());
    message.extend(body);
    message
}
