//! Task: pages by number (from 0) with a total, and pages by token.

use marula::{Error, prelude::*};

use crate::support::{Env, Order, numbers, order, orders};

#[tokio::test]
async fn pages_by_number_and_by_token() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    collection.insert_many(&orders()).await.unwrap();
    let page = collection
        .find_all()
        .sort(|o| o.number().asc())
        .page(1, 2)
        .await
        .unwrap();
    assert_eq!(
        (page.total, page.pages(), numbers(&page.items)),
        (5, 3, vec!["N3", "N4"])
    );

    let from = async |token: Option<&str>| {
        let find = collection.find(|o| o.total_cents().gt(0));
        find.keyset(|o| o.created_at().desc(), token, 2).await
    };
    let first = from(None).await.unwrap();
    assert_eq!(numbers(&first.items), ["N5", "N4"]);
    // A new document at the start does not move the second page.
    collection.insert_one(&order(6)).await.unwrap();
    let second = from(first.next.as_deref()).await.unwrap();
    assert_eq!(numbers(&second.items), ["N3", "N2"]);
    let back = from(second.previous.as_deref()).await.unwrap();
    assert_eq!(numbers(&back.items), ["N5", "N4"]);
    let last = from(second.next.as_deref()).await.unwrap();
    assert_eq!((numbers(&last.items), last.next), (vec!["N1"], None));
    let garbage = from(Some("garbage")).await.unwrap_err();
    assert!(matches!(garbage, Error::InvalidPageToken), "{garbage}");
    env.stop().await;
}
