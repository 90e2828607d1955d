//! The rows of `src/refusal/indexes.rs`.

use super::{Case, Otherwise, case, check};
use Otherwise::{Accepts, Either, Refuses};
use bson::{Bson, Document, doc};

/// `createIndexes` with one index: its key and other fields than the name, which is `i`.
fn index(key: Document, options: Document) -> Document {
    let mut spec = doc! { "key": key, "name": "i" };
    spec.extend(options);
    doc! { "createIndexes": "c", "indexes": [spec] }
}

/// A case of an index on a collection that does not exist.
fn new(id: &'static str, key: Document, options: Document) -> Case {
    case(id, vec![], index(key, options))
}

/// A case of a second index.
fn second(id: &'static str, first: Document, request: Document) -> Case {
    case(id, vec![first], request)
}

fn partial(id: &'static str, filter: Document) -> Case {
    new(id, doc! { "a": 1 }, doc! { "partialFilterExpression": filter })
}

fn keys() -> Vec<Case> {
    vec![
        new("index-2d-twice", doc! { "a": "2d", "b": "2d" }, doc! {}),
        new("index-2d-first", doc! { "a": 1, "b": "2d" }, doc! {}),
        new("index-2d-bits", doc! { "a": "2d" }, doc! { "bits": 33 }),
        new(
            "index-text-adjacent",
            doc! { "a": "text", "b": 1, "c": "text" },
            doc! {},
        ),
        new("index-text-value", doc! { "a": "text", "b": 2 }, doc! {}),
        new(
            "index-text-language",
            doc! { "a": "text" },
            doc! { "default_language": "klingon" },
        ),
        new(
            "index-text-weight",
            doc! { "a": "text" },
            doc! { "weights": { "a": 0 } },
        ),
        new("index-two-types", doc! { "a": "2d", "b": "text" }, doc! {}),
        new(
            "index-haystack",
            doc! { "a": "geoHaystack", "b": 1 },
            doc! { "bucketSize": 1 },
        )
        .otherwise(Refuses(vec![238])),
        new("index-wildcard-compound", doc! { "a": 1, "b.$**": 1 }, doc! {}),
        new("index-wildcard-descending", doc! { "$**": -1 }, doc! {}),
        new("index-wildcard-no-projection", doc! { "$**": 1, "a": 1 }, doc! {}).otherwise(Refuses(vec![67])),
        new("index-wildcard-twice", doc! { "a.$**": 1, "b.$**": 1 }, doc! {}).otherwise(Refuses(vec![67])),
        new("index-wildcard-overlap", doc! { "a.$**": 1, "a.b": 1 }, doc! {}).otherwise(Refuses(vec![67])),
        new(
            "index-wildcard-sparse",
            doc! { "$**": 1 },
            doc! { "sparse": true },
        ),
        new(
            "index-wildcard-unique",
            doc! { "a.$**": 1 },
            doc! { "unique": true },
        ),
        new(
            "index-wildcard-ttl",
            doc! { "$**": 1 },
            doc! { "expireAfterSeconds": 1 },
        ),
        new(
            "index-wildcard-projection-type",
            doc! { "a": 1 },
            doc! { "wildcardProjection": { "a": 1 } },
        ),
        new(
            "index-wildcard-projection-path",
            doc! { "a.$**": 1 },
            doc! { "wildcardProjection": { "a": 1 } },
        ),
        new("index-hashed-compound", doc! { "a": "hashed", "b": 1 }, doc! {}),
        new(
            "index-hashed-twice",
            doc! { "a": "hashed", "b": "hashed" },
            doc! {},
        )
        .otherwise(Refuses(vec![16_763])),
        new(
            "index-hashed-unique",
            doc! { "a": "hashed" },
            doc! { "unique": true },
        ),
    ]
}

