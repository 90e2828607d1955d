//! Task: sums by state, and the best sold articles.

use marula::expr::*;
use marula::{Shape, prelude::*};
use serde::{Deserialize, Serialize};

use crate::support::{Env, Line, Order, Status, orders};

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct ByStatus {
    #[serde(rename = "_id")]
    status: Status,
    revenue: i64,
    orders: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Sold {
    #[serde(rename = "_id")]
    sku: String,
    pieces: i64,
}

#[tokio::test]
async fn sums_and_best_sellers() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let mut all = orders();
    all[4].status = Status::Paid;
    all[4].lines.push(Line {
        sku: "cake".to_owned(),
        qty: 11,
    });
    collection.insert_many(&all).await.unwrap();
    let by_status = collection
        .aggregate()
        .match_(|o| o.total_cents().gt(100))
        .group(|o| ByStatusGroup {
            status: expr(o.status()),
            revenue: sum(o.total_cents()),
            orders: count(),
        })
        .sort(|s| s.revenue().desc())
        .all()
        .await
        .unwrap();
    let open = ByStatus {
        status: Status::Open,
        revenue: 900,
        orders: 3,
    };
    let paid = ByStatus {
        status: Status::Paid,
        revenue: 500,
        orders: 1,
    };
    assert_eq!(by_status, [open, paid]);

    let best = collection
        .aggregate()
        .unwind(|o| o.lines())
        .group(|_, line| SoldGroup {
            sku: expr(line.sku()),
            pieces: sum(line.qty()),
        })
        .sort(|s| s.pieces().desc())
        .first()
        .await
        .unwrap();
    assert_eq!(
        best,
        Some(Sold {
            sku: "cake".to_owned(),
            pieces: 11
        })
    );
    env.stop().await;
}
