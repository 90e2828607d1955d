//! Structs that are read from a part of the stored fields.

use crate::models::*;
use marula::expr::{any_of, eq, gt};
use marula::prelude::*;
use marula::{Document, Embedded, Pipeline, Projection};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[serde(rename_all = "camelCase")]
#[document(of = Order)]
struct Summary {
    #[serde(rename = "_id")]
    id: i64,
    /// A wider type.
    total: Option<i64>,
    #[document(path = address.city)]
    city: Option<String>,
    /// A part of each element.
    lines: Vec<LineSummary>,
    #[document(path = address)]
    place: Option<Place>,
    #[document(expr = |o| gt(o.total(), 650))]
    is_large: bool,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Line)]
struct LineSummary {
    sku: String,
    #[document(path = product.name)]
    product: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Address)]
struct Place {
    zip: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Order)]
struct Skus {
    status: Status,
    lines: Vec<SkuOnly>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Line)]
struct SkuOnly {
    sku: String,
}

/// Only read, so that it needs no `Serialize`.
#[derive(Debug, PartialEq, Deserialize, Projection)]
#[document(of = Order)]
struct HasTea {
    #[serde(rename = "_id")]
    id: i64,
    #[document(expr = |o| any_of(o.lines(), |l| eq(l.sku(), "tea")))]
    has_tea: bool,
}

#[test]
fn fields_are_included_or_computed() {
    assert_eq!(
        Pipeline::<Order>::new().select::<Summary>().to_string(),
        concat!(
            r#"[{"$project": {"_id": 1, "total": 1, "city": "$address.city", "#,
            r#""lines": {"$map": {"input": "$lines", "as": "v0", "in": {"sku": "$$v0.sku", "product": "$$v0.product.name"}}}, "#,
            r#""place": {"$cond": [{"$eq": [{"$ifNull": ["$address", null]}, null]}, null, {"zip": "$address.zip"}]}, "#,
            r#""isLarge": {"$gt": ["$total", 650]}}}]"#
        )
    );
    assert_eq!(
        Pipeline::<Order>::new().select::<Skus>().to_string(),
        r#"[{"$project": {"_id": 0, "status": 1, "lines": {"sku": 1}}}]"#
    );
}

#[tokio::test]
async fn queries_read_projections() {
    let shop = Shop::open().await;
    let all: Vec<Summary> = shop
        .orders
        .find_all()
        .sort(|o| o.id().asc())
        .select::<Summary>()
        .await
        .unwrap();
    let line = |sku: &str| LineSummary {
        sku: sku.to_owned(),
        product: sku.to_uppercase(),
    };
    let expected = Summary {
        id: 1,
        total: Some(600),
        city: Some("Zurich".to_owned()),
        lines: vec![line("tea"), line("pot")],
        place: Some(Place {
            zip: Some("8001".to_owned()),
        }),
        is_large: false,
    };
    assert_eq!(all[0], expected);
    assert_eq!(
        (all[3].city.as_deref(), &all[3].place, all[3].is_large),
        (None, &None, true)
    );

    let one = shop.orders.find_by_id(2).select::<Skus>().await.unwrap().unwrap();
    assert_eq!(one.lines[0].sku, "tea");
    let required = shop
        .orders
        .find_one(|o| o.id().eq(2))
        .select::<HasTea>()
        .required()
        .await
        .unwrap();
    assert_eq!(required, HasTea { id: 2, has_tea: true });
    let first = shop
        .orders
        .find(|o| o.total().gt(10_000))
        .select::<HasTea>()
        .first()
        .await
        .unwrap();
    assert_eq!(first.map(|f| f.id), Some(4));
    let piped = shop
        .orders
        .aggregate()
        .select::<HasTea>()
        .match_(|h| h.has_tea().eq(true))
        .all()
        .await
        .unwrap();
    assert_eq!(piped.len(), 4);
    shop.close().await;
}

#[tokio::test]
async fn pages_read_projections() {
    let shop = Shop::open().await;
    let page = shop
        .orders
        .find_all()
        .sort(|o| o.id().asc())
        .select::<HasTea>()
        .page(1, 3)
        .await
        .unwrap();
    assert_eq!((page.total, page.items.len(), page.items[0].id), (4, 1, 4));
    shop.close().await;
}

/// The keys of the page are not fields of the projection.
#[tokio::test]
async fn keyset_pages_read_projections() {
    let shop = Shop::open().await;
    let mut token = None;
    let mut read = Vec::new();
    loop {
        let page = shop
            .orders
            .find_all()
            .select::<Skus>()
            .keyset(|o| (o.total().desc(), o.created_at().asc()), token.as_deref(), 3)
            .await
            .unwrap();
        read.extend(page.items.into_iter().map(|s| s.status));
        match page.next {
            Some(next) => token = Some(next),
            None => break,
        }
    }
    assert_eq!(read.len(), 4);
    shop.close().await;
}

