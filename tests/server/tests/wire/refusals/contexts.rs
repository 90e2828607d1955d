//! Names that a version does not have are refused wherever MongoDB parses them.

use super::{failure, servers};
use crate::client::{Client, on};
use bson::{Document, doc};

/// Commands with the expression operator `$dateAdd` or the stage `$setWindowFields`, which are new in
/// 5.0, and the error codes of 4.4.
fn commands() -> Vec<(Document, i32)> {
    let add = doc! { "$dateAdd": { "startDate": "$d", "unit": "day", "amount": 1 } };
    let compared = doc! { "$expr": { "$gt": [add.clone(), "$e"] } };
    let project = doc! { "$project": { "a": add.clone() } };
    let window = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "n": { "$sum": 1 } } } };
    let set = doc! { "$set": { "a": add.clone() } };
    let lookup =
        |stage: &Document| doc! { "$lookup": { "from": "d", "pipeline": [stage.clone()], "as": "b" } };
    let union = |stage: &Document| doc! { "$unionWith": { "coll": "d", "pipeline": [stage.clone()] } };
    let facet = |stage: &Document| doc! { "$facet": { "f": [stage.clone()] } };
    let aggregate = |stage: Document| doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
    let update = |update: Document| doc! { "update": "c", "updates": [update] };
    let merge = doc! { "$merge": { "into": "m", "whenMatched": [set.clone()] } };
    vec![
        (doc! { "find": "c", "filter": compared.clone() }, 168),
        (doc! { "find": "c", "projection": { "a": add.clone() } }, 168),
        (doc! { "count": "c", "query": compared.clone() }, 168),
        (
            doc! { "distinct": "c", "key": "a", "query": compared.clone() },
            168,
        ),
        (
            doc! { "delete": "c", "deletes": [{ "q": compared.clone(), "limit": 0 }] },
            168,
        ),
        (
            doc! { "findAndModify": "c", "query": compared.clone(), "remove": true },
            168,
        ),
        (
            doc! { "findAndModify": "c", "query": {}, "update": [set.clone()] },
            168,
        ),
        (update(doc! { "q": {}, "u": [set] }), 168),
        (
            update(doc! { "q": compared.clone(), "u": { "$set": { "a": 1 } } }),
            168,
        ),
        (aggregate(doc! { "$match": compared.clone() }), 168),
        (aggregate(lookup(&project)), 168),
        (aggregate(union(&project)), 168),
        (aggregate(facet(&project)), 168),
        (aggregate(merge), 168),
        (aggregate(window.clone()), 40324),
        (aggregate(lookup(&window)), 40324),
        (aggregate(union(&window)), 40324),
        (aggregate(facet(&window)), 40324),
        (doc! { "create": "v", "viewOn": "c", "pipeline": [window] }, 40324),
        (doc! { "create": "w", "validator": compared.clone() }, 168),
        (doc! { "collMod": "c", "validator": compared.clone() }, 168),
        (doc! { "listCollections": 1, "filter": compared }, 168),
    ]
}

#[tokio::test]
async fn unknown_names_are_refused_everywhere() {
    for server in servers().await {
        let old = match server.version {
            (4, 4) => true,
            (5, 0) => false,
            _ => continue,
        };
        let address = match server.deployment {
            "replica set" => server.server.primary().unwrap(),
            _ => server.server.addresses()[0],
        };
        let mut client = Client::connect(address).await;
        client.run(on("contexts", doc! { "create": "c" })).await;
        for (command, code) in commands() {
            let reply = client.run(on("contexts", command.clone())).await;
            let failed = failure(&reply).map(|(code, _)| code);
            assert_eq!(
                failed,
                old.then_some(code),
                "{command} on {:?}: {reply}",
                server.version
            );
        }
        if server.deployment == "standalone" {
            continue;
        }
        let stage =
            doc! { "$project": { "a": { "$dateAdd": { "startDate": "$d", "unit": "day", "amount": 1 } } } };
        let stream = doc! { "aggregate": "c", "pipeline": [{ "$changeStream": {} }, stage], "cursor": {} };
        let reply = client.run(on("contexts", stream)).await;
        let failed = failure(&reply).map(|(code, _)| code);
        assert_eq!(failed, old.then_some(168), "{reply}");
    }
}
