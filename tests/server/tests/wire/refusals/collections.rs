//! The rows of `src/refusal/collections.rs`.

use super::{Case, Otherwise, case, check};
use Otherwise::{Either, Refuses};
use bson::{Bson, Document, Uuid, doc};

fn create(options: Document) -> Document {
    let mut command = doc! { "create": "c" };
    command.extend(options);
    command
}

fn modify(options: Document) -> Document {
    let mut command = doc! { "collMod": "c" };
    command.extend(options);
    command
}

/// A case of a new collection.
fn new(id: &'static str, options: Document) -> Case {
    case(id, vec![], create(options))
}

fn clustered_index() -> Document {
    doc! { "key": { "_id": 1 }, "unique": true }
}

fn key_id() -> Uuid {
    Uuid::from_bytes([7; 16])
}

fn encrypted_fields() -> Document {
    doc! { "fields": [{ "path": "a", "bsonType": "string", "keyId": key_id() }] }
}

/// The cases of the versions that lack options.
fn versions() -> Vec<Case> {
    let series = || doc! { "timeseries": { "timeField": "t" } };
    let images = || doc! { "changeStreamPreAndPostImages": { "enabled": true } };
    let clustered = || doc! { "clusteredIndex": clustered_index() };
    let encrypted = || doc! { "encryptedFields": encrypted_fields() };
    let others = || Either(vec![14, 72, 40_415, 6_346_402]);
    vec![
        new("create-option-4-2", series()).otherwise(others()),
        new("create-option-4-2", images()).otherwise(others()),
        new("create-option-4-2", clustered()).otherwise(others()),
        new("create-option-4-2", encrypted()).otherwise(others()),
        new("create-timeseries-version", series()).otherwise(others()),
        new("create-timeseries-version", doc! { "expireAfterSeconds": 1 }).otherwise(Refuses(vec![72])),
        new("create-clustered-version", clustered()).otherwise(others()),
        new("create-clustered-type", clustered()).otherwise(others()),
        new("create-images-version", images()).otherwise(others()),
        new("create-encrypted-version", encrypted()).otherwise(others()),
    ]
}

fn capped() -> Vec<Case> {
    let of_size = |size: i64| doc! { "capped": true, "size": size };
    let of_max = |max: i64| doc! { "capped": true, "size": 4096, "max": max };
    vec![
        new("capped-size-missing", doc! { "capped": true }),
        new("capped-missing", doc! { "size": 4096 }),
        new("capped-missing", doc! { "max": 1 }),
        new("capped-size-4-2", of_size(-1)).otherwise(Refuses(vec![2, 51_024])),
        new("capped-size-before-8", of_size(0)).otherwise(Either(vec![2])),
        new("capped-size", of_size(0)).otherwise(Either(vec![51_024])),
        new("capped-size-maximum-before-8", of_size((1 << 50) + 1)).otherwise(Either(vec![2])),
        new("capped-size-maximum", of_size((1 << 50) + 1)).otherwise(Either(vec![51_024])),
        new("capped-max-4-2", of_max(1 << 31)).otherwise(Refuses(vec![2, 51_024])),
        new("capped-max-before-8", of_max(1 << 31)).otherwise(Refuses(vec![2])),
        new("capped-max", of_max(1 << 31)).otherwise(Refuses(vec![2, 51_024])),
    ]
}

