//! DNS servers that fail, send invalid answers, or send answers larger than a datagram.

use std::{net::SocketAddr, time::Duration};

use marula_driver::internals::{DnsLookup, LookupError, Resolver, srv::SrvRecord};
use marula_driver_tests::name_server::{NameServer, Query, Reply, with_record};
use tokio::net::UdpSocket;

const NAME: &str = "_mongodb._tcp.cluster.example.com";

/// For servers that answer at once, with enough time for a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// For servers that do not answer.
const SHORT: Duration = Duration::from_millis(50);

const SERVFAIL: u8 = 2;
const NXDOMAIN: u8 = 3;
const REFUSED: u8 = 5;
const TXT: u16 = 16;

async fn look_up(
    servers: &[&NameServer],
    timeout: Duration,
    attempts: usize,
) -> Result<Vec<SrvRecord>, LookupError> {
    let addresses = servers.iter().map(|server| server.address).collect();
    Resolver::of_name_servers(addresses, timeout, attempts)
        .srv(NAME)
        .await
}

/// The ports in the SRV records that these servers return.
async fn ports(servers: &[&NameServer]) -> Vec<u16> {
    let records = look_up(servers, LONG, 1).await.expect("records");
    for record in &records {
        assert_eq!(record.target.trim_end_matches('.'), "a.example.com");
        assert_eq!(record.ttl, Duration::from_secs(300));
    }
    records.iter().map(|record| record.port).collect()
}

async fn good(port: u16) -> NameServer {
    NameServer::start(move |query| vec![Reply::Send(query.srv([port]))]).await
}

async fn with_code(code: u8) -> NameServer {
    NameServer::start(move |query| vec![Reply::Send(query.reply(code))]).await
}

/// A server that sends an invalid reply and then a valid one.
async fn after(corrupt: fn(&mut Vec<u8>)) -> NameServer {
    NameServer::start(move |query| {
        let mut corrupted = query.srv([666]);
        corrupt(&mut corrupted);
        vec![Reply::Send(corrupted), Reply::Send(query.srv([27017]))]
    })
    .await
}

fn truncated(query: &Query) -> Vec<Reply> {
    let mut reply = query.srv([666]);
    reply[2] |= 0x02;
    vec![Reply::Send(reply)]
}

#[tokio::test]
async fn a_lookup_sends_one_query_with_recursion_desired() {
    let server = good(27017).await;
    assert_eq!(ports(&[&server]).await, [27017]);
    let queries = server.queries();
    assert_eq!(queries.len(), 1);
    assert!(!queries[0].over_tcp);
    assert_eq!(queries[0].bytes[2] & 0x81, 0x01, "a query with recursion desired");
}

#[tokio::test]
async fn query_ids_differ() {
    let server = good(27017).await;
    for _ in 0..8 {
        ports(&[&server]).await;
    }
    let queries = server.queries();
    let mut ids: Vec<_> = queries.iter().map(|query| &query.bytes[..2]).collect();
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() > 1, "eight queries with the same id");
}

#[tokio::test]
async fn a_reply_with_another_id_is_ignored() {
    let server = after(|reply| reply[0] ^= 1).await;
    assert_eq!(ports(&[&server]).await, [27017]);
}

#[tokio::test]
async fn a_reply_from_another_port_is_ignored() {
    let server = NameServer::start(|query| {
        vec![
            Reply::SendFromOtherPort(query.srv([666])),
            Reply::Send(query.srv([27017])),
        ]
    })
    .await;
    assert_eq!(ports(&[&server]).await, [27017]);
}

#[tokio::test]
async fn a_truncated_reply_is_requested_over_tcp() {
    let server = NameServer::start(|query| {
        if query.over_tcp {
            vec![Reply::Send(query.srv(1..=1000))]
        } else {
            truncated(query)
        }
    })
    .await;
    assert_eq!(ports(&[&server]).await, (1..=1000).collect::<Vec<u16>>());
    assert_eq!(server.queries().len(), 2);
}

