//! Errors name the collection, the document, the field and the index.

use crate::common::{Env, Order, order};
use marula::bson::{Document, doc};
use marula::driver::{ErrorKind, WriteModel};
use marula::prelude::*;
use marula::schema::Apply;
use marula::{Error, Filter, SchemaError};

#[tokio::test]
async fn a_decode_error_names_the_document() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let good = order(1);
    orders.insert_one(&good).await.unwrap();
    orders
        .driver()
        .clone_with_type::<Document>()
        .update_one(
            doc! { "number": 1_i64 },
            doc! { "$set": { "lines.0.qty": "two" } },
        )
        .await
        .unwrap();
    for error in [
        orders.find_all().all().await.unwrap_err(),
        orders.find_by_id(good.id).await.unwrap_err(),
        orders
            .find_one_and_update(|o| o.id().eq(good.id), |o| o.note().set("x"))
            .await
            .unwrap_err(),
    ] {
        let Error::Decode {
            collection, id, path, ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(collection, &format!("{}.orders", env.db.name()));
        assert!(id.is_some());
        assert_eq!(path, "lines[0].qty");
        let text = error.to_string();
        assert!(
            text.contains("lines[0].qty") && text.contains(&good.id.to_string()),
            "{text}"
        );
        assert!(!text.contains("two"), "no stored values but the id: {text}");
    }
    env.stop().await;
}

#[tokio::test]
async fn a_duplicate_error_names_the_index() {
    let env = Env::start().await;
    env.db
        .schema()
        .register::<Order>()
        .plan()
        .await
        .unwrap()
        .apply(Apply::additive())
        .await
        .unwrap();
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let inserted = orders.insert_one(&order(1)).await.unwrap_err();
    let many = orders
        .insert_many(&[order(2), order(1), order(3)])
        .await
        .unwrap_err();
    orders.insert_one(&order(9)).await.unwrap();
    let updated = orders
        .update_one(|o| o.number().eq(9), |o| o.number().set(1))
        .await
        .unwrap_err();
    let modified = orders
        .find_one_and_update(|o| o.number().eq(9), |o| o.number().set(1))
        .await
        .unwrap_err();
    for error in [inserted, many, updated, modified] {
        let Error::Duplicate { index, key, source } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(index.as_deref(), Some("number_1"), "{error}");
        // Other deployments may not send `keyPattern`.
        assert!(key.is_some() || !env.is_own(), "{error:?}");
        assert!(key.as_deref().is_none_or(|key| *key == doc! { "number": 1 }));
        assert!(source.is_duplicate_key());
        assert!(error.driver().is_some());
    }
    let unordered = orders
        .insert_many(&[order(1), order(4), order(2), order(9)])
        .ordered(false)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        unordered.ends_with("; 3 writes of the call failed, at the indexes 0, 2, 3"),
        "{unordered}"
    );
    assert_eq!(
        orders.count(|_| Filter::everything()).await.unwrap(),
        4,
        "the second of three stopped the ordered insert"
    );
    env.stop().await;
}

/// The messages of an error and its sources.
fn chain(error: &dyn std::error::Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts
}

/// The error of a bulk write with a failed command.
async fn interrupted(env: &Env, orders: &marula::Collection<Order>) -> Error {
    let fail_point = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["delete"], "errorCode": 96 },
    };
    let admin = env.db.driver().client().database("admin");
    admin.run_command(fail_point).await.expect("accepted");
    let bulk = orders
        .driver()
        .bulk_write([WriteModel::delete_one(doc! { "number": 99_i64 })])
        .await;
    let error = Error::from(bulk.expect_err("interrupted"));
    let kind = error.driver().map(marula::driver::Error::kind);
    assert!(
        matches!(kind, Some(ErrorKind::BulkWrite(bulk)) if bulk.interrupted_by.is_some()),
        "{error:?}"
    );
    assert!(chain(&error).len() > 1, "the cause is in the chain: {error:?}");
    error
}

