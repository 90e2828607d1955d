//! The sizes of the actions of the main operations, and of their boxed futures.

use marula_driver::bson::{Document, doc};
use marula_driver_tests::standalone;

/// Prints the size of each action as a value, and of the boxed future that awaiting it creates.
macro_rules! sizes {
    ($($name:literal: $action:expr;)*) => {{
        let mut largest = (0, 0);
        $(
            let action = $action;
            let value = size_of_val(&action);
            let boxed = size_of_val(&*action.into_future());
            println!("{:<24} action {value:>5}, boxed future {boxed:>5}", $name);
            largest = (largest.0.max(value), largest.1.max(boxed));
        )*
        largest
    }};
}

#[tokio::test]
async fn actions_and_futures_of_the_main_operations_are_small() {
    let deployment = standalone().await;
    let database = deployment.database();
    let things = database.collection::<Document>("things");
    let document = doc! { "_id": 1 };
    let documents = [document.clone()];
    let (small, quick) = sizes! {
        "run_command": database.run_command(doc! { "ping": 1 });
        "insert_one": things.insert_one(&document);
        "find": things.find(doc! {});
        "find_one": things.find_one(doc! {});
        "update_one": things.update_one(doc! {}, doc! { "$set": { "a": 1 } });
        "delete_one": things.delete_one(doc! {});
        "find_one_and_update": things.find_one_and_update(doc! {}, doc! { "$set": { "a": 1 } });
    };
    let (value, boxed) = sizes! {
        "insert_many": things.insert_many(&documents);
        "aggregate": things.aggregate([doc! { "$match": {} }]);
        "count_documents": things.count_documents(doc! {});
        "distinct": things.distinct("a", doc! {});
        "list_collection_names": database.list_collection_names();
        "create_collection": database.create_collection("c");
    };
    let mut cursor = things.find(doc! {}).await.expect("a cursor");
    let advance = size_of_val(&cursor.advance());
    let try_next = size_of_val(&cursor.try_next());
    let shutdown = size_of_val(&deployment.client.shutdown());
    println!(
        "largest: {small}, {quick}; others {value}, {boxed}; advance {advance}, try_next {try_next}, shutdown {shutdown}"
    );
    // Larger blocks are not in the fast bins of glibc's allocator, and take several times as long
    // to allocate.
    assert!(
        quick <= 1_032,
        "the future that a small action allocates: {quick}"
    );
    assert!(boxed <= 2_560, "the future that an action allocates: {boxed}");
    assert!(
        small <= 512 && value <= 1_024 && try_next <= 256,
        "the size of an action in the caller's future: {small}, {value}, {try_next}"
    );
}
