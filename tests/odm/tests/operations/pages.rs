//! Pages by number and by keyset.

use crate::common::{Env, Observed, Order, order};
use marula::bson::doc;
use marula::collection::Find;
use marula::driver::options::FindOptions;
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Error, Filter};
use serde::{Deserialize, Serialize};

async fn shop(count: i64) -> (Env, Collection<Order>) {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    // Three orders have the same date, so that pages end between equal keys.
    let all: Vec<Order> = (0..count)
        .map(|n| Order {
            created_at: order(n / 3).created_at,
            ..order(n)
        })
        .collect();
    orders.insert_many(&all).await.expect("orders are inserted");
    (env, orders)
}

fn numbers(orders: &[Order]) -> Vec<i64> {
    orders.iter().map(|o| o.number).collect()
}

#[tokio::test]
async fn pages_by_number_have_the_total_count() {
    let (env, orders) = shop(10).await;
    let page = orders
        .find(|o| o.number().gte(3))
        .sort(|o| o.number().asc())
        .page(1, 3)
        .await
        .unwrap();
    assert_eq!(
        (numbers(&page.items), page.total, page.pages()),
        (vec![6, 7, 8], 7, 3)
    );
    let last = orders
        .find(|o| o.number().gte(3))
        .sort(|o| o.number().asc())
        .page(2, 3)
        .await
        .unwrap();
    assert_eq!(numbers(&last.items), [9]);
    let beyond = orders.find_all().page(9, 3).await.unwrap();
    assert_eq!((beyond.items.len(), beyond.total), (0, 10));
    for (number, size) in [(0, 0), (u64::MAX, 2)] {
        let refused = orders.find_all().page(number, size).await;
        assert!(
            matches!(refused, Err(Error::InvalidArgument { .. })),
            "{number} {size}"
        );
    }
    env.stop().await;
}

#[tokio::test]
async fn keyset_pages_return_every_document_once_in_both_directions() {
    let (env, orders) = shop(10).await;
    let read = |token: Option<String>| {
        let orders = orders.clone();
        async move {
            let query = orders.find(|o| o.number().ne(5));
            query
                .keyset(|o| (o.created_at().desc(), o.id().asc()), token.as_deref(), 4)
                .await
                .expect("a page")
        }
    };
    let expected: Vec<i64> = vec![9, 6, 7, 8, 3, 4, 0, 1, 2];
    let (mut forward, mut pages, mut token) = (Vec::new(), Vec::new(), None);
    loop {
        let page = read(token).await;
        forward.extend(numbers(&page.items));
        token = page.next.clone();
        pages.push(page);
        if token.is_none() {
            break;
        }
    }
    assert_eq!(forward, expected);
    assert_eq!(pages.iter().map(|p| p.items.len()).collect::<Vec<_>>(), [4, 4, 1]);
    assert!(pages[0].previous.is_none());
    let mut back = pages.pop().expect("the last page");
    let mut backward = numbers(&back.items);
    while let Some(token) = back.previous.clone() {
        back = read(Some(token)).await;
        assert!(back.next.is_some());
        backward.splice(0..0, numbers(&back.items));
    }
    assert_eq!(backward, expected);
    env.stop().await;
}

#[tokio::test]
async fn tokens_of_other_queries_are_rejected() {
    let (env, orders) = shop(4).await;
    let page = orders
        .find_all()
        .keyset(|o| o.number().asc(), None, 2)
        .await
        .unwrap();
    let token = page.next.expect("a next page");
    let other = orders
        .find_all()
        .keyset(|o| o.number().desc(), Some(&token), 2)
        .await;
    assert!(matches!(other, Err(Error::InvalidPageToken)));
    let foreign = orders
        .find_all()
        .keyset(|o| o.number().asc(), Some("AAAA"), 2)
        .await;
    assert!(matches!(foreign, Err(Error::InvalidPageToken)));
    let empty = orders.find_all().keyset(|o| o.number().asc(), None, 0).await;
    assert!(matches!(empty, Err(Error::InvalidArgument { .. })));
    let none = orders
        .find(|_| Filter::nothing())
        .keyset(|o| o.number().asc(), None, 2)
        .await
        .unwrap();
    assert_eq!((none.items.len(), none.next, none.previous), (0, None, None));
    env.stop().await;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "snake_case")]
enum Status {
    // In another order than that of the stored names.
    Shipped,
    Open,
    InProgress,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "tickets")]