/// `createIndexes` with fields that the parser of 4.2 and 4.4 refuses.
fn fields() -> Vec<Case> {
    let mut versioned = index(doc! { "a": 1 }, doc! {});
    versioned.insert("apiVersion", "1");
    let mut unknown = index(doc! { "a": 1 }, doc! {});
    unknown.insert("other", 1);
    let mut ignoring = index(doc! { "a": 1 }, doc! {});
    ignoring.insert("ignoreUnknownIndexOptions", 1);
    let with = |indexes: Bson| doc! { "createIndexes": "c", "indexes": indexes };
    vec![
        case("index-field-unknown", vec![], versioned),
        case("index-field-unknown", vec![], unknown).otherwise(Refuses(vec![40415])),
        case("index-indexes-missing", vec![], doc! { "createIndexes": "c" }).otherwise(Refuses(vec![40414])),
        case("index-indexes-type", vec![], with(1.into())).otherwise(Refuses(vec![14])),
        case("index-indexes-element", vec![], with(vec![1].into())).otherwise(Refuses(vec![14])),
        case("index-ignore-type", vec![], ignoring),
    ]
}

fn reindex() -> Vec<Case> {
    let request = || doc! { "reIndex": "c" };
    let create = |options: Document| {
        let mut command = doc! { "create": "c" };
        command.extend(options);
        vec![command]
    };
    vec![
        case("reindex-replicated", create(doc! {}), request()).otherwise(Either(vec![59])),
        case("reindex-view", create(doc! { "viewOn": "d" }), request()).otherwise(Refuses(vec![20, 59, 166])),
        case("reindex-missing", vec![], request()).otherwise(Refuses(vec![20, 26, 59])),
    ]
}

fn of_id() -> Vec<Case> {
    let on_missing_options = Refuses(vec![197]);
    vec![
        new("index-id-option", doc! { "_id": 1 }, doc! { "unique": true }),
        new("index-id-option", doc! { "_id": 1 }, doc! { "sparse": true }),
        new(
            "index-id-option",
            doc! { "_id": 1 },
            doc! { "expireAfterSeconds": 1 },
        ),
        new("index-id-descending", doc! { "_id": -1 }, doc! {}),
        new("index-id-name", doc! { "a": 1 }, doc! { "name": "_id_" }),
        new(
            "index-id-collation",
            doc! { "_id": 1 },
            doc! { "collation": { "locale": "en" } },
        ),
        new("index-name-star", doc! { "a": 1 }, doc! { "name": "*" }),
        new("index-option-unknown", doc! { "a": 1 }, doc! { "uniq": true }),
        new("index-hidden-version", doc! { "a": 1 }, doc! { "hidden": true }),
        new("index-hidden-type", doc! { "a": 1 }, doc! { "hidden": 1 }).otherwise(Refuses(vec![197])),
        new(
            "index-prepare-unique-version",
            doc! { "a": 1 },
            doc! { "prepareUnique": true },
        ),
        new(
            "index-unique-and-prepared",
            doc! { "a": 1 },
            doc! { "unique": true, "prepareUnique": true },
        )
        .otherwise(on_missing_options),
        new(
            "index-weights-type",
            doc! { "a": 1 },
            doc! { "weights": { "a": 1 } },
        ),
    ]
}

fn ttl() -> Vec<Case> {
    let ttl = |seconds: Bson| doc! { "expireAfterSeconds": seconds };
    vec![
        new("index-ttl-compound", doc! { "a": 1, "b": 1 }, ttl(1.into())),
        new("index-ttl-type", doc! { "a": 1 }, ttl("1".into())),
        new("index-ttl-negative", doc! { "a": 1 }, ttl((-1).into())),
        new(
            "index-ttl-range-before-6",
            doc! { "a": 1 },
            ttl(2_147_483_647.into()),
        ),
        new("index-ttl-range", doc! { "a": 1 }, ttl(2_147_483_648_i64.into())).otherwise(Refuses(vec![67])),
        second(
            "index-ttl-capped",
            doc! { "create": "c", "capped": true, "size": 4096 },
            index(doc! { "a": 1 }, ttl(1.into())),
        ),
    ]
}

