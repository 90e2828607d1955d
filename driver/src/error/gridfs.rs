//! Errors of GridFS.

use std::{fmt, io, sync::Arc};

use super::{Error, ErrorKind};
use crate::bson::Bson;

/// A GridFS operation failed, although all commands succeeded ([GridFS]).
///
/// [GridFS]: https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum GridFsError {
    /// The bucket has no file with this `_id`.
    IdNotFound(Bson),
    /// The bucket has no file with this name.
    NameNotFound(String),
    /// The bucket has files with this name, but not this revision of it.
    RevisionNotFound {
        /// The name of the files.
        filename: String,
        /// The revision that was requested.
        revision: i32,
    },
    /// The files collection document of a file is invalid.
    InvalidFile {
        /// The `_id` of the file.
        id: Bson,
        /// The field, and what is wrong with it.
        reason: String,
    },
    /// A chunk of a file is missing or invalid. The bytes read before it are those of the file.
    InvalidChunk {
        /// The `_id` of the file.
        id: Bson,
        /// The number of the chunk (`n`), from 0.
        n: u64,
        /// What is wrong with it.
        fault: ChunkFault,
    },
    /// The stream of the application that `upload_from_stream` reads or `download_to_stream` writes
    /// failed. The error is also the [source](std::error::Error::source).
    Stream(Arc<io::Error>),
}

/// What is wrong with a chunk of a stored file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkFault {
    /// The chunk does not exist. It may have been deleted while the file was read.
    Missing,
    /// There is a second chunk with this number.
    Duplicate,
    /// The file ends before this chunk, which is not empty.
    Extra,
    /// `data` has another size than `length` and `chunkSize` of the file require.
    WrongSize {
        /// The required size in bytes.
        expected: u64,
        /// The size of `data` in bytes.
        found: u64,
    },
    /// A field of the chunk is missing or has another type. The text names it.
    Malformed(&'static str),
}

impl fmt::Display for GridFsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdNotFound(id) => write!(f, "the bucket has no file with the _id {id}"),
            Self::NameNotFound(filename) => write!(f, "the bucket has no file with the name {filename:?}"),
            Self::RevisionNotFound { filename, revision } => {
                write!(f, "the file {filename:?} has no revision {revision}")
            }
            Self::InvalidFile { id, reason } => {
                write!(
                    f,
                    "the files collection document with the _id {id} is invalid: {reason}"
                )
            }
            Self::InvalidChunk { id, n, fault } => {
                write!(f, "chunk {n} of the file with the _id {id} {fault}")
            }
            Self::Stream(_) => f.write_str("the stream of the application failed"),
        }
    }
}

impl fmt::Display for ChunkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::Duplicate => f.write_str("exists more than once"),
            Self::Extra => f.write_str("is after the end of the file"),
            Self::WrongSize { expected, found } => {
                write!(f, "must have {expected} bytes of data, found {found}")
            }
            Self::Malformed(field) => write!(f, "has no valid field {field:?}"),
        }
    }
}

impl std::error::Error for GridFsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Stream(error) => Some(error),
            _ => None,
        }
    }
}

impl From<GridFsError> for Error {
    fn from(error: GridFsError) -> Self {
        Self::new(ErrorKind::GridFs(error))
    }
}

impl Error {
    /// The error for the I/O traits, with this error as its inner error.
    pub(crate) fn into_io(self) -> io::Error {
        let kind = match self.kind() {
            ErrorKind::InvalidArgument(_) => io::ErrorKind::InvalidInput,
            ErrorKind::GridFs(error) => match error {
                GridFsError::IdNotFound(_)
                | GridFsError::NameNotFound(_)
                | GridFsError::RevisionNotFound { .. } => io::ErrorKind::NotFound,
                GridFsError::InvalidFile { .. } | GridFsError::InvalidChunk { .. } => {
                    io::ErrorKind::InvalidData
                }
                GridFsError::Stream(error) => error.kind(),
            },
            _ if self.is_timeout() => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, self)
    }
}
