//! Schema plans: created, kept, conflicting and unknown indexes.

use crate::common::{Env, Order};
use marula::bson::doc;
use marula::driver::IndexModel;
use marula::schema::{Apply, Step};
use marula::{Document, Embedded, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "articles",
    index(text(title, weight = 10), text(body)),
    index(expires_at, ttl = "1h"),
    index(email, unique, sparse, collation(locale = "en", strength = 2)),
    index(hashed(tenant)),
    index(wildcard(attrs)),
    index(tenant, -email, hidden)
)]
struct Article {
    _id: i64,
    title: String,
    body: String,
    expires_at: marula::bson::DateTime,
    email: String,
    tenant: String,
    attrs: std::collections::BTreeMap<String, String>,
}

#[tokio::test]
async fn a_plan_is_applied_once() {
    let env = Env::start().await;
    let probe = |option: &str, value: marula::bson::Bson| {
        let index = doc! { "key": { "a": 1 }, "name": option, option: value };
        doc! { "createIndexes": format!("probe_{option}"), "indexes": [index] }
    };
    if env
        .lacks(
            "collations of indexes",
            probe("collation", doc! { "locale": "en" }.into()),
        )
        .await
        || env.lacks("hidden indexes", probe("hidden", true.into())).await
    {
        return env.stop().await;
    }
    let schema = || env.db.schema().register::<Order>().register::<Article>();
    let plan = schema().plan().await.unwrap();
    assert_eq!(
        plan.steps()
            .filter(|(_, s)| matches!(s, Step::Create { .. }))
            .count(),
        10,
        "{plan}"
    );
    let applied = plan.apply(Apply::additive()).await.unwrap();
    assert_eq!(applied.created.len(), 10);
    let again = schema().plan().await.unwrap();
    assert!(again.is_empty(), "{again}");
    assert!(
        again.steps().all(|(_, s)| matches!(
            s,
            Step::Keep {
                declared_as: None,
                ..
            }
        )),
        "{again}"
    );
    // Applying a plan after another instance has applied an equal one is not an error.
    plan.apply(Apply::additive()).await.unwrap();
    env.stop().await;
}

#[tokio::test]
async fn conflicts_are_reported_and_not_applied() {
    let env = Env::start().await;
    let orders = env.db.driver().collection::<marula::bson::Document>("orders");
    let mut sparse = IndexModel::new(doc! { "number": 1 });
    sparse.options.sparse = Some(true);
    orders.create_index(sparse).await.unwrap();
    orders
        .create_index(IndexModel::new(doc! { "legacy": 1 }))
        .await
        .unwrap();
    let plan = env.db.schema().register::<Order>().plan().await.unwrap();
    let text = plan.to_string();
    assert!(
        text.contains("! conflict number_1 {\"number\": 1} unique: true"),
        "{text}"
    );
    assert!(text.contains("? unknown  legacy_1"), "{text}");
    let refused = plan.apply(Apply::additive()).await.unwrap_err();
    assert!(
        matches!(refused, Error::Schema(SchemaError::OptionsConflict { .. })),
        "{refused}"
    );
    assert_eq!(
        orders.list_index_names().await.unwrap().len(),
        3,
        "nothing was written"
    );
    let applied = plan.apply(Apply::additive().allow_conflicts(true)).await.unwrap();
    assert_eq!(applied.created.len(), 3);
    let names = orders.list_index_names().await.unwrap();
    assert!(names.iter().any(|n| n == "legacy_1"), "{names:?}");
    env.stop().await;
}

#[tokio::test]
async fn a_partial_filter_with_elem_match_is_rejected() {
    #[derive(Serialize, Deserialize, Embedded)]
    #[serde(tag = "kind")]
    enum Payment {
        Card { last4: String },
        Cash,
    }
    #[derive(Serialize, Deserialize, Document)]
    #[document(
        collection = "bills",
        index(due, name = "cards", partial(due > 0 && payments.card.last4 == "1"))
    )]
    struct Bill {
        _id: i64,
        due: i64,
        payments: Vec<Payment>,
    }
    let env = Env::start().await;
    let refused = env.db.schema().register::<Bill>().plan().await;
    match refused {
        Err(Error::Schema(SchemaError::InvalidIndex { index, reason, .. })) => {
            assert_eq!(index, "cards");
            assert!(
                reason.contains("`payments`") && reason.contains("`$elemMatch`"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    env.stop().await;
}

#[tokio::test]
async fn a_conflict_after_the_plan_is_reported() {
    let env = Env::start().await;
    let plan = env.db.schema().register::<Order>().plan().await.unwrap();
    let orders = env.db.driver().collection::<marula::bson::Document>("orders");
    orders
        .create_index(IndexModel::new(doc! { "number": 1 }))
        .await
        .unwrap();
    let error = plan.apply(Apply::additive()).await.unwrap_err();
    assert!(
        matches!(error, Error::Schema(SchemaError::ConcurrentChange { .. })),
        "{error}"
    );
    env.stop().await;
}
