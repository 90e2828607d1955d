//! GridFS ([specification]): how files are divided into chunks, the chunks that an abort deletes,
//! the checks of ids, of stored files and of chunks, the revisions of a name, the comparison of
//! indexes, and the division of deletes into commands.
//!
//! [specification]: https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md

mod buffer;
mod deletes;
mod file;
mod id;
mod index;
mod inserted;
mod number;
mod revision;
mod sequence;

pub use buffer::ChunkBuffer;
pub use deletes::delete_batches;
pub use file::GridFsFile;
pub use id::{is_valid_id, is_valid_id_of_new_file};
pub use index::has_index;
pub use inserted::InsertedChunks;
pub use revision::Revision;
pub use sequence::ChunkSequence;
pub(crate) use sequence::chunk_data;

/// `chunkSizeBytes` by default: 255 KiB.
pub const DEFAULT_CHUNK_SIZE: u32 = 255 * 1024;

/// No server accepts a chunk of this size, since a document of 16 MiB contains it.
pub const MAX_CHUNK_SIZE: u32 = 16 << 20;

#[cfg(test)]
mod tests;
