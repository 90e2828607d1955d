//! The predicates of errors: of single writes, of bulk writes, of the driver and of the server.

use std::time::Duration;

use crate::common::Env;
use marula::bson::{Document as BsonDocument, doc};
use marula::driver::error::code;
use marula::prelude::*;
use marula::{Collection, Document, Error};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "parcels", validate = not_negative)]
struct Parcel {
    _id: i64,
    grams: i64,
    #[document(version)]
    version: i64,
}

fn not_negative(parcel: &Parcel) -> Result<(), &'static str> {
    if parcel.grams < 0 { Err("negative") } else { Ok(()) }
}

fn parcel(id: i64, grams: i64) -> Parcel {
    Parcel {
        _id: id,
        grams,
        version: 0,
    }
}

/// The names of the predicates that hold.
fn held(error: &Error) -> Vec<&'static str> {
    let all = [
        ("duplicate", error.is_duplicate()),
        ("not found", error.is_not_found()),
        ("timeout", error.is_timeout()),
        ("version conflict", error.is_version_conflict()),
        ("validation", error.is_validation()),
    ];
    let held = all.into_iter().filter(|(_, holds)| *holds);
    held.map(|(name, _)| name).collect()
}

/// The first commands with this name fail with this code.
async fn fail(env: &Env, command: &str, code: i32) {
    let admin = env.client().driver().database("admin");
    let data = doc! { "failCommands": [command], "errorCode": code };
    let command = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
    admin.run_command(command).await.expect("a fail point");
}

/// The parcels 1 and 2, of which the stored version is higher than that of [`parcel`].
async fn parcels(env: &Env) -> Collection<Parcel> {
    let parcels = env.db.collection::<Parcel>();
    let inserted = parcels.insert_many([parcel(1, 10), parcel(2, 20)]).await;
    inserted.expect("the parcels are new");
    let updated = parcels.update_all(|p| p.grams().inc(1)).await;
    updated.expect("the parcels exist");
    parcels
}

#[tokio::test]
async fn predicates_of_single_calls_recognize_the_variant() {
    let env = Env::start().await;
    let parcels = parcels(&env).await;
    let limit = Duration::from_nanos(1);
    let duplicates = [parcel(1, 0), parcel(3, 0), parcel(2, 0)];
    for (error, expected) in [
        (parcels.insert_one(&parcel(1, 0)).await.unwrap_err(), "duplicate"),
        (
            parcels.insert_many(duplicates).ordered(false).await.unwrap_err(),
            "duplicate",
        ),
        (parcels.find_by_id(7).required().await.unwrap_err(), "not found"),
        (
            parcels.replace(&parcel(1, 5)).await.unwrap_err(),
            "version conflict",
        ),
        (
            parcels.insert_one(&parcel(9, -1)).await.unwrap_err(),
            "validation",
        ),
        (parcels.find_all().timeout(limit).await.unwrap_err(), "timeout"),
        (
            parcels
                .update_by_id(1, |p| p.grams().inc(1))
                .timeout(limit)
                .await
                .unwrap_err(),
            "timeout",
        ),
    ] {
        assert_eq!(held(&error), [expected], "{error:?}");
    }
    // An error of another kind.
    let error = parcels
        .find(|_| marula::Filter::raw(doc! { "$no": 1 }))
        .await
        .unwrap_err();
    assert!(held(&error).is_empty() && !error.is_unavailable(), "{error:?}");
    env.stop().await;
}

#[tokio::test]
async fn predicates_recognize_codes_of_the_server() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let parcels = parcels(&env).await;
    for (code, expected) in [
        (code::DUPLICATE_KEY, "duplicate"),
        (code::LEGACY_DUPLICATE_KEY_ON_UPDATE, "duplicate"),
        (code::DUPLICATE_KEY_ON_CAPPED, "duplicate"),
        (code::MAX_TIME_MS_EXPIRED, "timeout"),
        (code::DOCUMENT_VALIDATION_FAILURE, "validation"),
    ] {
        fail(&env, "insert", code).await;
        let error = parcels.insert_one(&parcel(8, 0)).await.unwrap_err();
        assert_eq!(held(&error), [expected], "{code}: {error:?}");
    }
    // The time limit ends a bulk write of which a command was performed.
    fail(&env, "update", code::MAX_TIME_MS_EXPIRED).await;
    let bulk = parcels.bulk().insert(&parcel(3, 0));
    let error = bulk.update_by_id(1, |p| p.grams().inc(1)).await.unwrap_err();
    assert!(
        matches!(&error, Error::BulkWrite { failed, .. } if failed.is_empty()),
        "{error:?}"
    );
    assert_eq!(held(&error), ["timeout"], "{error:?}");
    env.stop().await;
}

#[tokio::test]
async fn predicates_of_a_bulk_write_hold_for_at_least_one_failed_write() {
    let env = Env::start().await;
    let parcels = parcels(&env).await;
    let bulk = parcels.bulk().insert(&parcel(3, 0)).insert(&parcel(1, 0));
    let error = bulk.await.unwrap_err();
    assert_eq!(held(&error), ["duplicate"], "{error:?}");

    // The server rejects such a save by a duplicate key.
    let error = parcels.bulk().save(&parcel(1, 5)).await.unwrap_err();
    assert_eq!(held(&error), ["version conflict"], "{error:?}");

    let bulk = parcels.bulk().replace(&parcel(1, 5)).insert(&parcel(2, 0));
    let error = bulk.ordered(false).await.unwrap_err();
    assert_eq!(held(&error), ["duplicate", "version conflict"], "{error:?}");
    let Error::BulkWrite { failed, .. } = &error else {
        panic!("{error:?}");
    };
    let kinds: Vec<_> = failed
        .iter()
        .map(|write| {
            (
                write.operation.index,
                write.is_duplicate(),
                write.is_version_conflict(),
            )
        })
        .collect();
    assert_eq!(kinds, [(0, false, true), (1, true, false)]);

    // An invalid write is found before anything is sent.
    let error = parcels.bulk().insert(&parcel(4, -1)).await.unwrap_err();
    assert_eq!(held(&error), ["validation"], "{error:?}");
    assert!(!parcels.exists(|p| p._id().eq(4)).await.unwrap());
    env.stop().await;
}

#[tokio::test]
async fn writes_that_the_validator_of_a_collection_rejects_are_invalid() {
    let env = Env::start().await;
    let light = doc! { "$jsonSchema": { "properties": { "grams": { "maximum": 99 } } } };
    let create = doc! { "create": "parcels", "validator": light };
    env.db.driver().run_command(create).await.unwrap();
    let parcels = env.db.collection::<Parcel>();
    let error = parcels.insert_one(&parcel(1, 500)).await.unwrap_err();
    assert_eq!(held(&error), ["validation"], "{error:?}");
    let bulk = parcels.bulk().insert(&parcel(1, 50)).insert(&parcel(2, 500));
    let error = bulk.insert(&parcel(1, 1)).ordered(false).await.unwrap_err();
    assert_eq!(held(&error), ["duplicate", "validation"], "{error:?}");
    let Error::BulkWrite { failed, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(failed[0].is_validation() && !failed[1].is_validation());
    let stored = parcels.driver().clone_with_type::<BsonDocument>();
    assert_eq!(stored.count_documents(doc! {}).await.unwrap(), 1);
    env.stop().await;
}
