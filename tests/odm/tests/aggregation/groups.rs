//! Groups, counts and buckets.

use crate::models::*;
use marula::aggregate::{BucketRange, Counted};
use marula::bson::DateTime;
use marula::expr::*;
use marula::prelude::*;

#[tokio::test]
async fn groups_continue_with_their_own_fields() {
    let shop = Shop::open().await;
    let best = shop
        .orders
        .aggregate()
        .match_(|o| o.status().eq(Status::Paid))
        .group(|o| TotalsGroup {
            customer: expr(o.customer_id()),
            revenue: sum(o.total()),
            orders: count(),
            average: avg(o.total()),
        })
        .match_(|t| t.orders().gte(2))
        .sort(|t| t.revenue().desc())
        .limit(10)
        .all()
        .await
        .unwrap();
    let expected = Totals {
        customer: ada().id,
        revenue: 1300,
        orders: 2,
        average: 650.0,
    };
    assert_eq!(best, [expected]);
    shop.close().await;
}

#[tokio::test]
async fn keys_can_be_shapes() {
    let shop = Shop::open().await;
    let monthly = shop
        .orders
        .aggregate()
        .group(|o| MonthlyGroup {
            key: expr(MonthKeyExpr {
                customer: expr(o.customer_id()),
                month: date_trunc(o.created_at(), Unit::Month),
            }),
            revenue: sum(o.total()),
        })
        .sort(|m| (m.key().month().asc(), m.revenue().desc()))
        .all()
        .await
        .unwrap();
    let months: Vec<(i64, i64)> = monthly
        .iter()
        .map(|m| (m.key.month.timestamp_millis() / 86_400_000, m.revenue))
        .collect();
    assert_eq!(months, [(0, 600), (31, 700), (59, 12_000), (59, 800)]);
    shop.close().await;
}

#[tokio::test]
async fn all_documents_can_be_combined() {
    let shop = Shop::open().await;
    let all = |least: i64| {
        shop.orders
            .aggregate()
            .match_(|o| o.total().gte(least))
            .group_all(|o| GrandGroup {
                revenue: sum(o.total()),
                largest: max(o.total()),
            })
    };
    let expected = Grand {
        revenue: 14_100,
        largest: 12_000,
    };
    assert_eq!(all(0).first().await.unwrap(), Some(expected));
    assert_eq!(all(100_000).first().await.unwrap(), None);
    let counted = shop.orders.aggregate().count().first().await.unwrap();
    assert_eq!(counted.map(|c| c.count), Some(4));
    shop.close().await;
}

#[tokio::test]
async fn values_are_counted() {
    let shop = Shop::open().await;
    let statuses: Vec<Counted<Status>> = shop
        .orders
        .aggregate()
        .count_by(|o| o.status())
        .all()
        .await
        .unwrap();
    let statuses: Vec<(Status, i64)> = statuses.iter().map(|c| (c.key, c.count)).collect();
    assert_eq!(statuses, [(Status::Paid, 3), (Status::Open, 1)]);
    shop.close().await;
}

