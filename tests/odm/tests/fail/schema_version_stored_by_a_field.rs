use marula::Document;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "people", schema_version(1, field = "formVersion"))]
struct Person {
    #[serde(rename = "_id")]
    id: i64,
    form_version: i32,
}

fn main() {}
