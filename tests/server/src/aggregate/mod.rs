//! Aggregation pipelines.
