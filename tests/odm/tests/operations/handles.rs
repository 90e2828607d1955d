//! Options of a handle or a query are inherited by handles and calls that are derived from it.

use std::sync::{Arc, Mutex};

use crate::common::{Env, Order, order};
use marula::bson::{self, doc};
use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::{ClientOptions, ReadConcern, WriteConcern};
use marula::{Client, Document, Error, Expr, Filter, FilterOps};
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn named_keeps_the_write_concern() {
    let env = Env::start().await;
    let mut contradiction = WriteConcern::nodes(0);
    contradiction.journal = Some(true);
    let orders = env.db.collection::<Order>().with_write_concern(contradiction);
    let tenant = orders.named("orders_of_a_tenant");
    assert_eq!(tenant.name(), "orders_of_a_tenant");
    let refused = tenant.insert_one(&order(1)).await.unwrap_err();
    assert!(matches!(refused, Error::Driver(_)), "{refused}");
    env.stop().await;
}

#[tokio::test]
async fn pages_and_counts_use_the_let_variables_of_the_query() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let orders = env.db.collection::<Order>();
    orders.insert_many(&[order(1), order(2), order(3)]).await.unwrap();
    let above = || Filter::expr(Expr::raw(doc! { "$gt": ["$number", "$$least"] }));
    let variables = doc! { "least": 1 };
    let page = orders
        .find(|_| above())
        .let_vars(variables.clone())
        .page(0, 1)
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.total), (1, 2));
    let counted = orders.count(|_| above()).let_vars(variables).await.unwrap();
    assert_eq!(counted, 2);
    env.stop().await;
}

/// A model with its own concerns and read preference.
#[derive(Debug, Serialize, Deserialize, Document)]
#[document(
    collection = "payments",
    read_concern = "majority",
    write_concern = "majority",
    read_preference = "secondary_preferred"
)]
struct Payment {
    _id: i64,
}

/// As [`Payment`], on a number of members.
#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "payments", write_concern = 1)]
struct LoggedPayment {
    _id: i64,
}

#[tokio::test]
async fn a_model_declares_concerns_and_the_read_preference() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let commands = Arc::new(Mutex::new(Vec::new()));
    let mut options = ClientOptions::parse(&env.uri()).unwrap();
    let sent = Arc::clone(&commands);
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        if let CommandEvent::Started(event) = event {
            let command = bson::from_slice::<bson::Document>(event.command.as_bytes()).unwrap();
            sent.lock().unwrap().push(command);
        }
    }));
    let client = Client::with_options(options).unwrap();
    let payments = client.database(env.db.name()).collection::<Payment>();
    payments.insert_one(&Payment { _id: 1 }).await.unwrap();
    payments.find_one(|p| p._id().eq(1)).await.unwrap();
    // The methods of the handle replace what the model declares.
    let local = payments.with_read_concern(ReadConcern::local());
    local.find_one(|p| p._id().eq(1)).await.unwrap();
    let logged = client.database(env.db.name()).collection::<LoggedPayment>();
    logged.insert_one(&LoggedPayment { _id: 2 }).await.unwrap();
    let sent = commands.lock().unwrap().clone();
    let of = |name: &str| {
        sent.iter()
            .filter(|command| command.contains_key(name))
            .collect::<Vec<_>>()
    };
    let level = |command: &bson::Document| {
        let concern = command.get_document("readConcern").unwrap();
        concern.get_str("level").unwrap().to_owned()
    };
    let (inserts, finds) = (of("insert"), of("find"));
    assert_eq!(
        inserts[0].get_document("writeConcern").unwrap(),
        &doc! { "w": "majority" }
    );
    assert_eq!(inserts[1].get_document("writeConcern").unwrap(), &doc! { "w": 1 });
    assert_eq!([level(finds[0]), level(finds[1])], ["majority", "local"]);
    for find in finds {
        let preference = find.get_document("$readPreference").unwrap();
        assert_eq!(preference, &doc! { "mode": "secondaryPreferred" });
    }
    client.shutdown().await;
    env.stop().await;
}
