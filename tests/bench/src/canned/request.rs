//! Parses requests, as far as the replies depend on them.

/// A parsed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request<'a> {
    /// Legacy hello by `OP_QUERY`.
    LegacyHello,
    /// Hello by `OP_MSG`.
    Hello,
    /// `find` or `aggregate`, with the name of the collection.
    Find(&'a [u8]),
    /// `getMore`, with the cursor id.
    GetMore(i64),
    /// A write, with its number of documents or statements.
    Write(i32),
    /// Any other command.
    Other,
    /// A request with `moreToCome`, which has no reply.
    Unacknowledged,
}

const OP_QUERY: i32 = 2004;
const OP_MSG: i32 = 2013;
const MORE_TO_COME: i32 = 2;

/// Parses a message. `None` if it is malformed or of another opcode.
pub(super) fn parse(message: &[u8]) -> Option<Request<'_>> {
    match i32_at(message, 12)? {
        OP_QUERY => Some(Request::LegacyHello),
        OP_MSG if i32_at(message, 16)? & MORE_TO_COME != 0 => Some(Request::Unacknowledged),
        OP_MSG => sections(message),
        _ => None,
    }
}

fn sections(message: &[u8]) -> Option<Request<'_>> {
    let mut command = None;
    let mut documents = 0;
    let mut rest = message.get(20..)?;
    // Drivers send no checksum, so sections go on to the end.
    while let Some((kind, section)) = rest.split_first() {
        let length = usize::try_from(i32_at(section, 0)?).ok()?;
        let body = section.get(..length)?;
        match kind {
            0 => command = Some(body),
            1 => documents += count(body)?,
            _ => return None,
        }
        rest = section.get(length..)?;
    }
    let command = command?;
    let value_at = 5 + cstring(command, 5)?.len() + 1;
    Some(match cstring(command, 5)? {
        b"hello" | b"isMaster" | b"ismaster" => Request::Hello,
        b"find" | b"aggregate" => Request::Find(cstring(command, value_at + 4)?),
        b"getMore" => Request::GetMore(i64_at(command, value_at)?),
        b"insert" | b"update" | b"delete" => Request::Write(documents.max(1)),
        _ => Request::Other,
    })
}

/// Number of documents of a document sequence.
fn count(section: &[u8]) -> Option<i32> {
    let mut at = 4 + cstring(section, 4)?.len() + 1;
    let mut count = 0;
    while at < section.len() {
        at += usize::try_from(i32_at(section, at)?)
            .ok()
            .filter(|length| *length > 4)?;
        count += 1;
    }
    (at == section.len()).then_some(count)
}

fn cstring(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.get(..rest.iter().position(|byte| *byte == 0)?)
}

/// A little-endian number.
pub(super) fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use bson::doc;

    #[test]
    fn requests_are_parsed() {
        let parsed = |command| parse(&encode::message(&command, &[])).map(|request| format!("{request:?}"));
        let expected = |request: Request<'_>| Some(format!("{request:?}"));
        assert_eq!(parsed(doc! { "hello": 1 }), expected(Request::Hello));
        assert_eq!(
            parsed(doc! { "find": "c", "filter": {} }),
            expected(Request::Find(b"c"))
        );
        assert_eq!(
            parsed(doc! { "aggregate": "c", "pipeline": [] }),
            expected(Request::Find(b"c"))
        );
        assert_eq!(parsed(doc! { "getMore": 7_i64 }), expected(Request::GetMore(7)));
        assert_eq!(parsed(doc! { "endSessions": [] }), expected(Request::Other));
    }

    #[test]
    fn inserted_documents_are_counted() {
        let documents: Vec<_> = (0..3).map(|n| encode::document(&doc! { "n": n })).collect();
        let message = encode::message(&doc! { "insert": "c" }, &documents);
        assert_eq!(parse(&message), Some(Request::Write(3)));
        assert_eq!(parse(&message[..message.len() - 1]), None);
    }
}
