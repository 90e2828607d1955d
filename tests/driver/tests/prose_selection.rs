//! Prose tests of the Server Selection and Max Staleness specifications.

use std::time::Duration;

use marula_driver::{
    Client, ErrorKind,
    bson::{Document, doc},
    internals::server_selection::RoundTripTime,
    options::{ClientOptions, ReadPreference, ReadPreferenceMode, TagSet},
};
use marula_driver_tests::replica_set;

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
    // A failed hello makes the server unknown, and its average with it.
    times.reset();
    assert_eq!(times.average(), None);
    assert_eq!(times.add(millis(7)), millis(7));
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
    // Whether it is large enough concerns replica sets, and is known when a member is to be selected.
    let deployment = replica_set().await;
    let client = deployment
        .client_with("readPreference=secondary&maxStalenessSeconds=1")
        .await;
    let things = client.database("d").collection::<Document>("c");
    let error = things.find_one(doc! {}).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
    assert!(error.to_string().contains("maxStalenessSeconds"), "{error}");
}
