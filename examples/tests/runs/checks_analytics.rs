//! Checks the example `analytics`.

use marula::prelude::*;

use crate::analytics::{Article, Country, Month, Range, Sale, dashboard, main, monthly, sales};

#[tokio::test]
async fn the_numbers_are_those_of_the_sales() {
    let (deployment, db) = crate::start().await;
    let collection = db.collection::<Sale>();
    assert_eq!(
        dashboard(&collection).await.unwrap().map(|d| d.articles),
        Some(vec![])
    );
    collection.insert_many(sales()).await.unwrap();
    assert_eq!(
        collection
            .count(|s| s.country().eq(Country::Kenya))
            .await
            .unwrap(),
        6
    );

    let months = monthly(&collection).await.unwrap();
    let keys: Vec<_> = months
        .iter()
        .map(|m| (m.key.country, m.key.month, m.cents, m.sales))
        .collect();
    let expected = [
        (Country::Kenya, 1, 600, 2),
        (Country::Kenya, 2, 1_400, 2),
        (Country::Kenya, 3, 1_000, 1),
        (Country::Namibia, 1, 400, 1),
        (Country::Namibia, 2, 800, 1),
        (Country::Namibia, 3, 1_200, 1),
        (Country::Senegal, 1, 600, 1),
        (Country::Senegal, 2, 1_000, 1),
        (Country::Senegal, 3, 1_400, 1),
    ];
    assert_eq!(keys, expected);
    assert_eq!(
        months[0].key,
        Month {
            country: Country::Kenya,
            month: 1
        }
    );

    let dashboard = dashboard(&collection).await.unwrap().unwrap();
    assert_eq!(
        (dashboard.countries[0].key, dashboard.countries[0].count),
        (Country::Kenya, 6)
    );
    let range = |from, sales, average| Range { from, sales, average };
    assert_eq!(
        dashboard.ranges,
        [range(0, 4, 250.0), range(500, 4, 700.0), range(1_000, 4, 1_150.0)]
    );
    let article = |sku: &str, pieces, cents| Article {
        sku: sku.to_owned(),
        pieces,
        cents,
    };
    assert_eq!(
        dashboard.articles,
        [article("spoon", 12, 6_600), article("cup", 6, 600)]
    );
    crate::stop(deployment, db).await;
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
