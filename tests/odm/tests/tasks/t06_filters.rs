//! Task: a list with optional parameters, as in `GET /orders?status=open&text=tea&min=200`.

use marula::{Filter, Model, prelude::*};

use crate::support::{Env, Order, Status, numbers, order, orders};

#[derive(Default)]
struct Query {
    status: Option<Status>,
    text: Option<String>,
    min: Option<i64>,
    max: Option<i64>,
}

fn filter(query: &Query) -> Filter<Order> {
    let o = Order::fields();
    let mut filter = Filter::everything();
    if let Some(status) = query.status {
        filter &= o.status().eq(status);
    }
    filter
        .and(
            query
                .text
                .as_deref()
                .map(|t| o.number().starts_with(t) | o.note().contains_text(t)),
        )
        .and(query.min.map(|min| o.total_cents().gte(min)))
        .and(query.max.map(|max| o.total_cents().lte(max)))
}

#[tokio::test]
async fn parameters_that_are_absent_add_no_condition() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let mut all = orders();
    all[1].status = Status::Paid;
    let mut noted = order(6);
    noted.note = Some("by (post)".to_owned());
    all.push(noted);
    collection.insert_many(&all).await.unwrap();

    let cases = [
        (Query::default(), vec!["N1", "N2", "N3", "N4", "N5", "N6"]),
        (
            Query {
                status: Some(Status::Paid),
                ..Query::default()
            },
            vec!["N2"],
        ),
        (
            Query {
                text: Some("(post)".to_owned()),
                ..Query::default()
            },
            vec!["N6"],
        ),
        (
            Query {
                text: Some("N.".to_owned()),
                ..Query::default()
            },
            vec![],
        ),
        (
            Query {
                min: Some(200),
                max: Some(300),
                status: Some(Status::Open),
                ..Query::default()
            },
            vec!["N3"],
        ),
    ];
    for (query, expected) in cases {
        let found = collection
            .filter(filter(&query))
            .find()
            .sort(|o| o.number().asc())
            .await
            .unwrap();
        assert_eq!(numbers(&found), expected);
    }
    let between = collection.count(|o| {
        o.total_cents().between(200, 400) & o.lines().elem_match(|l| l.sku().eq("tea") & l.qty().gte(2))
    });
    assert_eq!(between.await.unwrap(), 3);
    env.stop().await;
}
