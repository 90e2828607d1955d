//! Thirty everyday tasks of an application, each in the form in which a user writes it.
//! Task 26, HTTP handlers, is in `examples/tests/t26_axum.rs`.
//!
//! They use the replica set of `MONGODB_URI`, or an in-process one if it is not set.

mod support;

mod t01_model;
mod t02_decimal;
mod t03_generic;
mod t04_recursive;
mod t05_insert;
mod t06_filters;
mod t07_sort;
mod t08_pages;
mod t09_projection;
mod t10_updates;
mod t11_upsert;
mod t12_find_and_update;
mod t13_replace;
mod t14_delete;
mod t15_count_distinct;
mod t16_aggregate;
mod t17_transaction;
mod t18_change_stream;
mod t19_bulk;
mod t20_versions;
mod t21_timestamps;
mod t22_soft_delete;
mod t23_indexes;
mod t24_raw;
mod t25_tenants;
mod t27_parallel;
mod t28_errors;
mod t29_observe;
mod t30_timeouts;
