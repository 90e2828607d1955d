//! Task: count the commands of each collection, and their durations, for the metrics of a service.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::ClientOptions;
use marula::{Client, prelude::*};

use crate::support::{Env, Order, order};

#[tokio::test]
async fn commands_are_counted() {
    let env = Env::start().await;
    let counts = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let seen = Arc::clone(&counts);
    let mut options = ClientOptions::parse(&env.uri).unwrap().resolve().await.unwrap();
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        let outcome = match event {
            CommandEvent::Succeeded(done) if !done.duration.is_zero() => "ok",
            CommandEvent::Failed(_) => "failed",
            _ => return,
        };
        let collection = event.collection_name().unwrap_or("-");
        let key = format!("{} {collection} {outcome}", event.command_name());
        *seen.lock().unwrap().entry(key).or_default() += 1;
    }));
    let client = Client::with_options(options).unwrap();
    let orders = client.database(env.db.name()).collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    orders.find(|o| o.number().eq("N1")).one().await.unwrap();
    orders.find_by_id(order(2).id).await.unwrap();
    orders
        .find(|_| marula::Filter::raw(marula::bson::doc! { "$no": 1 }))
        .await
        .unwrap_err();
    let found: Vec<_> = counts.lock().unwrap().clone().into_iter().collect();
    let expected = [
        ("find orders failed", 1),
        ("find orders ok", 2),
        ("insert orders ok", 1),
    ];
    assert_eq!(found, expected.map(|(key, count)| (key.to_owned(), count)));
    client.shutdown().await;
    env.stop().await;
}
