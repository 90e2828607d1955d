//! Task: delete documents; a filter that was built from no parameters deletes nothing.

use marula::{Error, Filter, prelude::*};

use crate::support::{Env, Order, orders};

#[tokio::test]
async fn an_empty_filter_is_rejected() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let all = orders();
    collection.insert_many(&all).await.unwrap();
    assert_eq!(collection.delete_by_id(all[0].id).required().await.unwrap(), 1);
    let gone = collection.delete_by_id(all[0].id).required().await.unwrap_err();
    assert!(matches!(gone, Error::NotFound { .. }), "{gone}");

    let parameters: [Option<Filter<Order>>; 2] = [None, None];
    let error = collection
        .filter(Filter::all_some(parameters))
        .delete_many()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::InvalidFilter { .. }), "{error}");
    assert_eq!(collection.find_all().await.unwrap().len(), 4);

    assert_eq!(
        collection
            .delete_many(|o| o.total_cents().lte(300))
            .await
            .unwrap(),
        2
    );
    assert_eq!(collection.delete_all().await.unwrap(), 2);
    env.stop().await;
}
