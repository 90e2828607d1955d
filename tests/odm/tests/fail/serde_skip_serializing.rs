use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
enum Login {
    Password {
        user: String,
        #[serde(skip_serializing)]
        secret: String,
    },
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(default)]
#[derive(Default)]
struct Line {
    #[serde(skip_serializing)]
    cached: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "users")]
struct User {
    _id: i64,
    #[serde(skip_serializing)]
    secret: String,
    #[serde(skip_serializing, default)]
    with_default: String,
    #[serde(skip_serializing)]
    optional: Option<String>,
    #[serde(skip)]
    skipped: String,
    #[serde(skip_serializing, skip_deserializing)]
    both: String,
    login: Login,
    lines: Vec<Line>,
}

fn main() {}
