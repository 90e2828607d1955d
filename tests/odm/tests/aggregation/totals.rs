//! Sums, averages and extremes of queries, and the stages that filter and remove.

use crate::models::*;
use marula::aggregate::Redaction;
use marula::bson::{DateTime, Decimal128};
use marula::driver::options::{Collation, Hint};
use marula::expr::*;
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Filter};
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn queries_compute_totals_in_one_command() {
    let shop = Shop::open().await;
    let orders = &shop.orders;
    let sum: i64 = orders
        .find(|o| o.total().lt(10_000))
        .sum(|o| o.total())
        .await
        .unwrap();
    assert_eq!(sum, 2_100);
    // The sum of `i32`s is an `i64`, and null counts as 0.
    let discounts: i64 = orders.find_all().sum(|o| o.discount()).await.unwrap();
    assert_eq!(discounts, 50);
    let computed: f64 = orders
        .find_all()
        .sum(|o| sum_of(o.lines(), |l| l.product().weight()))
        .await
        .unwrap();
    assert!((computed - 4.0).abs() < 1e-9);
    let average: Option<f64> = orders.find_all().avg(|o| o.discount()).await.unwrap();
    assert_eq!(average, Some(50.0));
    assert_eq!(orders.find_all().min(|o| o.total()).await.unwrap(), Some(600));
    assert_eq!(orders.find_all().max(|o| o.discount()).await.unwrap(), Some(50));
    let newest: Option<DateTime> = orders.find_all().max(|o| o.created_at()).await.unwrap();
    assert_eq!(newest, Some(DateTime::from_millis(4 * 86_400_000 * 20)));
    let city: Option<String> = orders.find_all().min(|o| o.address().city()).await.unwrap();
    assert_eq!(city.as_deref(), Some("Zurich"));
    shop.close().await;
}

#[tokio::test]
async fn totals_of_no_documents_are_zero_or_none() {
    let shop = Shop::open().await;
    let none = || shop.orders.find(|o| o.total().lt(0));
    assert_eq!(none().sum(|o| o.total()).await.unwrap(), 0);
    assert_eq!(
        none().sum(|o| o.fee()).await.unwrap(),
        "0".parse::<Decimal128>().unwrap()
    );
    assert_eq!(none().avg(|o| o.total()).await.unwrap(), None);
    assert_eq!(none().min(|o| o.total()).await.unwrap(), None);
    let fees: Decimal128 = shop.orders.find_all().sum(|o| o.fee()).await.unwrap();
    assert_eq!(fees, "0".parse().unwrap());
    assert_eq!(shop.orders.find_all().avg(|o| o.fee()).await.unwrap(), None);
    assert_eq!(shop.orders.find_all().max(|o| o.fee()).await.unwrap(), None);
    shop.close().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "entries", soft_delete = deleted_at, index(name))]
struct Entry {
    _id: i64,
    tenant: i64,
    name: String,
    points: i32,
    deleted_at: Option<DateTime>,
}

fn entry(id: i64, tenant: i64, name: &str, is_deleted: bool) -> Entry {
    Entry {
        _id: id,
        tenant,
        name: name.to_owned(),
        points: 1 << id,
        deleted_at: is_deleted.then(|| DateTime::from_millis(1)),
    }
}

#[tokio::test]
async fn totals_respect_the_handle_and_the_options() {
    let shop = Shop::open().await;
    let entries: Collection<Entry> = shop.db.collection();
    let all = [
        entry(0, 1, "a", false),
        entry(1, 1, "B", false),
        entry(2, 1, "b", true),
        entry(3, 2, "a", false),
    ];
    entries.insert_many(&all).await.unwrap();
    assert_eq!(entries.find_all().sum(|e| e.points()).await.unwrap(), 11);
    assert_eq!(
        entries
            .with_deleted()
            .find_all()
            .sum(|e| e.points())
            .await
            .unwrap(),
        15
    );
    let own = entries.scoped(|e| e.tenant().eq(1));
    assert_eq!(own.find_all().sum(|e| e.points()).await.unwrap(), 3);
    assert_eq!(
        own.filter(Entry::fields().points().gt(1))
            .find()
            .sum(|e| e.points())
            .await
            .unwrap(),
        2
    );

    let ignore_case = || Collation::new("en").with_strength(2);
    let query = || entries.find(|e| e.name().eq("b"));
    assert_eq!(query().sum(|e| e.points()).await.unwrap(), 0);
    assert_eq!(
        query()
            .collation(ignore_case())
            .sum(|e| e.points())
            .await
            .unwrap(),
        2
    );
    let largest = entries.find_all().sort(|e| e.points().desc()).skip(1).limit(2);
    assert_eq!(largest.sum(|e| e.points()).await.unwrap(), 3);
    let hinted = entries
        .find_all()
        .hint(Hint::Name("missing".into()))
        .max(|e| e.points())
        .await;
    assert!(hinted.is_err());
    shop.close().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Section {
    level: i32,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "reports")]
