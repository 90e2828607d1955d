use marula::Document;

#[derive(Document)]
#[document(collection = "events", kind = "click")]
struct Click {
    _id: i64,
    kind: String,
}

fn main() {}
