//! Task: sort by two keys, and by a sort that a request chooses, as in `?sort=-created,number`.

use marula::{Error, Model, Sort, SortNames, prelude::*};

use crate::support::{Env, Order, Status, numbers, orders};

#[tokio::test]
async fn sorts_from_an_allow_list() {
    let env = Env::start().await;
    let collection = env.db.collection::<Order>();
    let mut all = orders();
    all[0].status = Status::Paid;
    all[3].status = Status::Paid;
    collection.insert_many(&all).await.unwrap();
    let found = collection
        .find_all()
        .sort(|o| (o.status().asc(), o.created_at().desc()))
        .await;
    assert_eq!(numbers(&found.unwrap()), ["N5", "N3", "N2", "N4", "N1"]);

    let o = Order::fields();
    let names = SortNames::<Sort<Order>>::new()
        .allow("created", o.created_at().asc())
        .allow("status", o.status().asc());
    let sort = names.parse("-status,created").unwrap();
    let found = collection.find_all().sort(|_| sort).await.unwrap();
    assert_eq!(numbers(&found), ["N1", "N4", "N2", "N3", "N5"]);
    let refused = names.parse("totalCents").unwrap_err();
    assert!(matches!(refused, Error::UnknownSort { .. }), "{refused}");
    env.stop().await;
}
