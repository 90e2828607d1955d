//! Transactions that are dropped while handles are bound to them.

use crate::common::Env;
use marula::{Document, Error};

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "tasks")]
struct Task {
    _id: i64,
}

/// The abort runs in the background. A call that is made meanwhile would be lost with it.
#[tokio::test]
async fn calls_of_a_handle_fail_as_soon_as_the_transaction_is_dropped() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let tasks = env.db.collection::<Task>();
    tasks.insert_one(&Task { _id: 0 }).await.unwrap();
    for id in 1..=20 {
        let tx = env.client().start_transaction().await.unwrap();
        let bound = tx.bind(&tasks);
        bound.insert_one(&Task { _id: id }).await.unwrap();
        drop(tx);
        for error in [
            bound.insert_one(&Task { _id: -id }).await.unwrap_err(),
            bound.find_by_id(0).await.unwrap_err(),
        ] {
            assert!(matches!(&error, Error::Driver(_)), "{error:?}");
            assert!(error.to_string().contains("bound"), "{error}");
        }
        assert!(!bound.transaction().expect("a bound handle").is_in_progress());
    }
    assert_eq!(tasks.find_all().await.unwrap(), [Task { _id: 0 }]);
    env.stop().await;
}
