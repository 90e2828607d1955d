//! Analytics: typed aggregation with groups, ranges of values and facets.
//!
//! `cargo run --example analytics` connects to `MONGODB_URI`, or to an in-process replica set if it
//! is not set. It uses the database `marula_analytics`, which it drops first.

use std::error::Error;

use marula::aggregate::Counted;
use marula::bson::DateTime;
use marula::expr::*;
use marula::{Collection, Document, Embedded, Result, Shape, prelude::*};
use marula_examples::deployment::Deployment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Embedded)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Country {
    Kenya,
    Namibia,
    Senegal,
}

#[derive(Clone, Debug, Embedded)]
pub(crate) struct Line {
    sku: String,
    pieces: i64,
    cents: i64,
}

#[derive(Clone, Debug, Document)]
#[document(collection = "sales")]
pub(crate) struct Sale {
    _id: i64,
    country: Country,
    at: DateTime,
    cents: i64,
    lines: Vec<Line>,
}

/// The revenue of one month in one country.
#[derive(Debug, PartialEq, Shape)]
pub(crate) struct Monthly {
    #[serde(rename = "_id")]
    pub(crate) key: Month,
    pub(crate) cents: i64,
    pub(crate) sales: i64,
}

#[derive(Debug, PartialEq, Shape)]
pub(crate) struct Month {
    pub(crate) country: Country,
    pub(crate) month: i32,
}

/// The pieces of an article that were sold.
#[derive(Debug, PartialEq, Shape)]
pub(crate) struct Article {
    #[serde(rename = "_id")]
    pub(crate) sku: String,
    pub(crate) pieces: i64,
    pub(crate) cents: i64,
}

/// The sales with at least this price, and less than the next range.
#[derive(Debug, PartialEq, Shape)]
pub(crate) struct Range {
    #[serde(rename = "_id")]
    pub(crate) from: i64,
    pub(crate) sales: i64,
    pub(crate) average: f64,
}

/// The numbers of a dashboard, of one query.
#[derive(Debug, PartialEq, Shape)]
pub(crate) struct Dashboard {
    pub(crate) countries: Vec<Counted<Country>>,
    pub(crate) ranges: Vec<Range>,
    pub(crate) articles: Vec<Article>,
}

pub(crate) async fn monthly(sales: &Collection<Sale>) -> Result<Vec<Monthly>> {
    sales
        .aggregate()
        .match_(|s| s.cents().gt(0))
        .group(|s| MonthlyGroup {
            key: expr(MonthExpr {
                country: expr(s.country()),
                month: month(s.at()),
            }),
            cents: sum(s.cents()),
            sales: count(),
        })
        .sort(|m| (m.key().country().asc(), m.key().month().asc()))
        .all()
        .await
}

pub(crate) async fn dashboard(sales: &Collection<Sale>) -> Result<Option<Dashboard>> {
    sales
        .aggregate()
        .facet(|all| DashboardFacets {
            countries: all().count_by(|s| s.country()),
            ranges: all().bucket(
                |s| s.cents(),
                [0, 500, 1_000],
                Some(1_000),
                |s, from| RangeGroup {
                    from,
                    sales: count(),
                    average: avg(s.cents()),
                },
            ),
            articles: all()
                .unwind(|s| s.lines())
                .group(|_, line| ArticleGroup {
                    sku: expr(line.sku()),
                    pieces: sum(line.pieces()),
                    cents: sum(line.pieces() * line.cents()),
                })
                .sort(|a| (a.cents().desc(), a.sku().asc()))
                .limit(2),
        })
        .first()
        .await
}

/// Twelve sales from January to March 1970.
pub(crate) fn sales() -> Vec<Sale> {
    let countries = [Country::Kenya, Country::Kenya, Country::Namibia, Country::Senegal];
    let skus = ["cup", "pot", "tea"];
    (0..12_i64)
        .zip(countries.iter().cycle().zip(skus.iter().cycle()))
        .map(|(number, (&country, &sku))| {
            let line = |sku: &str, pieces, cents| Line {
                sku: sku.to_owned(),
                pieces,
                cents,
            };
            let lines = vec![line(sku, number % 4, 100), line("spoon", 1, number * 100)];
            Sale {
                _id: number,
                country,
                at: DateTime::from_millis(number * 7 * 24 * 60 * 60 * 1000),
                cents: lines.iter().map(|line| line.pieces * line.cents).sum(),
                lines,
            }
        })
        .collect()
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let deployment = Deployment::start().await?;
    let db = deployment.empty_database("marula_analytics").await?;
    let collection = db.collection();
    collection.insert_many(sales()).await?;
    for month in monthly(&collection).await? {
        println!("{month:?}");
    }
    println!("{:#?}", dashboard(&collection).await?);
    deployment.stop().await;
    Ok(())
}