/// The keys of the page are fields of the projection.
#[tokio::test]
async fn keyset_pages_need_no_further_field_for_their_keys() {
    let shop = Shop::open().await;
    let page = shop
        .orders
        .find_all()
        .select::<HasTea>()
        .keyset(|o| o.id().desc(), None, 3)
        .await
        .unwrap();
    assert_eq!(page.items.iter().map(|h| h.id).collect::<Vec<_>>(), [4, 3, 2]);
    let last = shop
        .orders
        .find_all()
        .select::<HasTea>()
        .keyset(|o| o.id().desc(), page.next.as_deref(), 3)
        .await
        .unwrap();
    assert_eq!(last.items.iter().map(|h| h.id).collect::<Vec<_>>(), [1]);
    assert!(last.next.is_none() && last.previous.is_some());
    shop.close().await;
}

#[tokio::test]
async fn changed_documents_are_read_as_projections() {
    let shop = Shop::open().await;
    let changed = shop
        .orders
        .find_one_and_update(|o| o.id().eq(2), |o| o.tags().push("new"))
        .select::<HasTea>()
        .await
        .unwrap();
    assert_eq!(changed, Some(HasTea { id: 2, has_tea: true }));
    let deleted = shop
        .orders
        .find_one_and_delete(|o| o.id().eq(2))
        .select::<Skus>()
        .required()
        .await
        .unwrap();
    assert_eq!(deleted.status, Status::Paid);
    shop.close().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "boards")]
struct Board {
    _id: i64,
    cells: Vec<Option<Cell>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Cell {
    colour: String,
    weight: i32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Board)]
struct Colours {
    cells: Vec<Option<Colour>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Cell)]
struct Colour {
    colour: String,
}

/// An inclusion of the fields would leave the null elements out.
#[tokio::test]
async fn null_elements_keep_their_places() {
    let shop = Shop::open().await;
    let boards = shop.db.collection::<Board>();
    let cell = Cell {
        colour: "red".to_owned(),
        weight: 1,
    };
    let board = Board {
        _id: 1,
        cells: vec![None, Some(cell), None],
    };
    boards.insert_one(&board).await.unwrap();
    let red = Colour {
        colour: "red".to_owned(),
    };
    let expected = Colours {
        cells: vec![None, Some(red), None],
    };
    let found = boards.find_by_id(1).select::<Colours>().await.unwrap();
    assert_eq!(found.as_ref(), Some(&expected));
    let piped = boards.aggregate().select::<Colours>().first().await.unwrap();
    assert_eq!(piped, Some(expected));
    shop.close().await;
}

/// The names of the fields are those of arrays that the stored documents have.
#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Stored)]
struct Renamed {
    #[serde(rename = "parts")]
    #[document(path = place)]
    place: Town,
    #[serde(rename = "labels")]
    #[document(path = towns)]
    towns: Vec<TownName>,
    #[serde(rename = "towns")]
    #[document(path = place)]
    maybe: Option<Town>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Town {
    name: String,
    zip: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Town)]
struct TownName {
    #[document(path = name)]
    label: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
#[document(of = Stored)]
struct RenamedPart {
    #[serde(rename = "parts")]
    #[document(path = place)]
    place: TownName,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "stored")]
struct Stored {
    _id: i64,
    place: Town,
    parts: Vec<String>,
    labels: Vec<i32>,
    towns: Vec<Town>,
}

#[tokio::test]
async fn a_renamed_document_takes_the_place_of_an_array() {
    let shop = Shop::open().await;
    let town = || Town {
        name: "Ulm".to_owned(),
        zip: "89073".to_owned(),
    };
    let label = || TownName {
        label: "Ulm".to_owned(),
    };
    let all = shop.db.collection::<Stored>();
    let stored = Stored {
        _id: 1,
        place: town(),
        parts: vec!["a".to_owned(), "b".to_owned()],
        labels: vec![1, 2, 3],
        towns: vec![town(), town()],
    };
    all.insert_one(&stored).await.unwrap();
    let expected = Renamed {
        place: town(),
        towns: vec![label(), label()],
        maybe: Some(town()),
    };
    let found = all.find_by_id(1).select::<Renamed>().required().await.unwrap();
    assert_eq!(found, expected);
    let piped = all.aggregate().select::<Renamed>().all().await.unwrap();
    assert_eq!(piped, [expected]);
    // The fields of a part are computed one by one.
    let part = all
        .find_by_id(1)
        .select::<RenamedPart>()
        .required()
        .await
        .unwrap();
    assert_eq!(part, RenamedPart { place: label() });
    let pipeline = Pipeline::<Stored>::new().select::<RenamedPart>();
    assert_eq!(
        pipeline.to_string(),
        r#"[{"$project": {"_id": 0, "parts": {"$mergeObjects": [{"label": "$place.name"}]}}}]"#
    );
    let piped = all.aggregate().select::<RenamedPart>().first().await.unwrap();
    assert_eq!(piped, Some(RenamedPart { place: label() }));
    shop.close().await;
}
