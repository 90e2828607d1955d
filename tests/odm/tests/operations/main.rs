//! The ODM against a deployment: CRUD, queries, updates, ids, schema.
//!
//! These suites run against any deployment: the one that `MONGODB_URI` names, or else a test server in this process.

mod common;
mod crud;
mod errors;
mod future_sizes;
mod handles;
mod ids;
mod nested_arrays;
mod pages;
mod queries;
mod schema;
mod sorts;
mod stored;
mod update_options;
mod values;
mod variant_paths;
mod variants;
mod writes;
