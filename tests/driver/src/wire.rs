//! The part of the wire protocol that the test servers need. It shares no code with the driver.

use std::io;

use marula_driver::bson::{Document, decode_document, to_vec};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads one OP_MSG. Returns its request id and body.
///
/// # Errors
/// If the stream ends, or the bytes are not an OP_MSG whose first section is a body.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<(i32, Document)> {
    let length = stream.read_i32_le().await?;
    let length = usize::try_from(length).map_err(io::Error::other)?;
    let mut rest = vec![0; length.checked_sub(4).ok_or(io::ErrorKind::InvalidData)?];
    stream.read_exact(&mut rest).await?;
    let id = rest
        .first_chunk::<4>()
        .map(|bytes| i32::from_le_bytes(*bytes))
        .unwrap_or_default();
    // Request id, response id, operation code, flags and the kind of the first section.
    let body = rest.get(4 + 4 + 4 + 4 + 1..).unwrap_or_default();
    let size = body
        .first_chunk::<4>()
        .map(|bytes| i32::from_le_bytes(*bytes))
        .unwrap_or_default();
    let body = body
        .get(..usize::try_from(size).unwrap_or_default())
        .unwrap_or_default();
    Ok((id, decode_document(body).map_err(io::Error::other)?))
}

/// As [`read_request`], with the document sequences (sections of kind 1) as arrays in the body.
/// Also returns the length of the message in bytes.
///
/// # Errors
/// As [`read_request`].
pub(crate) async fn read_whole_request(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<(i32, usize, Document)> {
    let length = usize::try_from(stream.read_i32_le().await?).map_err(io::Error::other)?;
    let mut rest = vec![0; length.checked_sub(4).ok_or(io::ErrorKind::InvalidData)?];
    stream.read_exact(&mut rest).await?;
    let id = number(&rest)?;
    let mut sections = rest.get(4 + 4 + 4 + 4..).unwrap_or_default();
    let mut body = Document::new();
    while let Some((kind, section)) = sections.split_first() {
        let length = usize::try_from(number(section)?).map_err(io::Error::other)?;
        let content = section.get(..length).ok_or(io::ErrorKind::InvalidData)?;
        sections = section.get(length..).unwrap_or_default();
        if *kind == 0 {
            body.extend(decode_document(content).map_err(io::Error::other)?);
            continue;
        }
        let mut parts = content.get(4..).unwrap_or_default().splitn(2, |byte| *byte == 0);
        let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let mut documents = parts.next().unwrap_or_default();
        let mut all = Vec::new();
        while !documents.is_empty() {
            let length = usize::try_from(number(documents)?).map_err(io::Error::other)?;
            let document = documents.get(..length).ok_or(io::ErrorKind::InvalidData)?;
            all.push(decode_document(document).map_err(io::Error::other)?);
            documents = documents.get(length..).unwrap_or_default();
        }
        body.insert(name, all);
    }
    Ok((id, length, body))
}

fn number(bytes: &[u8]) -> io::Result<i32> {
    let bytes = bytes.first_chunk::<4>().ok_or(io::ErrorKind::InvalidData)?;
    Ok(i32::from_le_bytes(*bytes))
}

/// The OP_MSG that replies to a request.
///
/// # Panics
/// If the body cannot be encoded.
#[must_use]
pub fn reply_to(request: i32, body: &Document) -> Vec<u8> {
    frame(request, &to_vec(body).expect("a document"))
}

/// As [`reply_to`], with any bytes as the body.
pub(crate) fn frame(request: i32, body: &[u8]) -> Vec<u8> {
    let length = 16 + 4 + 1 + body.len();
    let mut message = Vec::with_capacity(length);
    message.extend(i32::try_from(length).expect("a small reply").to_le_bytes());
    message.extend(1_i32.to_le_bytes());
    message.extend(request.to_le_bytes());
    message.extend(2013_i32.to_le_bytes());
    message.extend(0_i32.to_le_bytes());
    message.push(0);
    message.extend(body);
    message
}
