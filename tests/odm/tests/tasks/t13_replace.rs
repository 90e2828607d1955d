//! Task: replace a document by its id; a document that does not exist is a 404.

use marula::{Error, prelude::*};

use crate::support::{Env, Order, Status, order};

#[tokio::test]
async fn a_replacement_of_nothing_can_be_an_error() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let mut stored = order(1);
    collection.insert_one(&stored).await.unwrap();
    stored.status = Status::Shipped;
    stored.note = Some("sent".to_owned());
    collection.replace(&stored).required().await.unwrap();
    assert_eq!(collection.find_by_id(stored.id).await.unwrap(), Some(stored));

    let unsaved = order(2);
    let error = collection.replace(&unsaved).required().await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    assert_eq!(collection.replace(&unsaved).await.unwrap().matched_count, 0);
    collection.save(&unsaved).await.unwrap();
    assert!(collection.exists(|o| o.number().eq("N2")).await.unwrap());
    env.stop().await;
}
