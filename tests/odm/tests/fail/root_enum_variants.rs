use marula::{Document, Model};

#[derive(Document)]
#[document(collection = "inner")]
struct Inner {
    _id: i64,
}

#[derive(Document)]
#[serde(tag = "kind")]
#[document(collection = "orders")]
enum Unit {
    Open { _id: i64 },
    None,
}

#[derive(Document)]
#[serde(tag = "kind")]
#[document(collection = "orders")]
enum Newtype {
    Open(Inner),
}

#[derive(Document)]
#[serde(tag = "kind")]
#[document(collection = "orders")]
enum WithoutId {
    Open { _id: i64 },
    Paid { total: i64 },
}

#[derive(Document)]
#[serde(tag = "kind")]
#[document(collection = "orders")]
enum OtherType {
    Open { _id: i64 },
    Paid { _id: i32 },
}

#[derive(Document)]
#[serde(tag = "kind")]
#[document(collection = "orders")]
enum OtherName {
    Open {
        _id: i64,
    },
    Paid {
        #[serde(rename = "_id")]
        id: i64,
    },
}

#[derive(Document)]
#[serde(tag = "kind")]
#[document(collection = "orders")]
enum SameName {
    Open {
        #[serde(rename = "_id")]
        open: i64,
    },
}

#[derive(Document)]
#[serde(tag = "kind")]
#[document(collection = "orders")]
enum Empty {}

fn is_model<D: Model>() {}

fn main() {
    is_model::<Unit>();
    is_model::<OtherType>();
}
