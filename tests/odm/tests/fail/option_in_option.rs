use marula::{Document, Embedded};

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    note: Option<Option<String>>,
    notes: Vec<(i32, std::option::Option<Option<String>>)>,
    // Valid: a list is between the two.
    tags: Option<Vec<Option<String>>>,
}

#[derive(Embedded)]
enum Change {
    To(Option<Option<i32>>),
}

fn main() {}
