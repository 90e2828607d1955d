//! Divides the bytes of an upload into chunk documents ("File Upload").

use super::sequence::Layout;
use crate::{
    Error, Result,
    bson::{BinarySubtype, Bson, DocumentWriter, ObjectId, RawDocumentBuf},
};

/// The number of bytes of file data that are collected for one insert. A larger chunk is inserted
/// alone.
const BATCH_BYTES: usize = 4 << 20;

/// The maximum number of chunks in one insert.
const BATCH_CHUNKS: usize = 1_000;

/// The bytes before the data in a chunk document end with `n`, the type and the name of `data`, its
/// length and its subtype.
const LENGTH_FROM_END: usize = 5;
const N_FROM_END: usize = LENGTH_FROM_END + 6 + 4;
/// The position of `_id`: after the length of the document and the header of the element.
const ID_AT: usize = 9;

/// The chunk documents of an upload that have not been inserted. The bytes of the file are written
/// directly into the documents.
#[derive(Debug)]
pub struct ChunkBuffer {
    /// A chunk document up to the first byte of its data.
    header: Vec<u8>,
    chunk_size: usize,
    capacity: usize,
    /// The complete chunks.
    complete: Vec<RawDocumentBuf>,
    /// The chunk that is being written: its document without the end. Empty if there is none.
    partial: Vec<u8>,
    /// The number of the next chunk.
    next: u32,
    length: u64,
    /// A byte could not be appended, so the chunks are not the whole file.
    has_overflowed: bool,
}

impl ChunkBuffer {
    /// The chunks of a file with this `_id`.
    ///
    /// # Errors
    /// The `_id` cannot be encoded.
    pub fn new(id: &Bson, chunk_size: u32) -> Result<Self> {
        let mut header = Vec::new();
        let mut writer = DocumentWriter::new(&mut header);
        let document = writer.begin();
        writer.object_id("_id", ObjectId::from_bytes([0; 12]));
        writer.bson("files_id", id);
        writer.i32("n", 0);
        writer.binary("data", BinarySubtype::Generic, &[]);
        writer.end(document);
        writer
            .finish()
            .map_err(|error| Error::from(error.in_field("id")))?;
        // The end of the document follows the data.
        header.pop();
        let chunk_size = usize::try_from(chunk_size).unwrap_or(usize::MAX).max(1);
        Ok(Self {
            header,
            chunk_size,
            capacity: (BATCH_BYTES / chunk_size).clamp(1, BATCH_CHUNKS),
            complete: Vec::new(),
            partial: Vec::new(),
            next: 0,
            length: 0,
            has_overflowed: false,
        })
    }

    /// Appends as many bytes as the current chunk can hold, and returns their number. `new_id`
    /// generates the `_id` of a chunk.
    ///
    /// # Errors
    /// The file has more than 2³¹ chunks, which is more than `n` can count. All further calls of this
    /// method and of [`end`](Self::end) fail.
    pub fn push(&mut self, bytes: &[u8], new_id: impl FnOnce() -> ObjectId) -> Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.partial.is_empty() {
            let n = i32::try_from(self.next).map_err(|_| self.overflow())?;
            // The first chunk may be the only one, and small.
            let capacity = if self.next == 0 {
                bytes.len().min(self.chunk_size)
            } else {
                self.chunk_size
            };
            self.partial.reserve_exact(self.header.len() + capacity + 1);
            self.partial.extend_from_slice(&self.header);
            put(&mut self.partial, ID_AT, &new_id().bytes());
            put(
                &mut self.partial,
                self.header.len() - N_FROM_END,
                &n.to_le_bytes(),
            );
            self.next += 1;
        }
        let free = self.chunk_size - (self.partial.len() - self.header.len());
        let (taken, _) = bytes.split_at_checked(free).unwrap_or((bytes, &[]));
        self.partial.extend_from_slice(taken);
        self.length += taken.len() as u64;
        if taken.len() == free {
            self.complete_partial()?;
        }
        Ok(taken.len())
    }

    fn overflow(&mut self) -> Error {
        self.has_overflowed = true;
        Error::invalid_argument("the file has more than 2³¹ chunks; use larger chunks")
    }

    /// Ends the last chunk, which can be smaller than the others.
    ///
    /// # Errors
    /// The chunk is too large for a document, or not all bytes could be appended.
    pub fn end(&mut self) -> Result<()> {
        if self.has_overflowed {
            return Err(self.overflow());
        }
        if self.partial.is_empty() {
            return Ok(());
        }
        self.complete_partial()
    }

    fn complete_partial(&mut self) -> Result<()> {
        let mut document = std::mem::take(&mut self.partial);
        let data = document.len() - self.header.len();
        document.push(0);
        let too_large = |_| Error::invalid_argument("a chunk is larger than 2 GiB");
        let data = i32::try_from(data).map_err(too_large)?;
        let length = i32::try_from(document.len()).map_err(too_large)?;
        put(&mut document, 0, &length.to_le_bytes());
        put(
            &mut document,
            self.header.len() - LENGTH_FROM_END,
            &data.to_le_bytes(),
        );
        let document = RawDocumentBuf::from_bytes(document)
            .map_err(|error| Error::invalid_argument(format!("the chunk is not valid BSON: {error}")))?;
        self.complete.push(document);
        Ok(())
    }

    /// Whether the complete chunks should be inserted before more bytes are appended.
    pub fn is_full(&self) -> bool {
        self.complete.len() >= self.capacity
    }

    /// Whether there are complete chunks.
    pub fn has_complete(&self) -> bool {
        !self.complete.is_empty()
    }

    /// Removes and returns the complete chunks.
    pub fn take(&mut self) -> Vec<RawDocumentBuf> {
        std::mem::take(&mut self.complete)
    }

    /// The number of all bytes that were appended, and the chunk size.
    pub fn layout(&self) -> Layout {
        Layout {
            length: self.length,
            chunk_size: u32::try_from(self.chunk_size).unwrap_or(u32::MAX),
        }
    }
}

fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = buffer.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_too_many_chunks_is_never_complete() {
        let mut buffer = ChunkBuffer::new(&Bson::Null, 1).expect("the id is valid");
        buffer.next = 1 << 31;
        assert!(buffer.push(b"x", ObjectId::new).is_err());
        assert!(buffer.push(b"x", ObjectId::new).is_err());
        assert!(buffer.end().is_err(), "the length would be that of a part");
        assert!(!buffer.has_complete());
    }
}
