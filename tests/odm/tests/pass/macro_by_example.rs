//! The derives work on structs that a macro writes.

use marula::prelude::*;
use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

macro_rules! model {
    ($name:ident in $collection:literal { $($field:ident: $ty:ty),* }) => {
        #[derive(Serialize, Deserialize, Document)]
        #[document(collection = $collection, index($($field),*))]
        struct $name {
            _id: i64,
            $($field: $ty,)*
        }
    };
}

#[derive(Serialize, Deserialize, Embedded)]
struct Inner {
    deep: Option<Box<Inner>>,
    value: i32,
}

model!(Outer in "outer" { inner: Inner, name: String });

fn main() {
    assert_eq!(Outer::COLLECTION, "outer");
    let filter = Outer::fields().inner().deep().deep().value().gt(1) & Outer::fields().name().eq("x");
    assert_eq!(filter.to_string(), r#"{"inner.deep.deep.value": {"$gt": 1}, "name": {"$eq": "x"}}"#);
    assert_eq!(Outer::indexes()[0].index_name(), "inner_1_name_1");
}