fn clustered() -> Vec<Case> {
    let create =
        || doc! { "create": "c", "clusteredIndex": { "key": { "_id": 1 }, "unique": true, "name": "k" } };
    let on = |options: Document| {
        let mut all = doc! { "clustered": true, "unique": true };
        all.extend(options);
        all
    };
    let unknown = || Refuses(vec![197]);
    vec![
        new("index-clustered-version", doc! { "_id": 1 }, on(doc! {})).otherwise(Refuses(vec![6_479_600])),
        new(
            "index-clustered-option",
            doc! { "_id": 1 },
            on(doc! { "sparse": true }),
        )
        .otherwise(unknown()),
        new(
            "index-clustered-false",
            doc! { "_id": 1 },
            on(doc! { "clustered": false }),
        )
        .otherwise(unknown()),
        new(
            "index-clustered-unique",
            doc! { "_id": 1 },
            on(doc! { "unique": false }),
        )
        .otherwise(unknown()),
        new("index-clustered-collection", doc! { "_id": 1 }, on(doc! {})).otherwise(unknown()),
        second(
            "index-clustered-key",
            create(),
            index(doc! { "a": 1 }, on(doc! {})),
        ),
        second(
            "index-clustered-name",
            create(),
            index(doc! { "a": 1 }, doc! { "name": "k" }),
        ),
    ]
}

fn options() -> Vec<Case> {
    let collated = || doc! { "create": "c", "collation": { "locale": "en" } };
    vec![
        new("index-type-collation", doc! { "a": "text" }, doc! { "collation": { "locale": "en" } }),
        second("index-type-collation", collated(), index(doc! { "a": "text" }, doc! {})),
        second("index-type-collation", collated(), index(doc! { "a": "2d" }, doc! {})),
        new(
            "index-partial-sparse",
            doc! { "a": 1 },
            doc! { "sparse": true, "partialFilterExpression": { "a": 1 } },
        ),
        partial("index-partial-operator-before-6", doc! { "a": { "$in": [1, 2] } }),
        partial("index-partial-operator-before-6", doc! { "$or": [{ "a": 1 }, { "b": 1 }] }),
        partial("index-partial-operator-before-6", doc! { "a": { "$ne": 1 } }).otherwise(Refuses(vec![67])),
        partial("index-partial-operator", doc! { "a": { "$ne": 1 } }).otherwise(Refuses(vec![67])),
        partial("index-partial-operator", doc! { "a": { "$exists": false } }).otherwise(Refuses(vec![67])),
        partial("index-partial-operator", doc! { "$nor": [{ "a": 1 }] }).otherwise(Refuses(vec![67])),
        partial("index-partial-and", doc! { "a": 1, "$and": [{ "b": 1 }, { "c": 1 }] }),
        partial("index-partial-and", doc! { "$and": [{ "a": { "$gt": 1, "$lt": 5 } }, { "b": 1 }] }),
        partial(
            "index-partial-depth",
            doc! { "a": 1, "$and": [{ "b": 1, "$and": [{ "c": 1, "$and": [{ "d": 1, "$and": [{ "e": 1 }] }] }] }] },
        )
        .otherwise(Refuses(vec![67])),
        partial("index-partial-text", doc! { "$text": { "$search": "a" } }),
        partial("index-partial-context", doc! { "$expr": true }),
        partial("index-partial-context", doc! { "$and": [{ "$jsonSchema": {} }] }),
    ]
}

