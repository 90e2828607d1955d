use marula::{Document, forms};
use uuid::Uuid;

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    #[document(as = forms::JavaUuid)]
    _id: Uuid,
}

fn main() {}
