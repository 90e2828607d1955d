//! The models of the ODM suite as serde structs.

#![allow(clippy::pub_underscore_fields, reason = "`_id` is the name of the field")]

use marula_bench_shared::{large_model, nested_model, small_model};
use mongodb::bson::{Binary, oid::ObjectId};
use serde::{Deserialize, Serialize};

small_model! {
    #[derive(Serialize, Deserialize)]
}

large_model! {
    #[derive(Serialize, Deserialize)]
}

nested_model! {
    [#[derive(Serialize, Deserialize)]]
    [#[derive(Serialize, Deserialize)]]
}