/// One error of each variant, returned by calls where possible. Add new variants here.
async fn one_of_each(env: &Env) -> Vec<Error> {
    let orders = env.db.collection::<Order>();
    let plan = env
        .db
        .schema()
        .register::<Order>()
        .plan()
        .await
        .expect("accepted");
    plan.apply(Apply::additive()).await.expect("accepted");
    let first = order(1);
    orders
        .insert_many(&[first.clone(), order(2)])
        .await
        .expect("accepted");
    let broken = orders.driver().clone_with_type::<Document>();
    let duplicate = || async { orders.insert_one(&order(1)).await.expect_err("refused") };
    let command = env
        .db
        .driver()
        .run_command(doc! { "noSuchCommand": 1 })
        .await
        .expect_err("refused");
    let unreadable = marula::bson::from_slice::<Order>(&[5, 0, 0, 0, 0]).expect_err("refused");
    let concurrent = match duplicate().await {
        Error::Duplicate { source, .. } => source,
        other => panic!("{other}"),
    };
    let specification = || Box::new(doc! { "key": { "a": 1 } });
    let (namespace, index) = ("db.orders".to_owned(), "a_1".to_owned());
    let mut errors = vec![
        Error::from(command),
        duplicate().await,
        orders
            .insert_many(&[order(3), order(1)])
            .await
            .expect_err("refused"),
        Error::Decode {
            collection: namespace.clone(),
            id: None,
            path: String::new(),
            source: unreadable,
        },
        Error::MissingId {
            collection: namespace.clone(),
            reason: "the id argument is `None`",
        },
        orders
            .find(|o| o.number().eq(99))
            .one()
            .await
            .expect_err("refused"),
        orders
            .find(|o| o.number().gt(0))
            .one()
            .await
            .expect_err("refused"),
        orders
            .find_all()
            .keyset(|o| o.number().asc(), Some("x"), 1)
            .await
            .expect_err("refused"),
        orders
            .find(|o| o.note().eq("a") & o.note().regex("a\0"))
            .await
            .expect_err("refused"),
        Error::Encode {
            path: "big".to_owned(),
            source: marula::bson::to_bson(&u64::MAX).expect_err("refused").into(),
        },
        orders
            .find(|o| o.number().modulo(0, 0))
            .await
            .expect_err("refused"),
        orders
            .update_by_id(first.id, |_| marula::Update::empty())
            .await
            .expect_err("refused"),
        marula::SortNames::<marula::Sort<Order>>::new()
            .parse("x")
            .expect_err("refused"),
        orders.find_all().page(0, 0).await.expect_err("refused"),
        Error::Schema(SchemaError::OptionsConflict {
            namespace: namespace.clone(),
            index: index.clone(),
            differences: vec!["sparse".to_owned()],
            can_change: false,
            existing: specification(),
            declared: specification(),
        }),
        Error::Schema(SchemaError::KeySpecsConflict {
            namespace: namespace.clone(),
            index: index.clone(),
            existing: specification(),
            declared: specification(),
        }),
        Error::Schema(SchemaError::ConflictingDeclarations {
            namespace: namespace.clone(),
            index: index.clone(),
            models: ["Order", "OldOrder"],
            first: specification(),
            second: specification(),
        }),
        Error::Schema(SchemaError::ConcurrentChange {
            namespace,
            source: concurrent,
        }),
        Error::Schema(SchemaError::InvalidIndex {
            model: "Order",
            index,
            reason: "it has no keys".to_owned(),
        }),
    ];
    if env.is_own() {
        errors.push(interrupted(env, &orders).await);
    }
    broken
        .update_one(
            doc! { "number": 1_i64 },
            doc! { "$set": { "lines.0.qty": "two" } },
        )
        .await
        .expect("accepted");
    errors.push(orders.find_by_id(first.id).await.expect_err("refused"));
    errors
}

/// The name of the variant; for schema errors that of the `SchemaError`.
fn name(error: &Error) -> String {
    let text = format!("{error:?}");
    let inner = text.strip_prefix("Schema(").unwrap_or(&text);
    let end = inner.find([' ', '(']).unwrap_or(inner.len());
    inner[..end].to_owned()
}

