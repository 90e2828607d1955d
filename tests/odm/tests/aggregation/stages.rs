//! Stages that change, select and add fields, and stages of which only the documents are checked.

use crate::models::*;
use marula::aggregate::{Densify, Fill};
use marula::bson::doc;
use marula::driver::options::AggregateOptions;
use marula::expr::*;
use marula::prelude::*;
use marula::{Error, Filter, Pipeline, TextSearch};

fn rows(orders: Pipeline<Order>) -> Pipeline<Order, Row> {
    orders.project(|o| RowExpr {
        id: expr(o.id()),
        label: concat([
            expr("order of "),
            cond(gt(o.total(), 10_000), expr("much"), "little"),
        ]),
        city: expr(o.address().city()),
        net: o.total() - if_null(o.discount(), 0),
        weight: sum_of(o.lines(), |l| l.product().weight() * l.quantity()),
        year: year(o.created_at()),
    })
}

#[test]
fn expressions_are_sent_as_documents() {
    assert_eq!(
        rows(Pipeline::new()).to_string(),
        concat!(
            r#"[{"$project": {"_id": "$_id", "#,
            r#""label": {"$concat": ["order of ", {"$cond": [{"$gt": ["$total", 10000]}, "much", "little"]}]}, "#,
            r#""city": "$address.city", "#,
            r#""net": {"$subtract": ["$total", {"$ifNull": ["$discount", 0]}]}, "#,
            r#""weight": {"$sum": {"$map": {"input": "$lines", "as": "v0", "#,
            r#""in": {"$multiply": ["$$v0.product.weight", "$$v0.quantity"]}}}}, "#,
            r#""year": {"$year": "$createdAt"}}}]"#
        )
    );
}

#[tokio::test]
async fn projections_by_expressions_are_read_as_their_shape() {
    let shop = Shop::open().await;
    let rows = shop
        .orders
        .aggregate()
        .sort(|o| o.id().asc())
        .project(|o| RowExpr {
            id: expr(o.id()),
            label: concat([
                expr("order of "),
                cond(gt(o.total(), 10_000), expr("much"), "little"),
            ]),
            city: expr(o.address().city()),
            net: o.total() - if_null(o.discount(), 0),
            weight: sum_of(o.lines(), |l| l.product().weight() * l.quantity()),
            year: year(o.created_at()),
        })
        .all()
        .await
        .unwrap();
    let nets: Vec<i64> = rows.iter().map(|r| r.net).collect();
    assert_eq!(nets, [600, 650, 800, 12_000]);
    assert_eq!(rows[1].city.as_deref(), Some("Zurich"));
    assert_eq!(rows[2].city, None);
    assert_eq!(rows[3].label, "order of much");
    assert_eq!((rows[0].weight, rows[0].year), (1.0, 1970));
    shop.close().await;
}

#[tokio::test]
async fn added_fields_are_beside_the_document() {
    let shop = Shop::open().await;
    let valued = shop
        .orders
        .aggregate()
        .add_fields(|o| ValuedAdded {
            net: o.total() - if_null(o.discount(), 0),
            pieces: sum_of(o.lines(), |l| l.quantity()),
        })
        .match_(|v| v.order().status().eq(Status::Paid) & v.net().lt(700))
        .sort(|v| v.order().id().asc())
        .all()
        .await
        .unwrap();
    let found: Vec<(i64, i64, i64)> = valued.iter().map(|v| (v.order.id, v.net, v.pieces)).collect();
    assert_eq!(found, [(1, 600, 2), (2, 650, 3)]);
    assert_eq!(valued[0].order, orders()[0]);
    shop.close().await;
}

