//! The BSON codec through the public API: serde types, Extended JSON, UUIDs, DBRefs, errors, and
//! the prose tests of the BSON specifications. No server is used.

mod dbref;
mod errors;
mod exact;
mod extended_json;
mod extended_json_property;
mod fields;
mod messages;
mod property;
mod prose;
mod resume_token;
mod serde_types;
mod uuid_representation;
mod uuids;
