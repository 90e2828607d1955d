//! A safe interface to [libmongocrypt], MongoDB's library for client-side field level encryption and Queryable Encryption,
//! for `marula-driver`. Applications use the driver's feature `encryption`.
//!
//! The library is loaded at run time ([`Library::load`]); nothing of it is needed to build. If it was built without
//! cryptography of its own, as in the Python package `pymongocrypt`, this package provides it (AES, HMAC, SHA-2, RSA).
//!
//! [`Crypt`] is a configured instance of the library. It creates [`Context`]s: state machines without I/O. The caller performs
//! what a context [needs](State), until it is ready.
//!
//! [libmongocrypt]: https://github.com/mongodb/libmongocrypt

mod binary;
mod context;
mod crypt;
mod crypto;
mod document;
mod error;
mod functions;
mod hooks;
mod kms;
mod kms_error;
mod library;
mod log;
mod redact;
mod status;
mod text;
mod wrapper;

pub use context::{Context, DataKeyOptions, ExplicitOptions, KeyReference, State};
pub use crypt::{Crypt, CryptOptions, CryptShared};
pub use error::{Error, ErrorKind, LoadError};
pub use kms::{Fed, KmsContext};
pub use library::{Library, MINIMUM_VERSION, PATH_VARIABLE, Version};
pub use log::{LogHandler, LogLevel};
pub use zeroize::Zeroizing;