fn others() -> Vec<Case> {
    let rename = doc! { "renameCollection": "c", "to": "e" };
    let images = doc! { "viewOn": "d", "pipeline": [], "changeStreamPreAndPostImages": { "enabled": true } };
    let pipeline = || doc! { "pipeline": [] };
    let view = || create(doc! { "viewOn": "d", "pipeline": [] });
    let again = |id: &'static str, options: Document| case(id, vec![create(doc! {})], create(options));
    let in_admin = |mut options: Document| {
        options.insert("$db", "admin");
        options
    };
    let series = doc! { "timeseries": { "timeField": "t" } };
    let action = || doc! { "validator": {}, "validationAction": "errorAndLog" };
    vec![
        case("rename-view", vec![view()], rename.clone()),
        case("rename-timeseries", vec![create(series)], rename.clone()),
        case(
            "rename-to-view",
            vec![view(), doc! { "create": "a" }],
            doc! { "renameCollection": "a", "to": "c" },
        ),
        case(
            "rename-encrypted",
            vec![create(doc! { "encryptedFields": encrypted_fields() })],
            rename,
        ),
        again("create-exists-4-2", doc! {}).otherwise(Either(vec![48])),
        again("create-exists-before-7", doc! {}).otherwise(Either(vec![48])),
        again("create-exists", doc! { "validator": { "a": 1 } }).otherwise(Refuses(vec![48])),
        case("create-view-exists-before-7", vec![view()], view()).otherwise(Either(vec![48])),
        new("create-collation-empty", doc! { "collation": {} }),
        new("create-view-on-empty", doc! { "viewOn": "" }),
        new(
            "images-database",
            in_admin(doc! { "changeStreamPreAndPostImages": { "enabled": true } }),
        )
        .otherwise(Refuses(vec![72, 40_415])),
        new("validator-database", in_admin(doc! { "validator": { "a": 1 } })),
        new(
            "validator-context",
            doc! { "validator": { "$and": [{ "$where": "true" }] } },
        ),
        new(
            "validator-near",
            doc! { "validator": { "a": { "$near": [0, 0] } } },
        ),
        case("drop-missing", vec![], doc! { "drop": "c" }),
        new("create-temp", doc! { "temp": true }),
        new("create-pipeline-4-2", pipeline()).otherwise(Refuses(vec![72])),
        new("create-pipeline", pipeline()).otherwise(Refuses(vec![2])),
        new("create-validation-action-4", action()).otherwise(Either(vec![2])),
        new("create-validation-action", action()).otherwise(Either(vec![2])),
        new("view-images", images).otherwise(Refuses(vec![72, 40_415])),
    ]
}

fn conversions_to_capped() -> Vec<Case> {
    let convert = || doc! { "convertToCapped": "c", "size": 4096 };
    let encrypted = create(doc! { "encryptedFields": encrypted_fields() });
    vec![
        case(
            "convert-to-capped-size",
            vec![create(doc! {})],
            doc! { "convertToCapped": "c" },
        )
        .otherwise(Refuses(vec![238])),
        case(
            "convert-to-capped-view",
            vec![create(doc! { "viewOn": "d", "pipeline": [] })],
            convert(),
        ),
        case("convert-to-capped-missing", vec![], convert()),
        case("convert-to-capped-encrypted", vec![encrypted], convert()).since(6, 0),
    ]
}

fn clustered() -> Vec<Case> {
    let with = |id: &'static str, options: Document| {
        let mut all = doc! { "clusteredIndex": clustered_index() };
        all.extend(options);
        new(id, all).otherwise(Refuses(vec![14, 72, 40_415]))
    };
    let of = |id: &'static str, index: Bson| {
        new(id, doc! { "clusteredIndex": index }).otherwise(Either(vec![14, 72, 40_415]))
    };
    let expiring = |id: &'static str, seconds: i64| {
        let series = new(
            id,
            doc! { "timeseries": { "timeField": "t" }, "expireAfterSeconds": seconds },
        );
        series.otherwise(Refuses(vec![72, 40_415]))
    };
    vec![
        of("clustered-legacy-5", true.into()).otherwise(Refuses(vec![72, 40_415, 5_979_703])),
        of("clustered-legacy", true.into()).otherwise(Refuses(vec![72, 40_415])),
        of(
            "clustered-unique",
            doc! { "key": { "_id": 1 }, "unique": false }.into(),
        ),
        of("clustered-key", doc! { "key": { "a": 1 }, "unique": true }.into()),
        with("clustered-capped", doc! { "capped": true }),
        with("clustered-view", doc! { "viewOn": "d", "pipeline": [] }),
        with("clustered-size", doc! { "size": 4096 }),
        with("clustered-max", doc! { "max": 1 }),
        new("expire-after-5", doc! { "expireAfterSeconds": 1 }).otherwise(Refuses(vec![72, 40_415])),
        new("expire-after", doc! { "expireAfterSeconds": 1 }).otherwise(Refuses(vec![72, 40_415])),
        expiring("expire-after-negative", -1),
        expiring("expire-after-range-before-8", i64::from(u32::MAX)),
        expiring("expire-after-range", i64::from(u32::MAX)),
    ]
}

