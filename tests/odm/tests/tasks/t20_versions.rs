//! Task: two users edit the same document; the second one does not overwrite the first.

use marula::{Document, Error, prelude::*};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::support::Env;

#[derive(Clone, Serialize, Deserialize, Document)]
#[document(collection = "articles")]
struct Article {
    #[serde(rename = "_id")]
    id: Uuid,
    text: String,
    #[document(version)]
    version: i64,
}

#[tokio::test]
async fn a_lost_race_is_a_conflict() {
    let env = Env::start().await;
    let articles = env.db.collection::<Article>();
    let mut article = Article {
        id: Article::new_id(),
        text: "draft".to_owned(),
        version: 0,
    };
    articles.insert_one(&article).await.unwrap();
    let mut other = articles.find_by_id(article.id).required().await.unwrap();
    other.text = "second".to_owned();
    articles.save(&mut other).await.unwrap();

    article.text = "third".to_owned();
    let conflict = articles.save(&mut article).await.unwrap_err();
    assert!(matches!(conflict, Error::VersionConflict { .. }), "{conflict}");
    let mut again = articles.find_by_id(article.id).required().await.unwrap();
    assert_eq!((again.text.as_str(), again.version), ("second", other.version));
    again.text.push_str(", third");
    articles.save(&mut again).await.unwrap();
    let stored = articles.find_by_id(again.id).required().await.unwrap();
    assert_eq!(
        (stored.text.as_str(), stored.version),
        ("second, third", again.version)
    );
    env.stop().await;
}
