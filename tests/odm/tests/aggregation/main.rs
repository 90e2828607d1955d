//! Tests of aggregation pipelines, projections and relations: the documents they send, and their
//! results on a deployment.
//!
//! They use the deployment of `MONGODB_URI`, or an in-process test server if it is not set.

mod groups;
mod joins;
mod many_joins;
mod models;
mod operators;
mod projections;
mod relations;
mod searches;
mod stages;
mod totals;
mod values;
mod writes;