#[tokio::test]
async fn a_reply_of_maximum_length_is_read() {
    let server = NameServer::start(|query| {
        if query.over_tcp {
            // A record of another type makes the message this long.
            let reply = query.srv([27017]);
            let rest = usize::from(u16::MAX) - reply.len() - 12;
            let reply = with_record(reply, TXT, &vec![0; rest]);
            assert_eq!(reply.len(), usize::from(u16::MAX));
            vec![Reply::Send(reply)]
        } else {
            truncated(query)
        }
    })
    .await;
    assert_eq!(ports(&[&server]).await, [27017]);
}

#[tokio::test]
async fn failures_of_all_servers_are_reported() {
    let servers = [with_code(SERVFAIL).await, with_code(REFUSED).await];
    let error = look_up(&[&servers[0], &servers[1]], LONG, 2)
        .await
        .expect_err("no answer");
    assert!(matches!(error, LookupError::Failed(_)), "{error:?}");
    assert!(error.to_string().contains(NAME), "{error}");
}

#[tokio::test]
async fn an_answer_without_records_is_final() {
    for code in [NXDOMAIN, 0] {
        // A single server: with several, the timing decides which of them are queried.
        let nothing = with_code(code).await;
        let error = look_up(&[&nothing], LONG, 2).await.expect_err("no record");
        assert!(matches!(error, LookupError::NoRecords(_)), "{error:?}");
        assert!(error.to_string().contains(NAME), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_skipped() {
    let (silent, good) = (NameServer::silent().await, good(27017).await);
    // Within the timeout of the first server.
    assert_eq!(ports(&[&silent, &good]).await, [27017]);
    // The second server may exceed this short timeout, so there is another attempt.
    let records = look_up(&[&silent, &good], SHORT, 10_000).await.expect("records");
    assert_eq!(records.len(), 1);
}

#[tokio::test]
async fn timeouts_of_all_servers_are_reported() {
    let silent = NameServer::silent().await;
    let error = look_up(&[&silent], SHORT, 2).await.expect_err("no answer");
    assert!(matches!(error, LookupError::Failed(_)), "{error:?}");
    assert!(error.to_string().contains(NAME), "{error}");
}

/// Checks that the next server is queried after a malformed reply.
async fn is_skipped(what: &str, corrupt: fn(&Query) -> Vec<u8>) {
    let (corrupt, good) = (
        NameServer::start(move |query| vec![Reply::Send(corrupt(query))]).await,
        good(27017).await,
    );
    assert_eq!(ports(&[&corrupt, &good]).await, [27017], "{what}");
    let error = look_up(&[&corrupt], LONG, 1).await.expect_err(what);
    assert!(error.to_string().contains("malformed"), "{what}: {error}");
}

#[tokio::test]
async fn the_next_server_is_queried_after_a_failure() {
    for code in [SERVFAIL, REFUSED] {
        let (failing, good) = (with_code(code).await, good(27017).await);
        assert_eq!(ports(&[&failing, &good]).await, [27017], "{code}");
    }
}

#[tokio::test]
async fn servers_with_malformed_replies_are_skipped() {
    is_skipped("invalid bytes after the question", |query| {
        let mut reply = query.reply(0);
        reply[7] = 9;
        reply.extend((0..200).map(|n: u8| n.wrapping_mul(89) ^ 0x5A));
        reply
    })
    .await;
    is_skipped("a record count that is too high", |query| {
        let mut reply = query.srv([666]);
        reply[6..8].copy_from_slice(&[0xFF, 0xFF]);
        reply
    })
    .await;
    is_skipped("a compression pointer to itself", |query| {
        let reply = query.reply(0);
        let target = u8::try_from(reply.len() + 12 + 6).expect("a short message");
        with_record(reply, 33, &[0, 0, 0, 0, 0, 1, 0xC0, target])
    })
    .await;
    is_skipped("a target longer than its record", |query| {
        with_record(query.reply(0), 33, &[0, 0, 0, 0, 0, 1, 60, b'x'])
    })
    .await;
    is_skipped("a truncated record", |query| {
        let mut reply = query.srv([666]);
        reply.truncate(reply.len() - 3);
        reply
    })
    .await;
}

#[tokio::test]
async fn a_reply_to_another_question_is_ignored() {
    for corrupt in [
        // Another name, another type, not a response, invalid bytes.
        (|reply| reply[14] ^= 1) as fn(&mut Vec<u8>),
        |reply| reply[12 + NAME.len() + 3] = 16,
        |reply| reply[2] = 0x01,
        |reply| reply.truncate(5),
        |reply| *reply = vec![0xFF; 1000],
        Vec::clear,
    ] {
        let server = after(corrupt).await;
        assert_eq!(ports(&[&server]).await, [27017]);
    }
}

#[tokio::test]
async fn a_datagram_longer_than_the_advertised_size_is_read() {
    let server = NameServer::start(|query| vec![Reply::Send(query.srv(1..=1000))]).await;
    assert_eq!(ports(&[&server]).await.len(), 1000);
}

#[tokio::test]
async fn a_tcp_connection_that_ends_early_is_skipped() {
    for cut in [0, 1, 2, 20] {
        let truncating = NameServer::start(move |query| {
            if query.over_tcp {
                let reply = query.srv([666]);
                let length = u16::try_from(reply.len()).expect("a short message");
                let mut bytes = [&length.to_be_bytes(), reply.as_slice()].concat();
                bytes.truncate(cut);
                vec![Reply::Write(bytes)]
            } else {
                truncated(query)
            }
        })
        .await;
        let good = good(27017).await;
        assert_eq!(ports(&[&truncating, &good]).await, [27017], "cut to {cut}");
        let error = look_up(&[&truncating], LONG, 1).await.expect_err("no answer");
        assert!(
            error.to_string().contains("ended before"),
            "cut to {cut}: {error}"
        );
    }
}

#[tokio::test]
async fn a_tcp_connection_with_an_invalid_reply_is_skipped() {
    let invalid = NameServer::start(|query| {
        if query.over_tcp {
            let mut reply = query.srv([666]);
            reply[1] ^= 1;
            vec![Reply::Send(reply)]
        } else {
            truncated(query)
        }
    })
    .await;
    let good = good(27017).await;
    assert_eq!(ports(&[&invalid, &good]).await, [27017]);
    let always_truncated = NameServer::start(truncated).await;
    assert_eq!(ports(&[&always_truncated, &good]).await, [27017]);
}

#[tokio::test]
async fn a_closed_port_is_skipped_immediately() {
    let closed: SocketAddr = {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        socket.local_addr().expect("an address")
    };
    let good = good(27017).await;
    let resolver = Resolver::of_name_servers(vec![closed, good.address], LONG, 1);
    // On systems that report closed ports. On others this takes a minute.
    assert_eq!(resolver.srv(NAME).await.expect("records").len(), 1);
}

#[tokio::test]
async fn servers_without_edns_are_queried_without_it() {
    let old = NameServer::start(|query| {
        let announces = query.bytes[11] == 1;
        vec![Reply::Send(if announces {
            // Some of these servers do not repeat the question.
            [&query.bytes[..2], &[0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0]].concat()
        } else {
            query.srv([27017])
        })]
    })
    .await;
    assert_eq!(ports(&[&old]).await, [27017]);
    assert_eq!(old.queries().len(), 2);
}

#[tokio::test]
async fn cname_records_in_the_answer_are_followed() {
    let server = NameServer::start(|query| {
        let reply = with_record(query.reply(0), 5, b"\x05alias\x00");
        let mut reply = with_record(reply, 33, b"\x00\x00\x00\x00\x00\x07\x01h\x00");
        // The owner of the second record is the alias in the data of the first record.
        let alias = u8::try_from(query.end() + 12).expect("a short message");
        reply[query.end() + 12 + 7 + 1] = alias;
        vec![Reply::Send(reply)]
    })
    .await;
    let records = look_up(&[&server], LONG, 1).await.expect("records");
    let found: Vec<_> = records
        .iter()
        .map(|record| (record.target.as_str(), record.port))
        .collect();
    assert_eq!(found, [("h", 7)]);
}

#[tokio::test]
async fn errors_name_each_server_with_its_failure() {
    let servers = [
        with_code(SERVFAIL).await,
        with_code(REFUSED).await,
        NameServer::silent().await,
    ];
    let error = look_up(&[&servers[0], &servers[1], &servers[2]], SHORT, 2)
        .await
        .expect_err("no answer");
    let text = error.to_string();
    for server in &servers {
        assert!(text.contains(&format!("{}: ", server.address)), "{text}");
    }
    assert!(text.contains("no answer within 50ms"), "{text}");
}
