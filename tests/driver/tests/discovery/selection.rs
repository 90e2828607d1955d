//! Prose tests of the Server Selection and Max Staleness specifications.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use marula_driver::{
    Client, ErrorKind,
    bson::{DateTime, Document, doc},
    event::{CommandEvent, EventListener, PoolEvent, SdamEvent},
    internals::{Environment, server_selection::RoundTripTime},
    options::{ClientOptions, ReadPreference, ReadPreferenceMode, TagSet},
};
use marula_driver_tests::{Answer, CommandRecorder, ScriptedServer, dns::DnsServer, replica_set, standalone};
use marula_test_server::TestServer;
use tokio::sync::watch;

fn parse(query: &str) -> marula_driver::Result<ClientOptions> {
    ClientOptions::parse(&format!("mongodb://host/?{query}"))
}

#[tokio::test]
async fn server_selection_prose_1() {
    let tags = TagSet::from([("dc".to_owned(), "ny".to_owned())]);
    let mut options = ClientOptions::parse("mongodb://host/").unwrap();
    options.read_preference = ReadPreference::primary().with_tag_sets(vec![tags]);
    let error = Client::with_options(options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
    let error = parse("readPreference=primary&readPreferenceTags=dc:ny").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ConnectionString(_)), "{error}");
    assert!(parse("readPreference=primary&readPreferenceTags=").is_ok());
}

/// A sample is a `Duration`, which cannot be negative.
#[test]
fn server_selection_prose_2() {
    let millis = Duration::from_millis;
    let mut times = RoundTripTime::default();
    times.add(millis(100));
    times.add(millis(200));
    assert_eq!(times.average(), Some(millis(120)));
    // A failed hello makes the server Unknown and discards its average.
    times.reset();
    assert_eq!(times.average(), None);
    assert_eq!(times.add(millis(7)), millis(7));
}

#[tokio::test]
async fn server_selection_prose_3() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let sent = async |options: &str| {
        let recorder = CommandRecorder::default();
        let client = recorder.client_of(&format!("{}?{options}", server.uri()));
        let things = client.database("d").collection::<Document>("c");
        things.find_one(doc! {}).await.unwrap();
        recorder
            .only_command()
            .get_document("$readPreference")
            .ok()
            .cloned()
    };
    assert_eq!(sent("readPreference=primary").await, None);
    for mode in ["primaryPreferred", "secondary", "secondaryPreferred", "nearest"] {
        let option = format!("readPreference={mode}");
        assert_eq!(sent(&option).await, Some(doc! { "mode": mode }));
        let tagged = sent(&format!("{option}&readPreferenceTags=dc:ny&readPreferenceTags=")).await;
        assert_eq!(tagged, Some(doc! { "mode": mode, "tags": [{ "dc": "ny" }, {}] }));
    }
}

/// Reads in ten tasks. Returns the number of reads sent to each mongos.
async fn reads_by_mongos(
    client: &Client,
    each: usize,
    started: &watch::Sender<BTreeMap<String, usize>>,
) -> Vec<usize> {
    started.send_replace(BTreeMap::new());
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let things = client.database("d").collection::<Document>("c");
            tokio::spawn(async move {
                for _ in 0..each {
                    things.find_one(doc! {}).await.expect("a read");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    started.borrow().values().copied().collect()
}

#[tokio::test]
async fn server_selection_prose_5() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    let slow = Client::connect(&server.member_uris()[0]).await.unwrap();
    let data = doc! { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 500, "appName": "loadBalancingTest" };
    let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": 10_000 }, "data": data };
    slow.database("admin").run_command(point).await.unwrap();
    let uri = format!(
        "{}?appName=loadBalancingTest&localThresholdMS=30000&minPoolSize=10&maxPoolSize=10",
        server.uri()
    );
    let mut options = ClientOptions::parse(&uri).unwrap();
    let started = watch::Sender::new(BTreeMap::new());
    let ready = watch::Sender::new(0);
    let (counter, filled) = (started.clone(), ready.clone());
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        if let CommandEvent::Started(event) = event {
            let server = event.connection.address.to_string();
            counter.send_modify(|counts| *counts.entry(server).or_insert(0) += 1);
        }
    }));
    options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
        if matches!(event, PoolEvent::ConnectionReady { .. }) {
            filled.send_modify(|count| *count += 1);
        }
    }));
    let client = Client::with_options(options).unwrap();
    ready.subscribe().wait_for(|count| *count == 20).await.unwrap();
    reads_by_mongos(&client, 10, &started).await;
    let slow_one = server.addresses()[0].to_string();
    let slow_share = started.borrow().get(&slow_one).copied().unwrap_or(0);
    assert!(
        slow_share < 25,
        "{slow_share} of 100 reads went to the slow mongos"
    );
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    slow.database("admin").run_command(off).await.unwrap();
    let shares = reads_by_mongos(&client, 100, &started).await;
    assert_eq!(shares.len(), 2);
    assert!(
        shares.iter().all(|share| (400..=600).contains(share)),
        "{shares:?}"
    );
}

#[test]
fn max_staleness_prose_1() {
    let preference = parse("readPreference=secondary&maxStalenessSeconds=120")
        .unwrap()
        .read_preference;
    assert_eq!(preference.mode, ReadPreferenceMode::Secondary);
    assert_eq!(preference.max_staleness, Some(Duration::from_secs(120)));
}

#[test]
fn max_staleness_prose_2() {
    for query in [
        "maxStalenessSeconds=120",
        "readPreference=primary&maxStalenessSeconds=120",
    ] {
        assert!(parse(query).is_err(), "{query}");
    }
}

