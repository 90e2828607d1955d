//! OP_MSG: parses requests and encodes replies.

use super::{HEADER_SIZE, OP_MSG, Reader, crc32c, encode};
use crate::error::{Error, Result, code};
use bson::{Bson, Document};

pub(crate) const CHECKSUM_PRESENT: u32 = 1;
pub(crate) const MORE_TO_COME: u32 = 1 << 1;
pub(crate) const EXHAUST_ALLOWED: u32 = 1 << 16;

/// A parsed OP_MSG request. Document sequences are merged into the body as arrays.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) flags: u32,
    pub(crate) body: Document,
    /// The path of the first field that a document has twice. The body has the last of its values.
    pub(crate) repeated: Option<String>,
}

/// The flag bits of a message, even if its sections are malformed.
pub(crate) fn flags(message: &[u8]) -> u32 {
    let mut reader = Reader::new(message);
    let flags = reader.take(HEADER_SIZE).and_then(|_| reader.i32());
    flags.map_or(0, |flags| flags as u32)
}

/// Parses a message with its header.
pub(crate) fn parse(message: &[u8]) -> Result<Message> {
    let mut reader = Reader::new(message);
    reader.take(HEADER_SIZE)?;
    let flags = reader.i32()? as u32;
    let unknown = flags & 0xffff & !(CHECKSUM_PRESENT | MORE_TO_COME);
    if unknown != 0 {
        return Err(Error::new(
            code::ILLEGAL_OP_MSG_FLAG,
            format!("Message contains illegal flags value: Ob{unknown:b}"),
        ));
    }
    let mut end = message.len();
    if flags & CHECKSUM_PRESENT != 0 {
        end = end
            .checked_sub(4)
            .filter(|end| *end >= HEADER_SIZE + 4)
            .ok_or_else(|| Error::new(code::PROTOCOL_ERROR, "message is too short for its checksum"))?;
        let stated = Reader::new(&message[end..]).i32()? as u32;
        if stated != crc32c::checksum(&message[..end]) {
            return Err(Error::new(
                code::CHECKSUM_MISMATCH,
                "OP_MSG checksum does not match contents",
            ));
        }
    }
    let mut sections = Reader::new(&message[HEADER_SIZE + 4..end]);
    let mut body: Option<Document> = None;
    let mut sequences: Vec<(String, Vec<Bson>)> = Vec::new();
    let mut repeated = None;
    while !sections.is_empty() {
        match sections.take(1)?[0] {
            0 if body.is_some() => {
                return Err(Error::new(40430, "Multiple body sections in message"));
            }
            0 => body = Some(sections.document()?),
            1 => {
                let size = sections.i32()?;
                let size = usize::try_from(size)
                    .ok()
                    .and_then(|size| size.checked_sub(4))
                    .ok_or_else(|| {
                        Error::new(
                            code::PROTOCOL_ERROR,
                            format!("invalid document sequence size {size}"),
                        )
                    })?;
                let mut sequence = sections.sub(size)?;
                let identifier = sequence.cstring()?.to_owned();
                if sequences.iter().any(|(other, _)| *other == identifier) {
                    return Err(Error::new(
                        40431,
                        format!("Duplicate document sequence: {identifier}"),
                    ));
                }
                let mut documents = Vec::new();
                while !sequence.is_empty() {
                    documents.push(Bson::Document(sequence.document()?));
                }
                let found = sequence.repeated.map(|path| format!("{identifier}.{path}"));
                repeated = repeated.or(found);
                sequences.push((identifier, documents));
            }
            kind => return Err(Error::new(40432, format!("Unknown section kind {kind}"))),
        }
    }
    let mut body = body.ok_or_else(|| Error::new(40587, "OP_MSG messages must have a body"))?;
    for (identifier, documents) in sequences {
        if body.contains_key(&identifier) {
            return Err(Error::new(
                40433,
                format!("Duplicate field between body and document sequence {identifier}"),
            ));
        }
        body.insert(identifier, documents);
    }
    Ok(Message {
        flags,
        body,
        repeated: repeated.or(sections.repeated),
    })
}

/// Encodes a reply.
pub(crate) fn reply(request_id: i32, response_to: i32, flags: u32, document: &Document) -> Vec<u8> {
    let body = encode(document);
    let checksum_size = if flags & CHECKSUM_PRESENT == 0 { 0 } else { 4 };
    let length = HEADER_SIZE + 4 + 1 + body.len() + checksum_size;
    let mut message = Vec::with_capacity(length);
    message.extend((length as i32).to_le_bytes());
    message.extend(request_id.to_le_bytes());
    message.extend(response_to.to_le_bytes());
    message.extend(OP_MSG.to_le_bytes());
    message.extend(flags.to_le_bytes());
    message.push(0);
    message.extend(body);
    if checksum_size > 0 {
        message.extend(crc32c::checksum(&message).to_le_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn message(flags: u32, sections: &[u8]) -> Vec<u8> {
        let mut message = vec![0; HEADER_SIZE];
        message.extend(flags.to_le_bytes());
        message.extend(sections);
        message
    }

    fn body(document: &Document) -> Vec<u8> {
        let mut section = vec![0];
        section.extend(document.to_vec().unwrap());
        section
    }

    #[test]
    fn merges_document_sequences() {
        let mut sections = vec![1];
        let document = doc! {"_id": 1}.to_vec().unwrap();
        sections.extend((4 + 10 + document.len() as i32).to_le_bytes());
        sections.extend(b"documents\0");
        sections.extend(document);
        sections.extend(body(&doc! {"insert": "c"}));
        let parsed = parse(&message(0, &sections)).unwrap();
        assert_eq!(parsed.body, doc! {"insert": "c", "documents": [{"_id": 1}]});
    }

    #[test]
    fn rejects_malformed_messages() {
        let code = |message: &[u8]| parse(message).unwrap_err().code;
        assert_eq!(code(&message(4, &body(&doc! {}))), 223);
        assert_eq!(code(&message(0, &[])), 40587);
        assert_eq!(code(&message(0, &[9])), 40432);
        let twice = [body(&doc! {}), body(&doc! {})].concat();
        assert_eq!(code(&message(0, &twice)), 40430);
        assert_eq!(code(&message(0, &[0, 255, 255, 255, 127])), 17);
        assert_eq!(
            code(&message(CHECKSUM_PRESENT, &[body(&doc! {}), vec![0; 4]].concat())),
            287
        );
    }

    #[test]
    fn a_reply_with_checksum_parses() {
        let bytes = reply(1, 2, CHECKSUM_PRESENT, &doc! {"ok": 1});
        assert_eq!(parse(&bytes).unwrap().body, doc! {"ok": 1});
    }

    #[test]
    fn rejects_deep_nesting() {
        let mut document = doc! {};
        for _ in 0..300 {
            document = doc! {"a": document};
        }
        assert_eq!(parse(&message(0, &body(&document))).unwrap_err().code, 15);
    }
}
