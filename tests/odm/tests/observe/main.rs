//! Spans and metrics of typed calls, with the features `tracing` and `metrics`.

mod meters;
mod models;
mod outside_calls;
mod recorded_metrics;
mod recorded_spans;
mod spans;
