//! The errors: of loading the library, and of its functions.

use std::{fmt, path::PathBuf};

use crate::{
    document::Malformed,
    library::{MINIMUM_VERSION, PATH_VARIABLE, Version},
};

/// Why libmongocrypt cannot be used. The text says how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// No file could be loaded.
    NotFound {
        /// The files that were tried, each with the message of the system's loader.
        tried: Vec<(PathBuf, String)>,
    },
    /// The library is older than [`MINIMUM_VERSION`](crate::MINIMUM_VERSION).
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: Version,
    },
    /// The library has another major version, whose functions are not known.
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: Version,
    },
    /// The library reports a version that does not start with three numbers.
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// What it reports.
        found: String,
    },
    /// The file is not libmongocrypt, or was built without a part that is needed.
    MissingFunction {
        /// The file.
        path: PathBuf,
        /// The function that it does not have.
        function: &'static str,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { tried } => {
                f.write_str("libmongocrypt was not found")?;
                for (i, (path, why)) in tried.iter().enumerate() {
                    let separator = if i == 0 { ": " } else { "; " };
                    let path = path.display().to_string();
                    // Most loaders name the file themselves.
                    if why.contains(&path) {
                        write!(f, "{separator}{why}")?;
                    } else {
                        write!(f, "{separator}{path}: {why}")?;
                    }
                }
            }
            Self::TooOld { path, found } => {
                write!(f, "{} is libmongocrypt {found}, which is too old", path.display())?;
            }
            Self::TooNew { path, found } => write!(
                f,
                "{} is libmongocrypt {found}, whose major version is newer than {}",
                path.display(),
                MINIMUM_VERSION.major
            )?,
            Self::UnknownVersion { path, found } => write!(
                f,
                "{} reports the version {found:?}, which cannot be compared",
                path.display()
            )?,
            Self::MissingFunction { path, function } => write!(
                f,
                "{} does not have the function {function}, so it is not libmongocrypt or is incomplete",
                path.display()
            )?,
        }
        write!(
            f,
            ". Install libmongocrypt {MINIMUM_VERSION} or later, of this major version: the package libmongocrypt of MongoDB's \
             package repositories or of Homebrew, or the file pymongocrypt/libmongocrypt.so in the Python \
             package pymongocrypt 1.20.0; then set the path in the options or in the environment variable \
             {PATH_VARIABLE}, if it is not where the system's loader looks"
        )
    }
}

impl std::error::Error for LoadError {}

/// Where an error of libmongocrypt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option, a document or a key is invalid, or decryption failed.
    Client,
    /// An argument is not well-formed BSON, or is nested too deeply. The library was not called.
    Malformed,
    /// A key management service replied with an error, or with an invalid message.
    Kms,
    /// The library `crypt_shared` rejected a command.
    CryptShared,
    /// A defect: an operation of this package's cryptography panicked.
    Internal,
}

/// An error of libmongocrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where it comes from.
    pub kind: ErrorKind,
    /// The code, if the library sets one.
    pub code: u32,
    /// The message of the library.
    pub message: String,
}

impl Error {
    pub(crate) fn client(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Client,
            code: 0,
            message: message.into(),
        }
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self {
            kind: ErrorKind::Malformed,
            code: 0,
            message: malformed.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
