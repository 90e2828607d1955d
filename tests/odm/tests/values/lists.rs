//! Lists in typed paths: bytes, arrays of fixed length, and lists of boxes.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use crate::database::Env;
use marula::bson::{Binary, BinarySubtype, Bson, Document as BsonDocument, doc};
use marula::{Document, Embedded, Model, prelude::*};

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "files", index(digest, unique))]
struct File {
    _id: i64,
    content: Vec<u8>,
    digest: [u8; 4],
    preview: Option<Box<[u8]>>,
    #[document(as = Vec<i32>)]
    levels: Vec<u8>,
}

fn file(id: i64) -> File {
    File {
        _id: id,
        content: vec![1, 2, 3],
        digest: [4; 4],
        preview: Some(Box::new([5])),
        levels: vec![6, 7],
    }
}

fn binary(bytes: &[u8]) -> Bson {
    let subtype = BinarySubtype::Generic;
    Bson::Binary(Binary {
        subtype,
        bytes: bytes.to_vec(),
    })
}

#[tokio::test]
async fn bytes_are_binary_and_arrays_of_numbers_are_still_read() {
    let env = Env::open().await;
    let files = env.collection::<File>();
    files.insert_one(&file(1)).await.unwrap();
    let raw = files.driver().clone_with_type::<BsonDocument>();
    let stored = raw.find_one(doc! {}).await.unwrap().unwrap();
    let expected = doc! {
        "_id": 1_i64, "content": binary(&[1, 2, 3]), "digest": binary(&[4; 4]), "preview": binary(&[5]), "levels": [6, 7],
    };
    assert_eq!(stored, expected);
    assert_eq!(files.find_by_id(1).required().await.unwrap(), file(1));

    let by_content =
        files.count(|f| f.content().eq([1, 2, 3]) & f.digest().eq([4; 4]) & f.levels().contains(7));
    assert_eq!(by_content.await.unwrap(), 1);
    files
        .update_by_id(1, |f| {
            (f.content().set(vec![9]), f.preview().set(None::<Box<[u8]>>))
        })
        .await
        .unwrap();
    let changed = files.find_by_id(1).required().await.unwrap();
    assert_eq!((changed.content, changed.preview), (vec![9], None));

    raw.update_one(
        doc! {},
        doc! { "$set": { "content": [1, 2], "digest": [1, 2, 3, 4] } },
    )
    .await
    .unwrap();
    let old = files.find_by_id(1).required().await.unwrap();
    assert_eq!((old.content, old.digest), (vec![1, 2], [1, 2, 3, 4]));
    raw.update_one(doc! {}, doc! { "$set": { "digest": binary(&[1]) } })
        .await
        .unwrap();
    let error = files.find_by_id(1).await.unwrap_err().to_string();
    assert!(error.contains("`digest`") && error.contains('4'), "{error}");
    env.close().await;
}

#[test]
fn the_schema_of_bytes_is_that_of_binary() {
    let schema = File::json_schema();
    let properties = schema.get_document("properties").unwrap();
    assert_eq!(
        properties.get_document("content").unwrap(),
        &doc! { "bsonType": ["binData", "array"] }
    );
    assert_eq!(
        properties.get_document("digest").unwrap(),
        &doc! { "bsonType": ["binData", "array"] }
    );
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Comment {
    text: String,
    reply: Option<Box<Comment>>,
    #[expect(clippy::vec_box, reason = "the values of such a list are tested")]
    others: Vec<Box<Comment>>,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "posts")]
struct Post {
    _id: i64,
    first: Option<Box<Comment>>,
    best: Box<Comment>,
    #[expect(clippy::vec_box, reason = "the values of such a list are tested")]
    all: Vec<Box<Comment>>,
    sides: [i32; 2],
}

fn comment(text: &str) -> Comment {
    Comment {
        text: text.to_owned(),
        reply: None,
        others: Vec::new(),
    }
}

#[tokio::test]
async fn boxes_are_values() {
    let env = Env::open().await;
    let posts = env.collection::<Post>();
    let post = Post {
        _id: 1,
        first: None,
        best: Box::new(comment("best")),
        all: vec![Box::new(comment("a"))],
        sides: [1, 2],
    };
    posts.insert_one(&post).await.unwrap();
    let reply = Some(Box::new(comment("reply")));
    posts
        .update_by_id(1, |p| {
            (
                p.first().set(Some(Box::new(comment("first")))),
                p.best().reply().set(&reply),
                p.all().push(Box::new(comment("b"))),
                p.sides().nth(0).set(5),
            )
        })
        .await
        .unwrap();
    let found = posts.find_by_id(1).required().await.unwrap();
    assert_eq!(
        (&found.first.unwrap().text, &found.best.reply),
        (&"first".to_owned(), &reply)
    );
    assert_eq!((found.all.len(), found.sides), (2, [5, 2]));
    let all = vec![Box::new(comment("a")), Box::new(comment("b"))];
    let count = posts.count(|p| p.all().eq(&all) & p.all().contains(comment("b")) & p.sides().eq([5, 2]));
    assert_eq!(count.await.unwrap(), 1);
    env.close().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "visits", index(from), index(tags))]
struct Visit {
    _id: i64,
    from: IpAddr,
    through: Vec<SocketAddr>,
    peer: Option<Ipv6Addr>,
    tags: Arc<[String]>,
    digest: Option<Arc<[u8]>>,
}

#[tokio::test]
async fn addresses_and_shared_lists_have_the_operators_of_their_form() {
    let env = Env::open().await;
    let visits = env.collection::<Visit>();
    let visit = Visit {
        _id: 1,
        from: IpAddr::from([127, 0, 0, 1]),
        through: vec![SocketAddr::from(([10, 0, 0, 1], 80))],
        peer: Some(Ipv6Addr::LOCALHOST),
        tags: Arc::new(["new".to_owned()]),
        digest: Some(Arc::new([1, 2])),
    };
    visits.insert_one(&visit).await.unwrap();
    let raw = visits.driver().clone_with_type::<BsonDocument>();
    let stored = raw.find_one(doc! {}).await.unwrap().unwrap();
    let expected = doc! {
        "_id": 1_i64, "from": "127.0.0.1", "through": ["10.0.0.1:80"], "peer": "::1", "tags": ["new"], "digest": binary(&[1, 2]),
    };
    assert_eq!(stored, expected);

    let found = visits.find_one(|v| {
        v.from().eq(visit.from)
            & v.from().is_in([visit.from, IpAddr::from([10, 0, 0, 9])])
            & v.through().contains(visit.through[0])
            & v.peer().eq(Ipv6Addr::LOCALHOST)
            & v.tags().contains("new")
            & v.digest().eq(vec![1, 2])
    });
    assert_eq!(found.required().await.unwrap(), visit);
    visits
        .update_by_id(1, |v| {
            (
                v.from().set(IpAddr::V6(Ipv6Addr::LOCALHOST)),
                v.peer().set(None::<Ipv6Addr>),
                v.tags().push("old"),
            )
        })
        .await
        .unwrap();
    let changed = visits.find_by_id(1).required().await.unwrap();
    assert_eq!(
        (changed.from, changed.peer),
        (IpAddr::V6(Ipv6Addr::LOCALHOST), None)
    );
    assert_eq!(changed.tags.to_vec(), ["new", "old"]);
}
