//! An async MongoDB driver for Rust: its own codec, wire protocol, discovery and pools.

pub mod bson;