#[tokio::test]
async fn elements_are_unwound() {
    let shop = Shop::open().await;
    let sold = shop
        .orders
        .aggregate()
        .unwind(|o| o.lines())
        .match_(|_, line| line.sku().ne("cup"))
        .match_expr(|_, line| gt(line.quantity(), 0))
        .group(|_, line| SkuSalesGroup {
            sku: expr(line.sku()),
            sold: sum(line.quantity()),
            revenue: sum(line.price_cents() * line.quantity()),
        })
        .sort(|s| s.sold().desc())
        .all()
        .await
        .unwrap();
    let sold: Vec<(&str, i64, i64)> = sold.iter().map(|s| (&*s.sku, s.sold, s.revenue)).collect();
    assert_eq!(sold, [("tea", 10, 1_000), ("pot", 4, 2_000)]);
    let first = shop
        .orders
        .aggregate()
        .unwind(|o| o.tags())
        .sort(|_, tag| tag.desc())
        .limit(1)
        .project(|o, tag| MovementExpr {
            id: expr(o.id()),
            customer: expr(o.customer_id()),
            amount: to_long(char_count(tag)),
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    assert_eq!((first.id, first.amount), (4, 2));
    shop.close().await;
}

#[derive(Debug, serde::Serialize, serde::Deserialize, marula::Shape)]
struct Tagged {
    #[serde(rename = "_id")]
    id: i64,
    tag: Option<String>,
}

#[tokio::test]
async fn documents_without_elements_can_be_kept() {
    let shop = Shop::open().await;
    shop.orders
        .update_by_id(1, |o| o.tags().set(Vec::<String>::new()))
        .await
        .unwrap();
    let tagged = shop
        .orders
        .aggregate()
        .match_(|o| o.id().lte(2))
        .unwind_optional(|o| o.tags())
        .project(|o, tag| TaggedExpr {
            id: expr(o.id()),
            tag: expr(tag),
        })
        .sort(|t| (t.id().asc(), t.tag().asc()))
        .all()
        .await
        .unwrap();
    let tagged: Vec<(i64, Option<&str>)> = tagged.iter().map(|t| (t.id, t.tag.as_deref())).collect();
    assert_eq!(tagged, [(1, None), (2, Some("Gift")), (2, Some("n2"))]);
    shop.close().await;
}

#[tokio::test]
async fn facets_are_fields_of_one_document() {
    let shop = Shop::open().await;
    let overview = shop
        .orders
        .aggregate()
        .facet(|all| OverviewFacets {
            by_status: all().count_by(|o| o.status()),
            top: all()
                .group(|o| TotalsGroup {
                    customer: expr(o.customer_id()),
                    revenue: sum(o.total()),
                    orders: count(),
                    average: avg(o.total()),
                })
                .sort(|t| t.revenue().desc())
                .limit(1),
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    assert_eq!(overview.by_status.len(), 2);
    assert_eq!(overview.top[0].customer, grace().id);
    shop.close().await;
}

#[tokio::test]
async fn embedded_documents_replace_their_documents() {
    let shop = Shop::open().await;
    let addresses = shop
        .orders
        .aggregate()
        .match_(|o| o.address().city().eq("Zurich"))
        .sort(|o| o.id().asc())
        .replace_with(|o| {
            if_null(
                o.address(),
                Address {
                    city: String::new(),
                    zip: None,
                },
            )
        })
        .match_(|a| a.zip().exists())
        .all()
        .await
        .unwrap();
    assert_eq!(addresses[0].zip.as_deref(), Some("8001"));
    shop.close().await;
}

#[tokio::test]
async fn pipelines_are_streamed_with_options() {
    let shop = Shop::open().await;
    let mut ids = Vec::new();
    let mut stream = shop
        .orders
        .aggregate()
        .sort(|o| o.id().desc())
        .skip(1)
        .with_options(AggregateOptions::default().batch_size(1))
        .stream()
        .await
        .unwrap();
    while let Some(order) = stream.try_next().await.unwrap() {
        ids.push(order.id);
    }
    assert_eq!(ids, [3, 2, 1]);
    assert_eq!(shop.orders.aggregate().sample(2).all().await.unwrap().len(), 2);
    shop.close().await;
}

#[tokio::test]
async fn raw_stages_can_be_anywhere() {
    let shop = Shop::open().await;
    let raw = shop
        .orders
        .aggregate()
        .match_(|o| o.id().lte(2))
        .stage_raw(doc! { "$project": { "n": "$total" } })
        .assume::<marula::bson::Document>()
        .stage_raw(doc! { "$sort": { "n": -1 } })
        .all()
        .await
        .unwrap();
    assert_eq!(
        raw,
        [
            doc! { "_id": 2_i64, "n": 700_i64 },
            doc! { "_id": 1_i64, "n": 600_i64 }
        ]
    );
    shop.close().await;
}

#[tokio::test]
async fn results_of_another_form_are_decode_errors() {
    let shop = Shop::open().await;
    let error = shop
        .orders
        .aggregate()
        .stage_raw(doc! { "$unset": "total" })
        .sort(|o| o.id().asc())
        .first()
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::Decode { path, .. } if path.is_empty()),
        "{error}"
    );
    shop.close().await;
}

#[test]
fn windows_and_series_are_sent() {
    let running = Pipeline::<Order>::new().window(
        |o| o.customer_id(),
        |o| o.created_at().asc(),
        |o| RunningAdded {
            so_far: over(sum(o.total()), None, Some(0)),
        },
    );
    assert_eq!(
        running.to_string(),
        concat!(
            r#"[{"$setWindowFields": {"partitionBy": "$customerId", "sortBy": {"createdAt": 1}, "#,
            r#""output": {"soFar": {"$sum": "$total", "window": {"documents": ["unbounded", 0]}}}}}]"#
        )
    );
    let ranked =
        Pipeline::<Order>::new().window_all(|o| o.total().desc(), |_| RunningAdded { so_far: rank() });
    assert_eq!(
        ranked.to_string(),
        r#"[{"$setWindowFields": {"sortBy": {"total": -1}, "output": {"soFar": {"$rank": {}}}}}]"#
    );
    let dense = Pipeline::<Order>::new()
        .densify(
            |o| o.created_at(),
            Densify::<Order>::every(1, Unit::Day)
                .partition_by(|o| o.customer_id())
                .within_partitions(),
        )
        .fill(
            Fill::<Order>::new()
                .sort(|o| o.created_at().asc())
                .last(|o| o.discount()),
        );
    assert_eq!(
        dense.to_string(),
        concat!(
            r#"[{"$densify": {"field": "createdAt", "partitionByFields": ["customerId"], "#,
            r#""range": {"step": 1, "unit": "day", "bounds": "partition"}}}, "#,
            r#"{"$fill": {"sortBy": {"createdAt": 1}, "output": {"discount": {"method": "locf"}}}}]"#
        )
    );
}

#[tokio::test]
async fn missing_values_are_filled() {
    let shop = Shop::open().await;
    let discounts = |fill: Fill<Order>| {
        let pipeline = shop.orders.aggregate().fill(fill).sort(|o| o.id().asc());
        async {
            pipeline
                .all()
                .await
                .unwrap()
                .iter()
                .map(|o| o.discount)
                .collect::<Vec<_>>()
        }
    };
    let by_value = discounts(Fill::<Order>::new().value(|o| o.discount(), 5)).await;
    assert_eq!(by_value, [Some(5), Some(50), Some(5), Some(5)]);
    let by_last = discounts(Fill::<Order>::new().sort(|o| o.id().asc()).last(|o| o.discount())).await;
    assert_eq!(by_last, [None, Some(50), Some(50), Some(50)]);
    shop.close().await;
}

#[test]
fn searches_are_sent() {
    let text = Pipeline::<Order>::new().match_(|_| Filter::text(TextSearch::new("tea")));
    assert_eq!(text.to_string(), r#"[{"$match": {"$text": {"$search": "tea"}}}]"#);
}

#[test]
fn an_error_is_carried_to_the_call() {
    let invalid = Pipeline::<Order>::new().project(|o| MovementExpr {
        id: expr(o.id()),
        customer: expr(o.customer_id()),
        amount: lit::<_, u64>(u64::MAX).retype(),
    });
    assert_eq!(
        invalid.to_string(),
        "<cannot encode the document: an integer above i64::MAX has no BSON form>"
    );
    assert!(matches!(
        invalid.limit(1).into_stages().into_documents(),
        Err(Error::Encode { .. })
    ));
}

#[test]
fn values_are_not_syntax() {
    let rows = Pipeline::<Order>::new().project(|o| RowExpr {
        id: expr(o.id()),
        label: expr("$total"),
        city: lit("x"),
        net: expr(1),
        weight: expr(0.5),
        year: expr(0),
    });
    assert_eq!(
        rows.to_string(),
        concat!(
            r#"[{"$project": {"_id": "$_id", "label": {"$literal": "$total"}, "city": "x", "#,
            r#""net": {"$literal": 1}, "weight": {"$literal": 0.5}, "year": {"$literal": 0}}}]"#
        )
    );
}

#[test]
fn pipelines_can_be_shared_between_threads() {
    fn check<T: Send + Sync + 'static>(_: T) {}
    check(Pipeline::<Order>::new().limit(1));
    check(rows(Pipeline::new()));
}
