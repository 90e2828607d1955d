use marula::Document;
use marula::bson::ObjectId;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "events", clustered(ttl = "30d"))]
struct Event {
    _id: ObjectId,
}

fn main() {}