struct Ticket {
    _id: i64,
    pinned: bool,
    status: Status,
}

#[tokio::test]
async fn keyset_keys_are_booleans_and_enums_of_unit_variants() {
    let env = Env::start().await;
    let tickets = env.db.collection::<Ticket>();
    let all: Vec<Ticket> = (0..20)
        .map(|n| Ticket {
            _id: n,
            pinned: n % 3 == 0,
            status: [Status::Shipped, Status::Open, Status::InProgress, Status::Open][(n % 4) as usize],
        })
        .collect();
    tickets.insert_many(&all).await.unwrap();
    let mut expected = all.clone();
    let name = |t: &Ticket| match t.status {
        Status::Shipped => "shipped",
        Status::Open => "open",
        Status::InProgress => "in_progress",
    };
    expected.sort_by(|a, b| (b.pinned, name(a), a._id).cmp(&(a.pinned, name(b), b._id)));
    let read = |token: Option<String>| {
        tickets
            .find_all()
            .keyset(|t| (t.pinned().desc(), t.status().asc()), token.as_deref(), 3)
    };
    let (mut forward, mut token) = (Vec::new(), None);
    let last = loop {
        let page = read(token).await.unwrap();
        forward.extend(page.items);
        token = page.next;
        if token.is_none() {
            break page.previous;
        }
    };
    assert_eq!(forward, expected);
    let (mut backward, mut token) = (Vec::new(), last);
    while token.is_some() {
        let page = read(token).await.unwrap();
        backward.extend(page.items.into_iter().rev());
        token = page.previous;
    }
    backward.reverse();
    assert_eq!(backward, expected[..18]);
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[expect(clippy::duplicated_attributes, reason = "two indexes are unique")]
#[document(collection = "seats", index(row, number, unique), index(code, unique, sparse))]
struct Seat {
    _id: i64,
    row: i64,
    number: i64,
    #[document(skip_none)]
    code: Option<i64>,
    price: i64,
}

#[tokio::test]
async fn offset_pages_have_a_total_order() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let seats = observed.db.collection::<Seat>();
    let all: Vec<Seat> = (0..20)
        .rev()
        .map(|n| Seat {
            _id: n,
            row: n / 5,
            number: n % 5,
            code: Some(n),
            price: n % 2,
        })
        .collect();
    seats.insert_many(&all).await.unwrap();
    let mut found = Vec::new();
    for number in 0..7 {
        let page = seats.find_all().sort(|s| s.price().desc()).page(number, 3).await;
        found.extend(page.unwrap().items.into_iter().map(|seat| seat._id));
    }
    let expected: Vec<i64> = (0..20)
        .filter(|n| n % 2 == 1)
        .chain((0..20).filter(|n| n % 2 == 0))
        .collect();
    assert_eq!(found, expected);
    observed.take_all();

    type Query<'c> = Find<'c, Seat>;
    type Change = fn(Query<'_>) -> Query<'_>;
    let cases: [(Change, _); 8] = [
        (|q| q, doc! { "_id": 1 }),
        (|q| q.sort(|s| s.price().desc()), doc! { "price": -1, "_id": 1 }),
        (
            |q| q.with_options(FindOptions::default().sort(doc! { "price": 1 })),
            doc! { "price": 1, "_id": 1 },
        ),
        (
            |q| q.sort(|s| (s._id().desc(), s.price().asc())),
            doc! { "_id": -1, "price": 1 },
        ),
        // A unique index, but for one that lacks documents, or compares otherwise.
        (
            |q| q.sort(|s| (s.number().asc(), s.row().desc())),
            doc! { "number": 1, "row": -1 },
        ),
        (|q| q.sort(|s| s.number().asc()), doc! { "number": 1, "_id": 1 }),
        (|q| q.sort(|s| s.code().asc()), doc! { "code": 1, "_id": 1 }),
        (|q| q.sort(|_| doc! { "$natural": -1 }), doc! { "$natural": -1 }),
    ];
    for (query, expected) in cases {
        let page = query(seats.find_all()).page(0, 3).await.unwrap();
        assert_eq!((page.items.len(), page.total), (3, 20), "{expected}");
        let commands = observed.take_all();
        let find = commands.iter().find(|command| command.contains_key("find"));
        assert_eq!(find.unwrap().get_document("sort").ok(), Some(&expected));
    }
    env.stop().await;
}