fn conflicts() -> Vec<Case> {
    let first = |options: Document| index(doc! { "a": 1 }, options);
    let named = |name: &str, options: Document| {
        let mut all = doc! { "name": name };
        all.extend(options);
        index(doc! { "a": 1 }, all)
    };
    let many: Vec<Bson> = (1..64)
        .map(|n| Bson::Document(doc! { "key": { format!("f{n}"): 1 }, "name": format!("n{n}") }))
        .collect();
    let text = || index(doc! { "a": "text" }, doc! { "name": "t" });
    let quorum = || {
        let mut command = first(doc! {});
        command.insert("commitQuorum", 1);
        command
    };
    vec![
        second(
            "index-too-many",
            doc! { "createIndexes": "c", "indexes": many },
            index(doc! { "a": 1 }, doc! {}),
        ),
        second(
            "index-second-text",
            text(),
            index(doc! { "b": 1, "a": "text" }, doc! {}),
        ),
        second("index-other-name", text(), index(doc! { "b": "text" }, doc! {})).otherwise(Refuses(vec![85])),
        second(
            "index-name-taken-before-5",
            first(doc! {}),
            index(doc! { "b": 1 }, doc! {}),
        )
        .otherwise(Refuses(vec![86])),
        second("index-name-taken", first(doc! {}), first(doc! { "unique": true }))
            .otherwise(Refuses(vec![85])),
        second(
            "index-name-collation",
            first(doc! {}),
            first(doc! { "collation": { "locale": "en" } }),
        )
        .otherwise(Refuses(vec![86])),
        second(
            "index-same-name-before-5",
            first(doc! {}),
            first(doc! { "unique": true }),
        )
        .otherwise(Refuses(vec![86])),
        second(
            "index-same-name",
            first(doc! {}),
            first(doc! { "expireAfterSeconds": 1 }),
        )
        .otherwise(Refuses(vec![85])),
        second(
            "index-other-name-before-5",
            first(doc! {}),
            named("j", doc! { "partialFilterExpression": { "b": 1 } }),
        )
        .otherwise(Accepts),
        second(
            "index-other-name",
            first(doc! {}),
            named("j", doc! { "expireAfterSeconds": 1 }),
        )
        .otherwise(Refuses(vec![85])),
        second("index-renamed-before-5", first(doc! {}), named("j", doc! {})).otherwise(Refuses(vec![85])),
        second("index-renamed", first(doc! {}), named("j", doc! {})).otherwise(Refuses(vec![85])),
        case("index-commit-quorum-4-2", vec![], quorum()).otherwise(Either(vec![2])),
        case("index-commit-quorum", vec![], quorum()).otherwise(Either(vec![2])),
        second(
            "index-on-view",
            doc! { "create": "c", "viewOn": "d", "pipeline": [] },
            first(doc! {}),
        ),
    ]
}

fn drops() -> Vec<Case> {
    let drop = |selector: Bson| doc! { "dropIndexes": "c", "index": selector };
    let spec = |name: &str, locale: &str| doc! { "key": { "a": 1 }, "name": name, "collation": { "locale": locale } };
    let two = doc! { "createIndexes": "c", "indexes": [spec("i", "en"), spec("j", "de")] };
    let key = || Bson::Document(doc! { "a": 1 });
    vec![
        second("index-drop-missing", doc! { "create": "c" }, drop("i".into())),
        second("index-drop-missing-key", doc! { "create": "c" }, drop(key())),
        second("index-drop-ambiguous", two, drop(key())),
        second(
            "index-drop-clustered",
            doc! { "create": "c", "clusteredIndex": { "key": { "_id": 1 }, "unique": true } },
            doc! { "dropIndexes": "c", "index": { "_id": 1 } },
        ),
        second(
            "index-drop-on-view",
            doc! { "create": "c", "viewOn": "d", "pipeline": [] },
            doc! { "dropIndexes": "c", "index": "*" },
        ),
        second(
            "index-drop-id",
            doc! { "create": "c" },
            doc! { "dropIndexes": "c", "index": "_id_" },
        )
        .otherwise(Either(vec![])),
    ]
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let mut cases = keys();
    cases.extend(of_id());
    cases.extend(drops());
    cases.extend(ttl());
    cases.extend(clustered());
    cases.extend(options());
    cases.extend(conflicts());
    cases.extend(fields());
    cases.extend(reindex());
    check("Indexes", cases).await;
}
