//! First model: from an empty folder to the first query.
//!
//! # Dependencies
//!
//! ```toml
//! [dependencies]
//! marula = { path = "../marula/odm" } # a checkout beside the application; or `git = "…"` of the repository
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//!
//! [dev-dependencies]
//! marula-test-server = { path = "../marula/tests/server" } # a server for tests, in the process of the test
//! ```
//!
//! No version has been published yet, so that the packages are used from a checkout of the repository.
//!
//! # The model
//!
//! A model is a struct that derives [`Document`](derive@crate::Document). The names in the database are those that the
//! attributes of serde state, and one field is stored as `_id`. serde's derives are needed only for JSON of the application. A struct
//! inside a document derives [`Embedded`](derive@crate::Embedded).
//!
//! ```
//! use marula::{Document, Embedded, bson::ObjectId, prelude::*};
//!
//! #[derive(Debug, Embedded)]
//! struct Address {
//!     city: String,
//!     zip: String,
//! }
//!
//! #[derive(Debug, Document)]
//! #[serde(rename_all = "camelCase")]
//! #[document(collection = "people", index(last_name), index(address.zip))]
//! struct Person {
//!     #[serde(rename = "_id")]
//!     id: ObjectId,
//!     first_name: String,
//!     last_name: String,
//!     age: i32,
//!     address: Option<Address>,
//!     tags: Vec<String>,
//! }
//!
//! // The derive generates an accessor for each field. It contains the stored name and the type.
//! let p = Person::fields();
//! let filter = p.last_name().eq("Lovelace") & p.address().city().eq("London");
//! assert_eq!(
//!     filter.to_string(),
//!     r#"{"lastName": {"$eq": "Lovelace"}, "address.city": {"$eq": "London"}}"#
//! );
//! ```
//!
//! The trait methods (`eq`, `set`, `asc`, …) come from [`prelude`](crate::prelude).
//!
//! # The program
//!
//! ```
//! # use marula::{Document, Embedded, bson::ObjectId};
//! # #[derive(Debug, Document)]
//! # #[document(collection = "people", index(last_name))]
//! # struct Person {
//! #     #[serde(rename = "_id")]
//! #     id: ObjectId,
//! #     last_name: String,
//! #     age: i32,
//! #     tags: Vec<String>,
//! # }
//! use marula::prelude::*;
//! use marula::schema::SyncMode;
//!
//! #[tokio::main]
//! async fn main() -> marula::Result<()> {
//!     let client = marula::connect("mongodb://localhost").await?;
//!     # let server = marula_test_server::TestServer::builder().start_blocking().unwrap();
//!     # let client = marula::connect(server.uri()).await?;
//!     let db = client.database("town");
//!     // Creates the declared indexes that are missing.
//!     db.schema().register::<Person>().sync(SyncMode::Additive).await?;
//!
//!     let people = db.collection::<Person>();
//!     let ada = Person { id: Person::new_id(), last_name: "Lovelace".into(), age: 36, tags: vec![] };
//!     people.insert_one(&ada).await?;
//!
//!     let adults = people.find(|p| p.age().gte(18)).sort(|p| p.last_name().asc()).limit(10).await?;
//!     println!("{} adults", adults.len());
//!
//!     people.update_by_id(ada.id, |p| (p.age().inc(1), p.tags().push("author"))).await?;
//!     let ada = people.find_by_id(ada.id).required().await?;
//!     assert_eq!(ada.age, 37);
//!
//!     people.delete_by_id(ada.id).required().await?;
//!     // Waits for the calls in progress, at most this long.
//!     client.shutdown().deadline(std::time::Duration::from_secs(10)).await;
//!     Ok(())
//! }
//! ```
//!
//! Create one [`Client`](crate::Client) for the process and clone it. Databases and collections are
//! cheap handles; a web application keeps a [`Collection`](crate::Collection) in its state.
//!
//! # What the compiler checks
//!
//! Each line below is a compile error, with a message at the place of the mistake:
//!
//! ```compile_fail
//! # use marula::{Document, prelude::*};
//! # #[derive(Document)]
//! # #[document(collection = "people")]
//! # struct Person { _id: i64, name: String, age: i32, scores: Vec<i32> }
//! let p = Person::fields();
//! p.nmae().eq("Ada");       // no method named `nmae`; there is a method `name` with a similar name
//! p.age().eq("36");         // a value of type `&str` cannot be used for a field of type `i32`
//! p.name().inc(1);          // $inc and $mul need a numeric field, found String
//! p.scores().any().set(5);  // an update through an array must say which elements it changes
//! p.scores().eq(5);         // a value of type `{integer}` cannot be used for a field of type `Vec<i32>`
//! p.age().gt(1) && p.age().lt(9); // mismatched types: filters are combined by `&`, `|` and `!`
//! ```
//!
//! The element of an array is `p.scores().contains(5)`. An empty list for a field of documents needs its
//! type: `o.lines().set(Vec::<Line>::new())`.
//!
//! Next: [Modelling](super::modelling), [Queries](super::queries).
