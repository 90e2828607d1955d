//! Task: count the visits of a page; the first visit creates the document.

use marula::{Document, prelude::*};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::support::Env;

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "pages")]
struct Page {
    #[serde(rename = "_id")]
    id: Uuid,
    path: String,
    title: String,
    views: i64,
}

#[tokio::test]
async fn an_upsert_makes_a_whole_document() {
    let env = Env::start().await;
    let pages = env.db.collection::<Page>();
    let initial = Page {
        id: Page::new_id(),
        path: "/".to_owned(),
        title: "Start".to_owned(),
        views: 0,
    };
    let visit = || pages.upsert_with(|p| p.path().eq("/"), |p| p.views().inc(1), &initial);
    assert!(visit().await.unwrap().upserted_id.is_some());
    assert_eq!(visit().await.unwrap().upserted_id, None);
    let page = pages.find_by_id(initial.id).required().await.unwrap();
    assert_eq!((page.views, page.title.as_str()), (2, "Start"));

    // A plain upsert lists the fields itself; the id is a UUID as in every other document.
    let other = pages
        .update_one(
            |p| p.path().eq("/about"),
            |p| (p.views().inc(1), p.title().set_on_insert("About")),
        )
        .upsert(true);
    assert!(other.await.unwrap().upserted_id.is_some());
    let all = pages.find_all().sort(|p| p.path().asc()).await.unwrap();
    assert_eq!(all[1].title, "About");
    assert_eq!(all[1].id.get_version_num(), 7);
    env.stop().await;
}
