//! Tests of the rules for names, records and polling.

use std::{collections::BTreeSet, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::{ServerAddress, proto::wire::tests::config};

fn name(hostname: &str) -> SrvName {
    SrvName::new(hostname, "mongodb").unwrap()
}

fn record(target: &str, port: u16) -> SrvRecord {
    SrvRecord {
        target: target.into(),
        port,
        ttl: Duration::from_secs(300),
    }
}

fn error(hostname: &str, target: &str) -> String {
    seeds(&name(hostname), &[record(target, 27017)], 0, 0)
        .unwrap_err()
        .to_string()
}

fn addresses(ports: impl IntoIterator<Item = u16>) -> BTreeSet<ServerAddress> {
    ports
        .into_iter()
        .map(|port| ServerAddress::tcp("h.b.c", port))
        .collect()
}

#[test]
fn the_query_contains_service_and_host() {
    assert_eq!(name("TEST.B.C").query(), "_mongodb._tcp.test.b.c");
    let own = SrvName::new("a.b.c", "custom-name").unwrap();
    assert_eq!(own.query(), "_custom-name._tcp.a.b.c");
    assert_eq!(name("a.b.c").domain(), "b.c");
    assert_eq!(name("mongo.local").domain(), "mongo.local");
    assert_eq!(name("localhost").domain(), "localhost");
}

#[test]
fn names_that_are_invalid_in_dns_are_rejected() {
    for bad in [
        "",
        "a..b",
        ".a",
        "ä.b.c",
        "a b.c.d",
        &"x".repeat(64),
        &["abc"; 80].join("."),
    ] {
        assert!(SrvName::new(bad, "mongodb").is_err(), "{bad} was accepted");
    }
    for bad in ["", "a.b", "_a", &"x".repeat(63)] {
        assert!(SrvName::new("a.b.c", bad).is_err(), "{bad} was accepted");
    }
    assert!(SrvName::new("a.b.c", &"x".repeat(62)).is_ok());
}

#[test]
fn hosts_must_be_in_the_domain() {
    for (hostname, target) in [
        ("blogs.mongodb.com", "blogs.evil.com"),
        ("blogs.mongodb.com", "cluster.testmongodb.com"),
        ("blogs.mongodb.com", "mongodb.com"),
        ("blogs.mongodb.com", "com"),
        ("localhost", "localhost.mongodb"),
        ("localhost", "localhost"),
        ("localhost", "test_1.cluster_1localhost"),
        ("mongo.local", "mongo.local"),
        ("mongo.local", "test_1.evil.local"),
        ("mongo.local", "test_1.my_hostmongo.local"),
    ] {
        let why = error(hostname, target);
        assert!(why.contains(target) && why.contains("not below"), "{why}");
    }
    for (hostname, target) in [
        ("blogs.mongodb.com", "cluster.MongoDB.com."),
        ("blogs.mongodb.com", "a.b.mongodb.com"),
        ("localhost", "a.localhost"),
        ("mongo.local", "a.mongo.local"),
    ] {
        let found = seeds(&name(hostname), &[record(target, 5)], 0, 0).unwrap();
        let expected = target.trim_end_matches('.').to_lowercase();
        assert_eq!(found.hosts, [ServerAddress::tcp(&expected, 5)]);
    }
}

#[test]
fn malformed_records_are_errors_with_their_name() {
    assert!(error("a.b.c", ".").contains("not offered"));
    assert!(error("a.b.c", "x y.b.c").contains("x y.b.c"));
    let why = seeds(&name("a.b.c"), &[record("h.b.c", 0)], 0, 0)
        .unwrap_err()
        .to_string();
    assert!(why.contains("port 0") && why.contains("h.b.c"), "{why}");
    let why = seeds(&name("a.b.c"), &[], 0, 0).unwrap_err().to_string();
    assert!(why.contains("_mongodb._tcp.a.b.c"), "{why}");
}

#[test]
fn seeds_contain_each_host_once_with_the_shortest_ttl() {
    let mut records = vec![record("h.b.c", 1), record("h.b.c", 2), record("H.b.c.", 1)];
    records[1].ttl = Duration::from_secs(7);
    let found = seeds(&name("a.b.c"), &records, 0, 0).unwrap();
    assert_eq!(found.hosts.len(), 2);
    assert_eq!(found.ttl, Duration::from_secs(7));
}

#[test]
fn one_txt_record_of_many_strings_is_allowed() {
    let strings = vec![b"replicaSet=rep".to_vec(), b"l0".to_vec()];
    let text = txt_options(&name("a.b.c"), std::slice::from_ref(&strings)).unwrap();
    assert_eq!(text.as_deref(), Some("replicaSet=repl0"));
    assert_eq!(txt_options(&name("a.b.c"), &[]), Ok(None));
    let two = txt_options(&name("a.b.c"), &[strings.clone(), strings])
        .unwrap_err()
        .to_string();
    assert!(two.contains("a.b.c") && two.contains('2'), "{two}");
    assert!(txt_options(&name("a.b.c"), &[vec![vec![0xff]]]).is_err());
}

const MINUTE: Duration = Duration::from_secs(60);
const HEARTBEAT: Duration = Duration::from_secs(10);

fn polling(max_hosts: u32) -> SrvPolling {
    SrvPolling::new(
        name("a.b.c"),
        max_hosts,
        HEARTBEAT,
        MINUTE,
        Duration::from_secs(5),
    )
}

#[test]
fn the_interval_follows_the_records() {
    let mut scan = polling(0);
    assert_eq!(scan.interval(), MINUTE);
    let records = [record("h.b.c", 1)];
    scan.handle_answer(Ok(&records), &addresses([1]), 0);
    assert_eq!(scan.interval(), Duration::from_secs(300));
    for answer in [
        Err(SrvError::Lookup("no such domain".to_owned())),
        Ok([].as_slice()),
        Ok(&[record("h.evil", 1)]),
    ] {
        let mut scan = scan.clone();
        let outcome = scan.handle_answer(answer, &addresses([1]), 0);
        assert_eq!(outcome.hosts, None);
        assert_eq!(outcome.problems.len(), 1);
        assert_eq!(scan.interval(), HEARTBEAT);
        scan.handle_answer(Ok(&records), &addresses([1]), 0);
        assert_eq!(scan.interval(), Duration::from_secs(300));
    }
}

#[test]
fn a_host_outside_the_domain_is_ignored_and_reported() {
    let answer = [record("h.b.c", 2), record("h.evil.c", 1)];
    let outcome = polling(0).handle_answer(Ok(&answer), &addresses([1]), 0);
    assert_eq!(outcome.hosts, Some(addresses([2])));
    assert!(outcome.problems[0].to_string().contains("h.evil.c"));
}

#[test]
fn known_hosts_are_kept_and_new_ones_added() {
    let answer = [1, 3, 4].map(|port| record("h.b.c", port));
    let all = polling(0).handle_answer(Ok(&answer), &addresses([1, 2]), 0);
    assert_eq!(all.hosts, Some(addresses([1, 3, 4])));
    let mut chosen = BTreeSet::new();
    for random in 0..64 {
        let two = polling(2).handle_answer(Ok(&answer), &addresses([1, 2]), random);
        let two = two.hosts.unwrap();
        assert!(two.len() == 2 && two.is_superset(&addresses([1])), "{two:?}");
        chosen.extend(two);
    }
    assert_eq!(
        chosen,
        addresses([1, 3, 4]),
        "each host is selected for some number"
    );
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_selection_is_a_subset_of_the_requested_size(length in 0_usize..20, count in 0_usize..20, random in any::<u64>()) {
        let chosen = choose((0..length).collect(), count, random);
        prop_assert_eq!(chosen.len(), length.min(count));
        let different: BTreeSet<usize> = chosen.iter().copied().collect();
        prop_assert_eq!(different.len(), chosen.len());
        prop_assert!(different.iter().all(|item| *item < length));
    }

    #[test]
    fn any_name_is_parsed_or_rejected(hostname in any::<String>(), target in any::<String>(), port in any::<u16>()) {
        if let Ok(name) = SrvName::new(&hostname, "mongodb")
            && let Ok(found) = seeds(&name, &[record(&target, port)], 0, 0)
        {
            let host = found.hosts[0].host().into_owned();
            let suffix = format!(".{}", name.domain());
            prop_assert!(host.ends_with(&suffix));
        }
    }
}
