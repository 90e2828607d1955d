//! Task: time limits of calls, and an orderly shutdown.

use std::time::Duration;

use marula::bson::doc;
use marula::driver::ErrorKind;
use marula::{Error, prelude::*};

use crate::support::{Env, Order, order};

#[tokio::test]
async fn a_slow_call_ends_and_a_shutdown_waits() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    orders.insert_one(&order(1)).await.unwrap();
    let warnings = marula::connect("mongodb://localhost/?maxPoolSise=5")
        .await
        .unwrap();
    assert!(warnings.warnings()[0].contains("maxPoolSise"));

    let fail_point = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 60_000 },
    };
    let admin = env.client.driver().database("admin");
    admin.run_command(fail_point).await.unwrap();
    let limited = orders
        .find(|o| o.total_cents().gt(0))
        .timeout(Duration::from_millis(50));
    let error = limited.all().await.unwrap_err();
    let Error::Driver(driver) = &error else {
        panic!("{error}")
    };
    assert!(matches!(driver.kind(), ErrorKind::Timeout(_)), "{error}");
    assert!(error.to_string().contains("orders"), "{error}");

    let client = marula::connect(&env.uri).await.unwrap();
    let orders = client.database(env.db.name()).collection::<Order>();
    orders.find_all().await.unwrap();
    // A call that runs at the shutdown ends; later ones are refused.
    let (count, rest) = tokio::join!(orders.count(|o| o.number().eq("N1")), async {
        client.shutdown().deadline(Duration::from_secs(10)).await
    },);
    assert_eq!((count.unwrap(), rest.operations), (1, 0));
    let refused = orders.find_all().await.unwrap_err();
    let kind = refused.driver().map(marula::driver::Error::kind);
    assert!(matches!(kind, Some(ErrorKind::Shutdown)), "{refused}");
    env.stop().await;
}
