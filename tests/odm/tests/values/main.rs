//! Dates and decimals of other crates as fields: how they are stored, read, compared and updated.
//!
//! They use the deployment of `MONGODB_URI`, or an in-process test server if it is not set.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod codec;
mod database;
mod dates;
mod decimals;
mod everywhere;
mod forms;
mod generics;
mod keys;
mod limits;
mod lists;
mod maintained;
mod newtypes;
mod none;
mod opaque;
mod plain_json;
mod stored_types;
mod web;
