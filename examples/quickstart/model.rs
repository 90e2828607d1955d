//! The model: a book of a library, with its copies and reviews as embedded documents.

use marula::{
    Document, Embedded,
    bson::{DateTime, Decimal128},
};
use uuid::Uuid;

/// The genre of a book, stored as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Embedded)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Genre {
    Novel,
    Poetry,
    Essay,
    Mystery,
}

/// The number of copies at a branch.
#[derive(Clone, Debug, PartialEq, Embedded)]
pub(crate) struct Copy {
    pub(crate) branch: String,
    pub(crate) count: i32,
}

/// A review by a reader.
#[derive(Clone, Debug, PartialEq, Embedded)]
pub(crate) struct Review {
    pub(crate) by: String,
    pub(crate) stars: i32,
}

/// A book. The stored names are serde's; the indexes are declared with the fields.
#[derive(Clone, Debug, PartialEq, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "books",
    index(isbn, unique),
    index(author, -added_at),
    index(copies.branch),
    index(reserved_by, partial(reserved_by.exists()), name = "reservations")
)]
pub(crate) struct Book {
    #[serde(rename = "_id")]
    #[document(id = uuid_v7)]
    pub(crate) id: Uuid,
    pub(crate) isbn: String,
    pub(crate) title: String,
    pub(crate) author: String,
    pub(crate) genre: Genre,
    pub(crate) price: Decimal128,
    pub(crate) copies: Vec<Copy>,
    pub(crate) reviews: Vec<Review>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reserved_by: Option<String>,
    pub(crate) added_at: DateTime,
}
