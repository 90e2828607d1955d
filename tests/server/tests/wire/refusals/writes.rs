//! The rows of `src/refusal/writes.rs`.

use super::{Otherwise, case, check};
use bson::{Document, doc};

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
    let insert = |name: &str| doc! { "insert": name, "documents": [{}] };
    let update = |name: &str| doc! { "update": name, "updates": [{ "q": {}, "u": { "$set": { "a": 1 } } }] };
    let delete_all = |name: &str| doc! { "delete": name, "deletes": [{ "q": {}, "limit": 0 }] };
    let modify = |name: &str| doc! { "findAndModify": name, "query": {}, "remove": true };
    let system = |id: &'static str, request: Document| {
        case(id, vec![], request).otherwise(Otherwise::Refuses(vec![2, 73, 238]))
    };
    check(
        "Writes",
        vec![
            system("write-system-before-5", insert("system.profile")),
            system("write-system-before-5", update("system.other")),
            system("write-system", delete_all("system.other")),
            system("write-system", modify("system.other")),
            system("write-system-profile", insert("system.profile")),
            system("write-system-views", insert("system.views")),
            system("write-system-part-before-5", insert("a.system.b")),
            system("write-system-part", insert("a.system.b")),
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
