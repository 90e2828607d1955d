//! Rebuilds the command of a written message as one document, for command monitoring (Command
//! Logging and Monitoring, "Implementation Notes").

use super::{HEADER_LENGTH, op_msg::KIND_SEQUENCE};
use crate::bson::{RawArrayBuf, RawDocument, RawDocumentBuf, raw::CString};

/// The bytes of the body, without the document sequences. `None` if the message is malformed.
pub(crate) fn command_body(message: &[u8]) -> Option<&[u8]> {
    take_document(&mut message.get(HEADER_LENGTH + 5..)?)
}

/// The body, with each document sequence as an array field after it. `None` if the message is
/// malformed.
pub fn whole_command(message: &[u8]) -> Option<RawDocumentBuf> {
    // Message header, flag bits, section kind.
    let mut rest = message.get(HEADER_LENGTH + 5..)?;
    let mut command = RawDocumentBuf::from_bytes(take_document(&mut rest)?.to_vec()).ok()?;
    while let Some((&kind, section)) = rest.split_first() {
        if kind != KIND_SEQUENCE {
            return None;
        }
        let (section, after) = section.split_at_checked(length_at(section)?)?;
        let (name, mut documents) = split_name(section.get(4..)?)?;
        let mut array = RawArrayBuf::new();
        while !documents.is_empty() {
            array.push(
                RawDocument::from_bytes(take_document(&mut documents)?)
                    .ok()?
                    .to_owned(),
            );
        }
        command.append(name, array);
        rest = after;
    }
    Some(command)
}

/// The name, and the bytes after its terminating NUL.
fn split_name(bytes: &[u8]) -> Option<(CString, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(bytes.get(..end)?).ok()?;
    Some((CString::try_from(name).ok()?, bytes.get(end + 1..)?))
}

fn take_document<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (document, rest) = bytes.split_at_checked(length_at(bytes)?)?;
    *bytes = rest;
    Some(document)
}

fn length_at(bytes: &[u8]) -> Option<usize> {
    let length = i32::from_le_bytes(*bytes.first_chunk::<4>()?);
    usize::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bson::{cstr, rawdoc},
        proto::wire::MessageWriter,
    };

    #[test]
    fn sequences_become_arrays_after_the_body() {
        let mut bytes = Vec::new();
        let mut message = MessageWriter::begin(&mut bytes, 7, usize::MAX);
        let body = rawdoc! { "insert": "c", "$db": "d" };
        message.buffer.extend_from_slice(body.as_bytes());
        let start = message.begin_sequence("documents");
        for document in [rawdoc! { "a": 1 }, rawdoc! { "a": 2 }] {
            message.buffer.extend_from_slice(document.as_bytes());
        }
        message.end_sequence(start).unwrap();
        message.finish().unwrap();
        let mut expected = body;
        let mut array = RawArrayBuf::new();
        array.push(rawdoc! { "a": 1 });
        array.push(rawdoc! { "a": 2 });
        expected.append(cstr!("documents"), array);
        assert_eq!(whole_command(&bytes).unwrap(), expected);
        assert_eq!(whole_command(&bytes[..bytes.len() - 1]), None);
        assert_eq!(whole_command(&[]), None);
    }
}