#[tokio::test]
async fn buckets_have_their_limits_as_keys() {
    let shop = Shop::open().await;
    let sizes = shop
        .orders
        .aggregate()
        .bucket(
            |o| o.total(),
            [0, 700, 1_000],
            Some(-1),
            |_, from| SizeGroup {
                from,
                orders: count(),
            },
        )
        .sort(|s| s.from().asc())
        .all()
        .await
        .unwrap();
    let sizes: Vec<(i64, i64)> = sizes.iter().map(|s| (s.from, s.orders)).collect();
    assert_eq!(sizes, [(-1, 1), (0, 1), (700, 2)]);
    let by_expression = shop
        .orders
        .aggregate()
        .group(|o| SizeGroup {
            from: bucket(o.total(), [0, 700, 1_000], Some(-1)),
            orders: count(),
        })
        .sort(|s| s.from().asc())
        .all()
        .await
        .unwrap();
    assert_eq!(
        by_expression
            .iter()
            .map(|s| (s.from, s.orders))
            .collect::<Vec<_>>(),
        sizes
    );
    let halves = shop
        .orders
        .aggregate()
        .bucket_auto(
            |o| o.total(),
            2,
            |_, range| RangeGroup {
                range,
                orders: count(),
            },
        )
        .all()
        .await
        .unwrap();
    let limits: Vec<(BucketRange<i64>, i64)> = halves.into_iter().map(|r| (r.range, r.orders)).collect();
    assert_eq!(limits.len(), 2);
    assert_eq!((limits[0].0.min, limits[0].0.max, limits[0].1), (600, 800, 2));
    assert_eq!((limits[1].0.min, limits[1].0.max, limits[1].1), (800, 12_000, 2));
    shop.close().await;
}

#[tokio::test]
async fn a_bucket_must_use_the_key_of_its_closure() {
    let shop = Shop::open().await;
    let wrong = shop.orders.aggregate().bucket(
        |o| o.total(),
        [0, 700],
        None,
        |o, _| SizeGroup {
            from: expr(o.total()),
            orders: count(),
        },
    );
    let error = wrong.all().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid pipeline at `_id`: the key of `bucket` must be the value that its closure receives"
    );
    shop.close().await;
}

#[derive(Debug, serde::Serialize, serde::Deserialize, marula::Shape)]
struct Accumulated {
    least: i64,
    first: i64,
    last: i64,
    all: Vec<i64>,
    cities: Vec<Option<String>>,
    newest: i64,
    two_newest: Vec<i64>,
    oldest: i64,
    two_oldest: Vec<i64>,
    discounts: i64,
    average_discount: Option<f64>,
    fees: marula::bson::Decimal128,
    deviation: Option<f64>,
    sample_deviation: Option<f64>,
}

#[tokio::test]
async fn accumulators_have_the_types_of_their_results() {
    let shop = Shop::open().await;
    let all = shop
        .orders
        .aggregate()
        .sort(|o| o.id().asc())
        .group_all(|o| AccumulatedGroup {
            least: min(o.total()),
            first: first(o.id()),
            last: last(o.id()),
            all: push(o.id()),
            cities: add_to_set(o.address().city()),
            newest: top(o.created_at().desc(), o.id()),
            two_newest: top_n(2, o.created_at().desc(), o.id()),
            oldest: bottom(o.created_at().desc(), o.id()),
            two_oldest: bottom_n(2, o.created_at().desc(), o.id()),
            discounts: sum(o.discount()),
            average_discount: avg(o.discount()),
            fees: sum(o.fee()),
            deviation: std_dev_pop(o.discount()),
            sample_deviation: std_dev_samp(o.discount()),
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    assert_eq!((all.least, all.first, all.last), (600, 1, 4));
    assert_eq!(all.all, [1, 2, 3, 4]);
    assert!(all.cities.contains(&Some("Zurich".to_owned())));
    assert_eq!((all.newest, all.two_newest), (4, vec![4, 3]));
    assert_eq!((all.oldest, all.two_oldest), (1, vec![2, 1]));
    assert_eq!((all.discounts, all.average_discount), (50, Some(50.0)));
    assert_eq!(all.fees.to_string(), "0");
    assert_eq!((all.deviation, all.sample_deviation), (Some(0.0), None));
    shop.close().await;
}

#[test]
fn groups_send_the_key_first() {
    let daily = marula::Pipeline::<Order>::new().group(|o| DailyGroup {
        revenue: sum(o.total()),
        day: expr(DateTime::from_millis(0)),
    });
    assert_eq!(
        daily.to_string(),
        r#"[{"$group": {"_id": {"$date": "1970-01-01T00:00:00Z"}, "revenue": {"$sum": "$total"}}}]"#
    );
}
