//! A blog: relations between collections, which are read by one query each, and pages by keyset.
//!
//! `cargo run --example blog` connects to `MONGODB_URI`, or to an in-process replica set if it is
//! not set. It uses the database `marula_blog`, which it drops first.

use std::error::Error;

use marula::bson::{DateTime, ObjectId};
use marula::schema::SyncMode;
use marula::{Database, Document, Ref, prelude::*};
use marula_examples::deployment::Deployment;

#[derive(Document)]
#[document(collection = "authors")]
pub(crate) struct Author {
    #[serde(rename = "_id")]
    handle: String,
    name: String,
}

#[derive(Document)]
#[document(collection = "posts", index(-published_at), index(author, -published_at))]
pub(crate) struct Post {
    #[serde(rename = "_id")]
    id: ObjectId,
    /// Stored as the id of the author.
    author: Ref<Author>,
    title: String,
    published_at: DateTime,
}

#[derive(Document)]
#[document(collection = "comments", index(post))]
pub(crate) struct Comment {
    #[serde(rename = "_id")]
    id: ObjectId,
    post: Ref<Post>,
    by: Ref<Author>,
    text: String,
}

/// A page of the list of posts, the latest first.
#[derive(Debug, PartialEq)]
pub(crate) struct Feed {
    pub(crate) entries: Vec<Entry>,
    /// The token of the next page, for a link such as `/posts?after=…`.
    pub(crate) next: Option<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) title: String,
    pub(crate) author: String,
    /// Each as `name: text`.
    pub(crate) comments: Vec<String>,
}

/// Three authors, seven posts, and some comments on them.
pub(crate) async fn seed(db: &Database) -> marula::Result<()> {
    let schema = db
        .schema()
        .register::<Author>()
        .register::<Post>()
        .register::<Comment>();
    schema.sync(SyncMode::Additive).await?;
    let authors = ["Ada", "Bessie", "Chen"].map(|name| Author {
        handle: name.to_lowercase(),
        name: name.to_owned(),
    });
    let posts: Vec<Post> = (1..=7_i64)
        .zip(authors.iter().cycle())
        .map(|(number, author)| Post {
            id: Post::new_id(),
            author: Ref::to(author),
            title: format!("Post {number}"),
            published_at: DateTime::from_millis(number * 60_000),
        })
        .collect();
    let comment = |post: &Post, by: &Author, text: &str| Comment {
        id: Comment::new_id(),
        post: Ref::to(post),
        by: Ref::to(by),
        text: text.to_owned(),
    };
    let comments = [
        comment(&posts[6], &authors[1], "First!"),
        comment(&posts[4], &authors[2], "Thank you."),
        comment(&posts[0], &authors[2], "An old one."),
    ];
    db.collection().insert_many(&authors).await?;
    db.collection().insert_many(&posts).await?;
    db.collection().insert_many(&comments).await?;
    Ok(())
}

/// Reads a page with three queries: posts, their comments, and the authors of both.
pub(crate) async fn feed(db: &Database, after: Option<&str>) -> marula::Result<Feed> {
    let page = db
        .collection::<Post>()
        .find_all()
        .keyset(|p| (p.published_at().desc(), p.id().desc()), after, 3)
        .await?;
    let ids = page.items.iter().map(Ref::to);
    let comments = db.collection::<Comment>().load_by(|c| c.post(), ids).await?;
    let commenters = comments.values().flatten().map(|comment| &comment.by);
    let people = page.items.iter().map(|post| &post.author).chain(commenters);
    let authors = db.collection::<Author>().load(people).await?;
    let name = |author: &Ref<Author>| {
        let found = authors.get(author.id());
        found.map_or_else(|| "(deleted)".to_owned(), |author| author.name.clone())
    };
    let entry = |post: &Post| Entry {
        title: post.title.clone(),
        author: name(&post.author),
        comments: comments
            .get(&Ref::to(post))
            .into_iter()
            .flatten()
            .map(|comment| format!("{}: {}", name(&comment.by), comment.text))
            .collect(),
    };
    Ok(Feed {
        entries: page.items.iter().map(entry).collect(),
        next: page.next,
    })
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let deployment = Deployment::start().await?;
    let db = deployment.empty_database("marula_blog").await?;
    seed(&db).await?;
    let mut after = None;
    loop {
        let page = feed(&db, after.as_deref()).await?;
        for entry in page.entries {
            println!("{} by {}", entry.title, entry.author);
            for comment in entry.comments {
                println!("    {comment}");
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
        println!("--- next page");
    }
    deployment.stop().await;
    Ok(())
}
