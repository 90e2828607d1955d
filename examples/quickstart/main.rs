//! Quickstart: creates indexes, and inserts, queries and updates documents of a typed model.
//!
//! `cargo run --example quickstart` connects to `MONGODB_URI`, or to an in-process server if it is
//! not set. It uses the database `marula_quickstart`, which it drops first.

mod books;
mod model;

use std::time::Duration;

use marula::expr::{avg, count, expr};
use marula::{Client, Collection, Database, Error, Filter, Shape, prelude::*, schema::Apply};
use marula_test_server::TestServer;
use model::{Book, Genre};

const BOOKS: usize = 400;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = match std::env::var("MONGODB_URI") {
        Ok(_) => None,
        Err(_) => Some(TestServer::builder().replica_set().start().await?),
    };
    let uri = match &server {
        Some(server) => server.uri(),
        None => std::env::var("MONGODB_URI")?,
    };
    step(1, "connect");
    println!(
        "{}",
        if server.is_some() {
            "an in-process replica set of three members"
        } else {
            "the deployment in MONGODB_URI"
        }
    );
    let client: Client = marula::connect(&uri).await?;
    let library = client.database("marula_quickstart");
    library.driver().drop().await?;

    sync_indexes(&library).await?;
    let books: Collection<Book> = library.collection();
    insert(&books).await?;
    query(&books).await?;
    update(&books).await?;
    page(&books).await?;
    aggregate(&books).await?;

    client.shutdown().deadline(Duration::from_secs(10)).await;
    println!("\ndone");
    Ok(())
}

fn step(number: u32, what: &str) {
    println!("\n{number}. {what}");
}

/// Compares the declared indexes with the existing ones. The plan can be inspected before it is
/// applied.
async fn sync_indexes(library: &Database) -> marula::Result<()> {
    step(2, "plan and apply the indexes that the model declares");
    let plan = library.schema().register::<Book>().plan().await?;
    println!("{plan}");
    let applied = plan.apply(Apply::additive()).await?;
    println!("created: {}", applied.created.len());
    let again = library.schema().register::<Book>().plan().await?;
    println!("second plan: {again}");
    Ok(())
}

async fn insert(books: &Collection<Book>) -> marula::Result<()> {
    step(3, "insert typed documents");
    let all = books::generate(BOOKS);
    books.insert_many(&all).await?;
    println!("{} books stored", books.count(|_| Filter::everything()).await?);
    // The unique index rejects a second book with the same ISBN.
    let copy = Book {
        id: Book::new_id(),
        ..all[0].clone()
    };
    match books.insert_one(&copy).await {
        Err(error @ Error::Duplicate { .. }) => {
            println!("a second book with ISBN {} is rejected: {error}", copy.isbn);
        }
        other => println!("unexpected: {other:?}"),
    }
    Ok(())
}

async fn query(books: &Collection<Book>) -> marula::Result<()> {
    step(4, "query with typed filters");
    let b = Book::fields();
    let filter = b.genre().eq(Genre::Novel)
        & b.reviews().elem_match(|r| r.stars().eq(5))
        & b.reserved_by().is_missing();
    println!("filter: {filter}");
    let found = books
        .find(|_| filter)
        .sort(|b| (b.author().asc(), b.title().asc()))
        .limit(4)
        .all()
        .await?;
    for book in &found {
        println!(
            "  {} by {}, {} EUR, {} review(s)",
            book.title,
            book.author,
            book.price,
            book.reviews.len()
        );
    }
    let here = books
        .count(|b| {
            b.copies()
                .elem_match(|c| c.branch().eq("harbour") & c.count().gt(0))
        })
        .await?;
    println!("{here} books are available at the harbour branch");
    Ok(())
}

async fn update(books: &Collection<Book>) -> marula::Result<()> {
    step(5, "update an array element");
    let wanted = books
        .find(|b| {
            b.copies()
                .elem_match(|c| c.branch().eq("market") & c.count().gt(1))
        })
        .first()
        .await?;
    let Some(book) = wanted else { return Ok(()) };
    let result = books
        .update_by_id(book.id, |b| {
            (
                b.copies()
                    .filtered_positional(|c| c.branch().eq("market"))
                    .count()
                    .inc(-1),
                b.reserved_by().set("ada"),
            )
        })
        .await?;
    println!(
        "{}: matched {}, modified {}",
        book.title, result.matched_count, result.modified_count
    );
    let after = books.find_by_id(book.id).required().await?;
    let count = |book: &Book| book.copies.iter().find(|c| c.branch == "market").map(|c| c.count);
    println!(
        "copies at the market branch: {:?} before, {:?} after; reserved by {:?}",
        count(&book),
        count(&after),
        after.reserved_by
    );
    Ok(())
}

async fn page(books: &Collection<Book>) -> marula::Result<()> {
    step(6, "read pages by keyset");
    let mut token = None;
    for number in 1..=3 {
        let page = books
            .find(|b| b.genre().eq(Genre::Poetry))
            .keyset(|b| (b.author().asc(), b.title().asc()), token.as_deref(), 5)
            .await?;
        let titles: Vec<&str> = page.items.iter().map(|book| book.title.as_str()).collect();
        println!("  page {number}: {}", titles.join(", "));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    Ok(())
}

/// The reviews of the books of one author.
#[derive(Debug, Shape)]
struct Rating {
    #[serde(rename = "_id")]
    author: String,
    stars: f64,
    reviews: i64,
}

async fn aggregate(books: &Collection<Book>) -> marula::Result<()> {
    step(7, "aggregate");
    let best = books
        .aggregate()
        .unwind(|b| b.reviews())
        .group(|b, review| RatingGroup {
            author: expr(b.author()),
            stars: avg(review.stars()),
            reviews: count(),
        })
        .sort(|r| (r.stars().desc(), r.author().asc()))
        .limit(3)
        .all()
        .await?;
    for rating in best {
        println!(
            "  {}: {:.2} stars in {} reviews",
            rating.author, rating.stars, rating.reviews
        );
    }
    Ok(())
}
