use marula::{Document, Embedded};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "a", shard_key(hashed(country), hashed(user)))]
struct TwoHashed {
    _id: i64,
    country: String,
    user: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "b", shard_key(hashed(user), unique))]
struct HashedAndUnique {
    _id: i64,
    user: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "c", shard_key(-country, user, user, sparse))]
struct NoShardKey {
    _id: i64,
    country: String,
    user: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "d", shard_key(), capped(size = 4096))]
struct Empty {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "e", shard_key(_id), capped(size = 4096))]
struct Capped {
    _id: i64,
}

#[derive(Serialize, Deserialize, Embedded)]
#[document(shard_key(a))]
struct Part {
    a: i64,
}

fn main() {}
