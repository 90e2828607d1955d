//! The modules that every other one uses: BSON, errors, and tables of types, stages and tuples.

pub mod bson;
pub(crate) mod decimal;
pub mod error;
pub mod json;
pub(crate) mod relaxed_json;
pub(crate) mod stage_versions;
pub(crate) mod time_limit;
pub(crate) mod tuples;
pub(crate) mod type_map;
