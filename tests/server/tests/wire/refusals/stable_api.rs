//! The rows of `src/refusal/stable_api.rs`.

use super::{Case, Otherwise, case, check, failure};
use crate::client::{Client, on};
use bson::{Document, doc};
use marula_test_server::TestServer;

/// A command with `apiStrict`.
fn strict(id: &'static str, setup: Vec<Document>, mut command: Document) -> Case {
    command.extend(doc! { "apiVersion": "1", "apiStrict": true });
    case(id, setup, command).since(5, 0)
}

fn aggregate(stages: Vec<Document>) -> Document {
    doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }
}

fn commands() -> Vec<Case> {
    let commands = [
        doc! { "distinct": "c", "key": "a" },
        doc! { "buildInfo": 1 },
        doc! { "dbStats": 1 },
        doc! { "connectionStatus": 1 },
        doc! { "usersInfo": 1 },
    ];
    let mut cases: Vec<Case> = commands
        .into_iter()
        .map(|command| strict("strict-command", vec![], command))
        .collect();
    let search = doc! { "createSearchIndexes": "c", "indexes": [{ "definition": {} }] };
    cases.push(strict("strict-command", vec![], search).since(7, 0));
    cases.push(case(
        "strict-without-version",
        vec![],
        doc! { "ping": 1, "apiStrict": true },
    ));
    cases
}

fn fields() -> Vec<Case> {
    let field = |command: Document| {
        strict(
            "strict-field",
            vec![doc! { "insert": "c", "documents": [{ "a": 1 }] }],
            command,
        )
    };
    vec![
        field(doc! { "create": "d", "capped": true, "size": 4096 }),
        field(doc! { "collMod": "c", "index": { "name": "a", "prepareUnique": true } })
            .otherwise(Otherwise::Either(vec![27, 72, 40415])),
        field(doc! { "collMod": "c", "changeStreamPreAndPostImages": { "enabled": true } })
            .otherwise(Otherwise::Either(vec![72, 40415])),
        field(doc! { "find": "c", "showRecordId": true }),
        field(doc! { "aggregate": "c", "pipeline": [], "explain": true }),
        field(
            doc! { "update": "c", "updates": [{ "q": {}, "u": { "$set": { "a": 1 } }, "sort": { "a": 1 } }] },
        )
        .otherwise(Otherwise::Refuses(vec![40415])),
    ]
}

fn stages() -> Vec<Case> {
    let mut cases = Vec::new();
    for id in ["strict-stage", "strict-stage-old"] {
        let case = |command: Document| strict(id, vec![], command).otherwise(Otherwise::Either(vec![323]));
        let stats = doc! { "$indexStats": {} };
        cases.push(case(aggregate(vec![stats.clone()])));
        cases.push(case(aggregate(vec![
            doc! { "$lookup": { "from": "d", "pipeline": [stats.clone()], "as": "b" } },
        ])));
        cases.push(case(doc! { "create": "v", "viewOn": "c", "pipeline": [stats] }));
        cases.push(case(
            doc! { "aggregate": 1, "pipeline": [{ "$currentOp": {} }], "cursor": {}, "$db": "admin" },
        ));
    }
    let stats = aggregate(vec![doc! { "$collStats": { "storageStats": {} } }]);
    let setup = vec![doc! { "create": "c" }];
    cases.push(strict("strict-coll-stats", setup, stats));
    cases
}

fn expressions() -> Vec<Case> {
    let project = |expression: Document| aggregate(vec![doc! { "$project": { "a": expression } }]);
    let median = doc! { "$median": { "input": "$a", "method": "approximate" } };
    let field = doc! { "$getField": "b" };
    let text = vec![doc! { "createIndexes": "c", "indexes": [{ "key": { "t": "text" }, "name": "t" }] }];
    let search = doc! { "find": "c", "filter": { "$text": { "$search": "word" } } };
    let mut scored = search.clone();
    scored.insert("projection", doc! { "s": { "$meta": "textScore" } });
    vec![
        strict("strict-expression", vec![], project(median)).since(7, 0),
        strict("strict-expression-old", vec![], project(field.clone())).since(5, 0),
        strict(
            "strict-expression-old",
            vec![],
            doc! { "create": "v", "validator": { "$expr": field } },
        )
        .since(5, 0),
        strict("strict-meta", text.clone(), scored),
        strict("strict-text", text, search),
    ]
}

/// Commands with a field that 4.2 and 4.4 do not have.
fn before_5_0() -> Vec<Case> {
    let row = |id: &'static str, mut command: Document, field: &str| {
        command.insert("apiVersion", "1");
        if field != "apiVersion" {
            command.insert(field, false);
        }
        case(id, vec![], command)
    };
    let update = doc! { "update": "c", "updates": [{ "q": {}, "u": { "$set": { "a": 1 } } }] };
    let modify = doc! { "findAndModify": "c", "query": {}, "remove": true };
    let field = "api-unknown-field";
    vec![
        row(field, doc! { "insert": "c", "documents": [{}] }, "apiVersion"),
        row(field, update, "apiStrict"),
        row(
            field,
            doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 1 }] },
            "apiVersion",
        ),
        row(
            field,
            doc! { "distinct": "c", "key": "a" },
            "apiDeprecationErrors",
        ),
        row("api-unknown-find", doc! { "find": "c" }, "apiVersion"),
        row("api-unknown-aggregate", aggregate(vec![]), "apiVersion"),
        row("api-unknown-find-and-modify", modify, "apiVersion"),
    ]
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let cases = [commands(), fields(), stages(), expressions(), before_5_0()];
    check("Stable API", cases.into_iter().flatten().collect()).await;
}

#[tokio::test]
async fn versions_before_5_0_ignore_the_api_version_of_some_commands() {
    for version in ["4.2", "4.4"] {
        let server = TestServer::builder()
            .version(version)
            .standalone()
            .start()
            .await
            .unwrap();
        let mut client = Client::connect(server.addresses()[0]).await;
        for name in ["hello", "isMaster", "ping"] {
            let command =
                doc! { name: 1, "apiVersion": "2", "apiStrict": true, "apiDeprecationErrors": true };
            let reply = client.run(on("admin", command)).await;
            assert_eq!(failure(&reply), None, "{name} on {version}: {reply}");
        }
        let reply = client.run(on("admin", doc! { "hello": 1, "other": 1 })).await;
        assert_eq!(failure(&reply), None, "{reply}");
    }
}