#[tokio::test]
async fn messages_do_not_repeat_those_of_their_sources() {
    let env = Env::start().await;
    let errors = one_of_each(&env).await;
    let mut names: Vec<String> = errors.iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        [
            "ConcurrentChange",
            "ConflictingDeclarations",
            "Decode",
            "Driver",
            "Duplicate",
            "Encode",
            "InvalidArgument",
            "InvalidFilter",
            "InvalidIndex",
            "InvalidPageToken",
            "InvalidUpdate",
            "KeySpecsConflict",
            "MissingId",
            "MoreThanOne",
            "NotFound",
            "OptionsConflict",
            "UnknownSort",
        ]
    );
    for error in &errors {
        let texts = chain(error);
        assert_eq!(format!("{error:#}"), texts.join(": "));
        assert!(texts.iter().all(|t| !t.is_empty()), "{texts:?}");
        for (index, outer) in texts.iter().enumerate() {
            for inner in &texts[index + 1..] {
                assert!(!outer.contains(inner.as_str()), "repeated: {texts:?}");
                assert!(!inner.contains(outer.as_str()), "repeated: {texts:?}");
            }
        }
        // The source of an error also has sources.
        let parts: Vec<Vec<String>> = match error {
            Error::Encode { source, .. } => vec![chain(source)],
            Error::Decode { source, .. } => vec![chain(source)],
            Error::Schema(source) => vec![chain(source)],
            _ => Vec::new(),
        };
        for texts in parts {
            let whole = texts.join(": ");
            assert!(
                texts.iter().all(|t| whole.matches(t.as_str()).count() == 1),
                "repeated: {texts:?}"
            );
        }
    }
    env.stop().await;
}

#[tokio::test]
async fn comparisons_with_null_are_rejected() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let nothing = || None::<String>;
    let o = Order::fields();
    for filter in [
        o.note().gt(nothing()),
        o.note().gte(nothing()),
        o.note().lt(nothing()),
        o.note().lte(nothing()),
        o.note().between(nothing(), Some("z")),
        o.note().between("a", nothing()),
    ] {
        let error = orders.find(|_| filter).await.unwrap_err();
        assert!(
            matches!(&error, Error::InvalidFilter { path, reason } if path == "note" && reason.contains("null")),
            "{error}"
        );
    }
    for update in [o.note().min(nothing()), o.note().max(nothing())] {
        let error = orders
            .update_one(|o| o.number().eq(1), |_| update)
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::InvalidUpdate { path, .. } if path == "note"),
            "{error}"
        );
    }
    env.stop().await;
}

#[tokio::test]
async fn unknown_options_of_a_connection_string_are_warnings() {
    let client = marula::connect("mongodb://localhost/?maxPoolSise=5&retryWrites=maybe")
        .await
        .unwrap();
    assert_eq!(
        client.warnings(),
        [
            "unknown option maxPoolSise is ignored",
            "the value of retryWrites is ignored: expected true or false",
        ]
    );
    assert_eq!(client.warnings(), client.driver().warnings());
    client.shutdown().await;
    let right = marula::connect("mongodb://localhost/?maxPoolSize=5")
        .await
        .unwrap();
    assert!(right.warnings().is_empty());
    right.shutdown().await;
}

#[tokio::test]
async fn invalid_calls_send_nothing() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let overlap = orders
        .update_one(|o| o.number().eq(1), |o| (o.note().set("a"), o.note().unset()))
        .await
        .unwrap_err();
    assert!(
        matches!(&overlap, Error::InvalidUpdate { path, .. } if path == "note"),
        "{overlap}"
    );
    let filter = orders.find(|o| o.number().modulo(0, 0)).all().await.unwrap_err();
    assert!(
        matches!(&filter, Error::InvalidFilter { path, .. } if path == "number"),
        "{filter}"
    );
    let both = orders.delete_many(|o| o.number().modulo(0, 0)).await.unwrap_err();
    assert!(matches!(both, Error::InvalidFilter { .. }));
    assert_eq!(orders.count(|o| o.note().is_missing()).await.unwrap(), 1);
    env.stop().await;
}

#[tokio::test]
async fn a_timeout_names_its_cause_once() {
    // Nothing listens there, so that each connection is refused until the time limit expires.
    let client = marula::connect("mongodb://127.0.0.1:1/?timeoutMS=300")
        .await
        .unwrap();
    let orders = client.database("shop").collection::<Order>();
    let error = orders.find_all().await.unwrap_err();
    let ErrorKind::Timeout(timeout) = error.driver().unwrap().kind() else {
        panic!("{error:?}");
    };
    let cause = timeout.cause().expect("the selection error");
    let texts = chain(&error);
    assert!(texts[0].contains(&cause.to_string()), "{texts:?}");
    assert!(texts.len() > 1, "the sources of the cause: {texts:?}");
    let all = texts.join(": ");
    for text in chain(cause) {
        assert_eq!(all.matches(&text).count(), 1, "{text} in {all}");
    }
    assert_eq!(format!("{error:#}"), all);
    let driver = error.driver().unwrap();
    assert_eq!(format!("{driver:#}"), chain(driver).join(": "));
    client.shutdown().await;
}
