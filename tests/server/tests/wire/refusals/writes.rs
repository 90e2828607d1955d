//! The rows of `src/refusal/writes.rs`.

use super::{case, check};
use bson::{Document, Uuid, doc};

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let setup = || {
        vec![
            doc! { "create": "c", "capped": true, "size": 4096 },
            doc! { "insert": "c", "documents": [{ "_id": 1, "a": 1 }] },
        ]
    };
    let in_transaction = |body: Document| {
        let mut all = body;
        all.extend(doc! {
            "lsid": { "id": Uuid::new() },
            "txnNumber": 1_i64,
            "autocommit": false,
            "startTransaction": true,
        });
        all
    };
    let view = doc! { "create": "c", "viewOn": "d", "pipeline": [] };
    let grow = doc! { "update": "c", "updates": [{ "q": {}, "u": { "$set": { "b": 1 } } }] };
    let shrink = doc! { "findAndModify": "c", "query": {}, "update": { "$unset": { "a": 1 } } };
    let delete = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 1 }] };
    let remove = doc! { "findAndModify": "c", "query": {}, "remove": true };
    let insert = in_transaction(doc! { "insert": "c", "documents": [{}] });
    check(
        "Writes",
        vec![
            case("capped-delete", setup(), delete),
            case("capped-delete", setup(), remove),
            case("capped-grow", setup(), grow),
            case("capped-grow", setup(), shrink),
            case(
                "write-on-view",
                vec![view],
                doc! { "insert": "c", "documents": [{}] },
            ),
            // Standalones have no transactions.
            case("capped-transaction", setup(), insert).otherwise(super::Otherwise::Refuses(vec![20])),
        ],
    )
    .await;
}
