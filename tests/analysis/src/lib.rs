//! The analysis of commands with the schemas of collections, which marks the values to be encrypted.
//!
//! `marula-driver-tests` serves it as a stand-in for mongocryptd, and an example of `marula-mongocrypt` as one for the library
//! `crypt_shared`. It is written from the specification's tests and the documents that libmongocrypt exchanges with
//! mongocryptd. It implements client-side field level encryption and Queryable Encryption.

mod bson_type;
mod command;
mod error;
mod expression;
mod filter;
mod queryable;
mod range;
mod schema;
mod schemas;
mod serialize;
mod update;
mod value;

pub use command::analyze;
pub use error::Rejection;
