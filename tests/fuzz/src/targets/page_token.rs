//! The fuzz target for the page tokens of the ODM, which clients of a web application send.

use std::sync::LazyLock;

use base64::engine::{Engine as _, general_purpose::URL_SAFE_NO_PAD as BASE64};
use futures_util::FutureExt as _;
use marula::{Collection, Document, Error, TokenKey, prelude::*};
use marula_driver::{
    Client,
    bson::{ObjectId, doc, to_vec},
    options::ClientOptions,
};
use serde::{Deserialize, Serialize};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "page_token",
    run,
    seeds,
};

#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[document(collection = "articles")]
struct Article {
    _id: ObjectId,
    at: i64,
}

/// A client whose server does not exist: what the tests see of a call ends before its command.
static ARTICLES: LazyLock<(tokio::runtime::Runtime, Collection<Article>)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let guard = runtime.enter();
    let options = ClientOptions::parse("mongodb://127.0.0.1:1").expect("a connection string");
    let client = Client::with_options(options).expect("a client");
    let articles = Collection::from_driver(&client.database("app").collection::<Article>("articles"));
    drop(guard);
    (runtime, articles)
});

/// Bytes that are the text of a token, and bytes that are the content of one. A token is refused as
/// such, or the query goes on to the selection of a server.
fn run(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(text);
    }
    check(&BASE64.encode(bytes));
}

fn check(token: &str) {
    let (runtime, articles) = &*ARTICLES;
    let _guard = runtime.enter();
    let page = articles.find_all().keyset(|a| a.at().desc(), Some(token), 20);
    match page.now_or_never() {
        None | Some(Err(Error::InvalidPageToken)) => {}
        Some(Ok(_)) => panic!("a page without a server"),
        Some(Err(error)) => panic!("{error}"),
    }
    let key = TokenKey::new([7; 32]);
    let keyed = articles.find_all().token_key(&key);
    match keyed.keyset(|a| a.at().desc(), Some(token), 20).now_or_never() {
        Some(Err(Error::InvalidPageToken)) => {}
        None | Some(_) => panic!("a token that the key did not issue is accepted"),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let sort = doc! { "at": -1, "_id": 1 };
    let id = ObjectId::from_bytes([7; 12]);
    let documents = [
        doc! { "s": sort.clone(), "b": false, "k": [5_i64, id] },
        doc! { "s": sort.clone(), "b": true, "k": ["$where", { "$gt": 1 }] },
        doc! { "s": { "at": 1, "_id": 1 }, "b": false, "k": [5_i64, id] },
    ];
    let contents: Vec<Vec<u8>> = documents
        .map(|document| to_vec(&document).expect("a document"))
        .to_vec();
    let texts = contents.iter().map(|content| BASE64.encode(content).into_bytes());
    texts.chain(contents.clone()).collect()
}
