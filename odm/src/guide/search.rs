//! Full-text search, facets, vector search and hybrid search, on Atlas or a deployment with `mongot`.
//!
//! # Declare the indexes
//!
//! A search reads an index of its own, which the model declares; see
//! [search indexes](derive@crate::Document#search-indexes). The mapping decides which operator finds a field: `string` for
//! [`text`](crate::search::text) and [`phrase`](crate::search::phrase), `token` for [`equals`](crate::search::equals) and facets.
//!
//! ```
//! use marula::bson::DateTime;
//! use marula::{Document, prelude::*};
//!
//! #[derive(Document)]
//! #[document(
//!     collection = "books",
//!     search_index(name = "books", string(title), token(genre), number(year)),
//!     vector_search_index(name = "plots", vector(plot, dimensions = 3, similarity = "cosine"), filter(year))
//! )]
//! struct Book {
//!     _id: i64,
//!     title: String,
//!     genre: String,
//!     year: i32,
//!     plot: Vec<f32>,
//! }
//! # let _ = DateTime::now();
//! ```
//!
//! # Find by words
//!
//! ```
//! # use marula::{Document, Pipeline, prelude::*};
//! # #[derive(Document)] #[document(collection = "books")]
//! # struct Book { _id: i64, title: String, genre: String, year: i32 }
//! use marula::search::{compound, equals, range, text};
//!
//! let found = Pipeline::<Book>::new()
//!     .search(|b| {
//!         compound()
//!             .must(text(b.title(), "coper mine").fuzzy(1))
//!             .should(range(b.year()).gte(2000))
//!             .filter(equals(b.genre(), "history"))
//!             .index("books")
//!     })
//!     .limit(10);
//! # drop(found);
//! ```
//!
//! With `books.aggregate()` in place of `Pipeline::<Book>::new()` it can be run. A text is never read as syntax, so that it can be what a
//! user has written; [`query_string`](crate::search::query_string), [`regex`](crate::search::regex) and
//! [`wildcard`](crate::search::wildcard) take a language.
//!
//! # Show the found words, and the next page
//!
//! ```
//! # use marula::{Document, Pipeline, Shape, prelude::*};
//! # #[derive(Document)] #[document(collection = "books")]
//! # struct Book { _id: i64, title: String, year: i32 }
//! use marula::expr::search_score;
//! use marula::search::{Highlight, Search, search_highlights, search_sequence_token, text};
//!
//! #[derive(Shape)]
//! struct Found {
//!     #[document(flatten)]
//!     book: Book,
//!     score: f64,
//!     highlights: Vec<Highlight>,
//!     token: String,
//! }
//!
//! # let after: Option<String> = None;
//! let page = Pipeline::<Book>::new()
//!     .search(|b| {
//!         let search = Search::new(text(b.title(), "copper")).index("books").highlight(b.title());
//!         match after {
//!             Some(token) => search.search_after(token),
//!             None => search,
//!         }
//!     })
//!     .limit(10)
//!     .add_fields(|_| FoundAdded {
//!         score: search_score(),
//!         highlights: search_highlights(),
//!         token: search_sequence_token(),
//!     });
//! # drop(page);
//! ```
//!
//! # Count by facets
//!
//! ```no_run
//! # use marula::{Collection, Document, prelude::*};
//! # #[derive(Document)] #[document(collection = "books")]
//! # struct Book { _id: i64, title: String, genre: String, year: i32 }
//! # async fn run(books: Collection<Book>) -> marula::Result<()> {
//! use marula::search::{facets, text};
//!
//! let meta = books.aggregate().search_meta(|b| {
//!     facets()
//!         .of(text(b.title(), "copper"))
//!         .string("genres", b.genre(), 10)
//!         .number("decades", b.year(), [1980, 1990, 2000])
//!         .index("books")
//! });
//! if let Some(meta) = meta.first().await? {
//!     for bucket in meta.facet("genres") {
//!         println!("{}: {}", bucket.text().unwrap_or_default(), bucket.count);
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! # Find by meaning
//!
//! ```
//! # use marula::{Document, Pipeline, prelude::*};
//! # #[derive(Document)] #[document(collection = "books")]
//! # struct Book { _id: i64, title: String, year: i32, plot: Vec<f32> }
//! use marula::aggregate::VectorSearch;
//! use marula::search::text;
//!
//! let vector = [0.25, 0.5, 0.75];
//! let near = || {
//!     VectorSearch::<Book>::new("plots", |b| b.plot(), vector, 20)
//!         .candidates(400)
//!         .filter(|b| b.year().gte(2000))
//! };
//! let by_meaning = Pipeline::<Book>::new().vector_search(near());
//!
//! // Words and meaning in one list (MongoDB 8.0+).
//! let both = Pipeline::<Book>::new().rank_fusion(|f| {
//!     f.weighted("words", 2.0, |p| p.search(|b| text(b.title(), "copper").index("books")).limit(20))
//!         .pipeline("meaning", |p| p.vector_search(near()))
//! });
//! # drop((by_meaning, both));
//! ```
//!
//! # Deployments without search
//!
//! A search on a deployment that is neither Atlas nor has `mongot` is [`Error::SearchUnsupported`](crate::Error::SearchUnsupported). The
//! in-process test server has an approximation, which `TestServer::builder().search(true)` enables.
//!
//! Soft-deleted documents are left out after the search, so that a page can have fewer documents than its limit, and counts and facets
//! contain them.