fn encrypted() -> Vec<Case> {
    let with = |id: &'static str, options: Document| {
        let mut all = doc! { "encryptedFields": encrypted_fields() };
        all.extend(options);
        new(id, all)
    };
    let old = || vec![72, 40_415];
    let none = || vec![72, 40_415, 6_346_402];
    vec![
        with("encrypted-capped", doc! { "capped": true, "size": 4096 }).otherwise(Refuses(old())),
        with("encrypted-view", doc! { "viewOn": "d", "pipeline": [] }).otherwise(Refuses(old())),
        with(
            "encrypted-validation-level",
            doc! { "validationLevel": "moderate" },
        )
        .otherwise(Refuses(none())),
        with("encrypted-validation-action", doc! { "validationAction": "warn" }).otherwise(Refuses(none())),
        with("encrypted-standalone", doc! {}).otherwise(Either(old())),
    ]
}

fn modification() -> Vec<Case> {
    let plain = || vec![doc! { "create": "c" }];
    let capped = || vec![doc! { "create": "c", "capped": true, "size": 4096 }];
    let view = || vec![doc! { "create": "c", "viewOn": "d", "pipeline": [] }];
    let with = |id: &'static str, setup: Vec<Document>, options: Document| case(id, setup, modify(options));
    let old = || vec![72, 40_415];
    vec![
        with("mod-unknown-4", capped(), doc! { "cappedSize": 8192 }).otherwise(Either(old())),
        with(
            "mod-unknown-4",
            plain(),
            doc! { "changeStreamPreAndPostImages": { "enabled": true } },
        )
        .otherwise(Either(old())),
        with("mod-unknown-5", capped(), doc! { "cappedMax": 1 }).otherwise(Either(old())),
        with("mod-not-capped", plain(), doc! { "cappedSize": 8192 }).otherwise(Refuses(old())),
        with("mod-capped-size", capped(), doc! { "cappedSize": -1 }).otherwise(Refuses(old())),
        with(
            "mod-capped-size-maximum",
            capped(),
            doc! { "cappedSize": (1_i64 << 50) + 1 },
        )
        .otherwise(Refuses(old())),
        with("mod-capped-max", capped(), doc! { "cappedMax": 1_i64 << 31 }).otherwise(Refuses(old())),
        with("mod-not-clustered", plain(), doc! { "expireAfterSeconds": 1 }).otherwise(Refuses(old())),
        case(
            "mod-expire-text",
            vec![create(doc! { "timeseries": { "timeField": "t" } })],
            modify(doc! { "expireAfterSeconds": "never" }),
        ),
        with("mod-view-option-4", plain(), doc! { "viewOn": "d" }).otherwise(Refuses(vec![72])),
        with("mod-view-option", plain(), doc! { "pipeline": [] }).otherwise(Refuses(vec![72])),
        with("mod-of-view", view(), doc! { "validator": {} }),
        with(
            "mod-of-view",
            view(),
            doc! { "index": { "name": "i", "hidden": true } },
        ),
    ]
}

/// An index with duplicates.
fn setup(key: Document) -> Vec<Document> {
    vec![
        doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": "i" }] },
        doc! { "insert": "c", "documents": [{ "a": 1 }, { "a": 1 }] },
    ]
}

fn conversion() -> Vec<Case> {
    let a = || doc! { "a": 1 };
    let old = || vec![72, 40_415];
    let prepared = |id: &'static str, request: Document| {
        let mut commands = setup(a());
        commands.push(modify(doc! { "index": { "name": "i", "prepareUnique": true } }));
        case(id, commands, request).otherwise(Refuses(old()))
    };
    vec![
        prepared(
            "mod-duplicates",
            modify(doc! { "index": { "name": "i", "unique": true } }),
        ),
        case(
            "mod-dry-run-index",
            setup(a()),
            modify(doc! { "dryRun": true, "validator": {} }),
        )
        .otherwise(Refuses(old())),
        case(
            "mod-dry-run-unique",
            setup(a()),
            modify(doc! { "dryRun": true, "index": { "name": "i", "hidden": true } }),
        )
        .otherwise(Refuses(old())),
        prepared(
            "mod-dry-run-combined",
            modify(doc! { "dryRun": true, "index": { "name": "i", "unique": true, "hidden": true } }),
        ),
    ]
}

