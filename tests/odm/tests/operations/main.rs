//! Tests of the ODM against a deployment: CRUD, queries, updates, ids, schema.
//!
//! They use the deployment of `MONGODB_URI`, or an in-process test server if it is not set.

mod bulk;
mod bulk_outcomes;
mod cli;
mod collection_kinds;
mod collections;
mod common;
mod crud;
mod deleted_versions;
mod encryption;
mod errors;
mod explain;
mod future_sizes;
mod handles;
mod hooks;
mod ids;
mod migrations;
mod negations;
mod nested_arrays;
mod pages;
mod queries;
mod saves;
mod schema;
mod schema_changes;
mod schema_collations;
mod schema_deployments;
mod schema_interrupted;
mod schema_limits;
mod schema_partial;
mod schema_versions;
mod search_indexes;
mod sessions;
mod soft_delete;
mod soft_delete_joins;
mod sorts;
mod stored;
mod timestamps;
mod update_options;
mod validation;
mod values;
mod variant_paths;
mod variants;
mod versions;
mod watch;
mod writes;