#[test]
fn max_staleness_prose_3() {
    assert_eq!(
        parse("readPreference=secondary&maxStalenessSeconds=-1").unwrap(),
        parse("readPreference=secondary").unwrap()
    );
    assert_eq!(
        parse("readPreference=primary&maxStalenessSeconds=-1").unwrap(),
        parse("").unwrap()
    );
}

#[tokio::test]
async fn max_staleness_prose_4() {
    let options = parse("readPreference=secondary&maxStalenessSeconds=1").unwrap();
    assert!(options.warnings().is_empty(), "{:?}", options.warnings());
    Client::with_options(options).unwrap();
    // The minimum concerns replica sets only, and is checked when a member is selected.
    let deployment = replica_set().await;
    let client = deployment
        .client_with("readPreference=secondary&maxStalenessSeconds=1")
        .await;
    let things = client.database("d").collection::<Document>("c");
    let error = things.find_one(doc! {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
    assert!(error.to_string().contains("maxStalenessSeconds"), "{error}");
}

/// The server is polled every half second; a slow machine makes the distance longer.
#[tokio::test]
async fn max_staleness_prose_5() {
    let deployment = standalone().await;
    let uri = format!(
        "{}?heartbeatFrequencyMS=500&serverMonitoringMode=poll",
        deployment.server.uri()
    );
    let mut options = ClientOptions::parse(&uri).unwrap();
    let begun = watch::Sender::new(Vec::new());
    let started = begun.clone();
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if matches!(event, SdamEvent::ServerHeartbeatStarted { .. }) {
            started.send_modify(|times| times.push(Instant::now()));
        }
    }));
    let _client = Client::with_options(options).unwrap();
    let mut times = begun.subscribe();
    let times = times.wait_for(|times| times.len() >= 5).await.unwrap();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(490), "{times:?}");
    }
}

#[tokio::test]
async fn max_staleness_prose_6() {
    let deployment = replica_set().await;
    let uri = format!("{}&heartbeatFrequencyMS=500", deployment.server.uri());
    let primary = deployment.server.primary().unwrap().to_string();
    let mut options = ClientOptions::parse(&uri).unwrap();
    let dates = watch::Sender::new(Vec::<DateTime>::new());
    let received = dates.clone();
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::ServerHeartbeatSucceeded { address, reply, .. } = event
            && address.to_string() == primary
            && let Ok(last) = reply.get_document("lastWrite")
            && let Ok(date) = last.get_datetime("lastWriteDate")
        {
            received.send_modify(|dates| dates.push(date));
        }
    }));
    let client = Client::with_options(options).unwrap();
    let things = client.database("d").collection("c");
    things.insert_one(&doc! {}).await.unwrap();
    let mut seen = dates.subscribe();
    let first = *seen
        .wait_for(|dates| !dates.is_empty())
        .await
        .unwrap()
        .last()
        .unwrap();
    assert!(first.timestamp_millis() > 0);
    // `lastWriteDate` has a resolution of one second.
    let later = loop {
        things.insert_one(&doc! {}).await.unwrap();
        let known = dates.borrow().len();
        let dates = seen.wait_for(|dates| dates.len() > known).await.unwrap();
        let last = *dates.last().unwrap();
        if last > first {
            break last;
        }
    };
    assert!(later.timestamp_millis() - first.timestamp_millis() < 10_000);
}

#[tokio::test]
async fn max_staleness_prose_7() {
    let server = TestServer::builder().sharded().start().await.unwrap();
    for (option, expected) in [
        (
            "&maxStalenessSeconds=120",
            doc! { "mode": "secondary", "maxStalenessSeconds": 120 },
        ),
        ("", doc! { "mode": "secondary" }),
    ] {
        let recorder = CommandRecorder::default();
        let uri = format!("{}?readPreference=secondary{option}", server.member_uris()[0]);
        let client = recorder.client_of(&uri);
        let things = client.database("d").collection::<Document>("c");
        things.find_one(doc! {}).await.unwrap();
        let mut sent = recorder
            .only_command()
            .get_document("$readPreference")
            .unwrap()
            .clone();
        if let Ok(long) = sent.get_i64("maxStalenessSeconds") {
            sent.insert("maxStalenessSeconds", i32::try_from(long).unwrap());
        }
        assert_eq!(sent, expected);
    }
}

#[tokio::test]
async fn the_error_names_the_host_that_could_not_be_resolved() {
    let dns = DnsServer::start().await;
    let environment = Environment {
        dns: dns.resolver(),
        ..Environment::default()
    };
    let member =
        doc! { "setName": "rs", "hosts": ["inner.example:27017"], "me": "inner.example:27017", "msg": "" };
    let server = ScriptedServer::start(member, |_| Answer::Success).await;
    for (uri, expected) in [
        (
            "mongodb://db.example/?directConnection=true".to_owned(),
            "; check the host name db.example of the connection string",
        ),
        (
            "mongodb://db.example/?replicaSet=rs".to_owned(),
            "; check the host name db.example of the connection string",
        ),
        (
            server.uri("replicaSet=rs"),
            "; the replica set configuration names the host inner.example, which could not be resolved: \
             directConnection=true uses the given host only",
        ),
        (
            server.uri("replicaSet=rs").replace("/?", ",other.example/?"),
            "; the replica set configuration names the host inner.example, which could not be resolved",
        ),
        (
            "mongodb://db.example,other.example".to_owned(),
            "other.example:27017 (Unknown: DNS lookup failed)",
        ),
    ] {
        let mut options = ClientOptions::parse(&uri).unwrap();
        options.server_selection_timeout = Duration::from_secs(2);
        let client = environment.client(options).unwrap();
        let things = client.database("d").collection::<Document>("c");
        let error = things.insert_one(&doc! {}).await.unwrap_err().to_string();
        let expected = format!("{expected} (insert on d.c)");
        assert!(error.ends_with(&expected), "{error}");
    }
}
