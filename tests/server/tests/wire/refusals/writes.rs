//! The rows of `src/refusal/writes.rs`.

use super::{case, check};
use bson::doc;

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let setup = || {
        vec![
            doc! { "create": "c", "capped": true, "size": 4096 },
            doc! { "insert": "c", "documents": [{ "_id": 1, "a": 1 }] },
        ]
    };
    let view = doc! { "create": "c", "viewOn": "d", "pipeline": [] };
    let grow = doc! { "update": "c", "updates": [{ "q": {}, "u": { "$set": { "b": 1 } } }] };
    let shrink = doc! { "findAndModify": "c", "query": {}, "update": { "$unset": { "a": 1 } } };
    let delete = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 1 }] };
    let remove = doc! { "findAndModify": "c", "query": {}, "remove": true };
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
        ],
    )
    .await;
}
