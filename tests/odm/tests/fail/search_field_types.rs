use marula::aggregate::VectorSearch;
use marula::search::{autocomplete, embedded_document, equals, near_date, range, text};
use marula::{Document, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "books")]
struct Book {
    _id: i64,
    title: String,
    tags: Vec<String>,
    year: i32,
    lent: bool,
}

fn main() {
    let b = Book::fields();
    text(b.year(), "tea");
    autocomplete(b.lent(), "tea");
    range(b.lent());
    equals(b.year(), "1990");
    equals(b.tags(), "new");
    near_date(b.year(), marula::bson::DateTime::from_millis(0), std::time::Duration::MAX);
    embedded_document(b.tags(), |t| text(t, "tea"));
    VectorSearch::<Book>::new("plots", |b| b.title(), [0.5], 10);
    VectorSearch::<Book>::new("plots", |b| b.tags(), [0.5], 10);
}
