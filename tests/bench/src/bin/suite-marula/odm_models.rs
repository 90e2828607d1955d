//! The models of the ODM suite with the derives of this project.

#![allow(clippy::pub_underscore_fields, reason = "`_id` is the name of the field")]

use marula::{
    Document, Embedded,
    bson::{Binary, ObjectId},
};
use marula_bench_shared::{large_model, nested_model, small_model};
use serde::{Deserialize, Serialize};

small_model! {
    #[derive(Serialize, Deserialize, Document)]
    #[document(collection = "small_models")]
}

large_model! {
    #[derive(Serialize, Deserialize, Document)]
    #[document(collection = "large_models")]
}

nested_model! {
    [
        #[derive(Serialize, Deserialize, Document)]
        #[document(collection = "nested_models")]
    ]
    [#[derive(Serialize, Deserialize, Embedded)]]
}
