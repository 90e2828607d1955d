use marula::Document;

#[derive(Document)]
#[document(collection = "events", kind = 1)]
struct Click {
    _id: i64,
}

#[derive(Document)]
#[document(collection = "events", kind)]
struct View {
    _id: i64,
}

#[derive(Document)]
#[document(collection = "events", kind("view", name = "type"))]
struct Other {
    _id: i64,
}

#[derive(Document)]
#[document(collection = "events", kind("view", field = "_id"))]
struct Named {
    _id: i64,
}

#[derive(Document)]
#[document(collection = "events", kind = "")]
struct Empty {
    _id: i64,
}

fn main() {}