struct Report {
    _id: i64,
    level: i32,
    note: Option<String>,
    summary: Option<Section>,
    sections: Vec<Section>,
}

fn section(level: i32) -> Section {
    Section {
        level,
        text: format!("level {level}"),
    }
}

#[tokio::test]
async fn documents_and_their_parts_are_redacted() {
    let shop = Shop::open().await;
    let reports: Collection<Report> = shop.db.collection();
    let report = |id: i64, level: i32| Report {
        _id: id,
        level,
        note: Some("n".to_owned()),
        summary: Some(section(level + 1)),
        sections: vec![section(1), section(2), section(3)],
    };
    reports
        .insert_many(&[report(1, 1), report(2, 2), report(3, 3)])
        .await
        .unwrap();
    let public = reports
        .aggregate()
        .redact(|r| cond(lte(r.level(), 2), Redaction::Descend, Redaction::Prune))
        .sort(|r| r._id().asc())
        .await
        .unwrap();
    let kept = |levels: &[i32]| levels.iter().copied().map(section).collect::<Vec<_>>();
    let seen: Vec<_> = public
        .iter()
        .map(|r| (r._id, r.summary.clone(), r.sections.clone()))
        .collect();
    assert_eq!(
        seen,
        [(1, Some(section(2)), kept(&[1, 2])), (2, None, kept(&[1, 2]))]
    );
    let whole = reports
        .aggregate()
        .redact(|_| Redaction::Keep)
        .limit(1)
        .await
        .unwrap();
    assert_eq!(whole[0].sections.len(), 3);
    let without = reports
        .aggregate()
        .unset(|r| r.note())
        .unset(|r| r.summary())
        .await
        .unwrap();
    assert!(without.iter().all(|r| r.note.is_none() && r.summary.is_none()));
    shop.close().await;
}

#[tokio::test]
async fn pipelines_take_filters_and_count_elements() {
    let shop = Shop::open().await;
    let paid: Filter<Order> = Order::fields().status().eq(Status::Paid);
    let orders = shop
        .orders
        .aggregate()
        .filter(paid.clone())
        .filter(Order::fields().total().lt(700))
        .await
        .unwrap();
    assert_eq!(orders.len(), 1);
    assert_eq!(
        shop.orders
            .filter(paid.clone())
            .aggregate()
            .count()
            .first()
            .await
            .unwrap()
            .map(|c| c.count),
        Some(3)
    );
    let skus = shop
        .orders
        .aggregate()
        .unwind(|o| o.lines())
        .filter(paid)
        .match_(|_, line| line.quantity().gt(1))
        .count_by(|_, line| line.sku())
        .await
        .unwrap();
    let skus: Vec<_> = skus.iter().map(|s| (&*s.key, s.count)).collect();
    assert_eq!(skus, [("tea", 2)]);
    let lines = shop
        .orders
        .aggregate()
        .unwind(|o| o.lines())
        .skip(1)
        .count()
        .first()
        .await
        .unwrap();
    assert_eq!(lines.map(|c| c.count), Some(7));
    let two = shop
        .orders
        .aggregate()
        .unwind(|o| o.lines())
        .sample(2)
        .count()
        .first()
        .await
        .unwrap();
    assert_eq!(two.map(|c| c.count), Some(2));
    shop.close().await;
}

#[tokio::test]
async fn collections_have_statistics() {
    let shop = Shop::open().await;
    let indexes = shop.orders.index_stats().sort(|i| i.name().asc()).await.unwrap();
    assert_eq!(indexes[0].name, "_id_");
    assert_eq!(indexes[0].key, marula::bson::doc! { "_id": 1 });
    let stats = shop.orders.collection_stats().await.unwrap();
    assert_eq!(stats.iter().map(|part| part.count).sum::<i64>(), 4);
    let scoped = shop.orders.scoped(|o| o.status().eq(Status::Paid));
    assert!(matches!(
        scoped.index_stats().await,
        Err(marula::Error::InvalidPipeline { .. })
    ));
    shop.close().await;
}
