//! Pipelines that write their results.

use crate::models::*;
use marula::Pipeline;
use marula::aggregate::{Merge, WhenMatched, WhenNotMatched};
use marula::expr::*;
use marula::prelude::*;

fn daily() -> Pipeline<Order, Daily> {
    Pipeline::<Order>::new().group(|o| DailyGroup {
        day: date_trunc(o.created_at(), Unit::Day),
        revenue: sum(o.total()),
    })
}

#[test]
fn options_of_merge_are_sent() {
    let merge = Merge::new()
        .collection("other")
        .on(["day", "shop"])
        .when_matched(WhenMatched::Merge(WhenNotMatched::Discard));
    let sent = daily().merge_into(merge).to_string();
    let expected = r#"{"$merge": {"into": "other", "on": ["day", "shop"], "whenMatched": "merge", "whenNotMatched": "discard"}}]"#;
    assert!(sent.ends_with(expected), "{sent}");
}

#[tokio::test]
async fn results_are_merged_and_replaced() {
    let shop = Shop::open().await;
    let days = shop.db.collection::<Daily>();
    assert_eq!(days.name(), DAILY);
    let group = || {
        shop.orders.aggregate().group(|o| DailyGroup {
            day: date_trunc(o.created_at(), Unit::Day),
            revenue: sum(o.total()),
        })
    };
    group().merge_into(Merge::new()).execute().await.unwrap();
    assert_eq!(days.find_all().await.unwrap().len(), 4);
    group()
        .match_(|d| d.revenue().gt(700))
        .out()
        .execute()
        .await
        .unwrap();
    assert_eq!(days.find_all().await.unwrap().len(), 2);
    group().out_to("copies").execute().await.unwrap();
    assert_eq!(days.named("copies").estimated_count().await.unwrap(), 4);
    shop.close().await;
}
