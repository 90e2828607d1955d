use marula::Document;

#[derive(Document)]
#[serde(tag = "type")]
#[document(collection = "events", kind = "click")]
enum Event {
    Click { _id: i64 },
    View { _id: i64 },
}

#[derive(Document)]
#[serde(tag = "type")]
#[document(collection = "events", kind = "click")]
struct Tagged {
    _id: i64,
}

#[derive(marula::Embedded)]
#[document(kind = "click")]
struct Inner {
    x: i32,
}

fn main() {}