fn selection() -> Vec<Case> {
    let spec = |name: &str, locale: &str| doc! { "key": { "a": 1 }, "name": name, "collation": { "locale": locale } };
    let two = doc! { "createIndexes": "c", "indexes": [spec("i", "en"), spec("j", "de")] };
    let expire = |mut index: Document| {
        index.insert("expireAfterSeconds", 1);
        modify(doc! { "index": index })
    };
    vec![
        case("mod-missing", vec![], modify(doc! {})),
        case(
            "mod-index-missing",
            vec![create(doc! {})],
            expire(doc! { "name": "i" }),
        ),
        case(
            "mod-index-missing",
            vec![create(doc! {})],
            expire(doc! { "keyPattern": { "a": 1 } }),
        ),
        case(
            "mod-index-ambiguous",
            vec![two],
            expire(doc! { "keyPattern": { "a": 1 } }),
        ),
    ]
}

fn indexes() -> Vec<Case> {
    let with = |id: &'static str, key: Document, options: Document| {
        let mut change = doc! { "name": "i" };
        change.extend(options);
        case(id, setup(key), modify(doc! { "index": change }))
    };
    let on_id = |id: &'static str, options: Document| {
        let mut change = doc! { "name": "_id_" };
        change.extend(options);
        case(id, vec![doc! { "create": "c" }], modify(doc! { "index": change }))
    };
    let a = || doc! { "a": 1 };
    let old = || vec![72, 40_415];
    let hidden_and_validator =
        modify(doc! { "index": { "name": "i", "prepareUnique": true }, "validator": {} });
    vec![
        with("mod-index-nothing-4-2", a(), doc! { "hidden": true }),
        with("mod-index-nothing", a(), doc! {}).otherwise(Refuses(vec![72])),
        with("mod-index-unknown-4-4", a(), doc! { "prepareUnique": true }).otherwise(Either(old())),
        with("mod-index-unknown-5", a(), doc! { "prepareUnique": true }).otherwise(Either(old())),
        with("mod-ttl-conversion", a(), doc! { "expireAfterSeconds": 1 }),
        with(
            "mod-ttl-compound",
            doc! { "a": 1, "b": 1 },
            doc! { "expireAfterSeconds": 1 },
        )
        .otherwise(Refuses(vec![72])),
        with("mod-ttl-negative", a(), doc! { "expireAfterSeconds": -1 }).otherwise(Refuses(vec![72])),
        case(
            "mod-ttl-capped",
            vec![
                create(doc! { "capped": true, "size": 4096 }),
                doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i" }] },
            ],
            modify(doc! { "index": { "name": "i", "expireAfterSeconds": 1 } }),
        )
        .otherwise(Either(vec![72])),
        on_id("mod-ttl-id", doc! { "expireAfterSeconds": 1 }).otherwise(Refuses(vec![72])),
        on_id("mod-hidden-id", doc! { "hidden": true }).otherwise(Refuses(vec![72])),
        case(
            "mod-hidden-clustered",
            vec![create(doc! { "clusteredIndex": clustered_index() })],
            modify(doc! { "index": { "name": "_id_", "hidden": true } }),
        ),
        with("mod-unique-false", a(), doc! { "unique": false }).otherwise(Refuses(old())),
        with(
            "mod-force-non-unique-false",
            a(),
            doc! { "forceNonUnique": false },
        )
        .otherwise(Refuses(old())),
        with("mod-unique-unprepared", a(), doc! { "unique": true }).otherwise(Refuses(old())),
        case("mod-prepare-combined", setup(a()), hidden_and_validator).otherwise(Refuses(old())),
    ]
}

#[tokio::test]
async fn rows_are_refused_where_they_apply() {
    let mut cases = versions();
    cases.extend(capped());
    cases.extend(others());
    cases.extend(conversions_to_capped());
    cases.extend(clustered());
    cases.extend(encrypted());
    cases.extend(modification());
    cases.extend(selection());
    cases.extend(indexes());
    cases.extend(conversion());
    check("Collections", cases).await;
}
