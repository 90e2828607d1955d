//! The prose tests of the Wire Compression specification.

use marula_driver::{
    bson::{Document, doc},
    options::ClientOptions,
};
use marula_driver_tests::tap::Tapped;

use crate::compression::{Tap, offered, server, tapped};

/// Sends a ping with these compressors on both sides. Returns the recorded requests and replies.
async fn ping(compressors: &str, servers: &[&str]) -> (Vec<Tapped>, Vec<Tapped>) {
    let options = format!("compressors={compressors}");
    let Tap { tap, client, _server } = tapped(server().compressors(servers), &options).await;
    let reply: Document = client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .expect("a reply");
    assert_eq!(reply.get_f64("ok").expect("a number"), 1.0);
    (tap.take_requests(), tap.take_replies())
}

/// Checks that the ping used this compressor, that its handshake was not compressed, and which
/// compressors the handshake offered.
fn assert_compressed(requests: &[Tapped], replies: &[Tapped], expected: &[&str], compressor: Option<u8>) {
    let ping = requests.iter().find(|request| request.command() == "ping");
    let ping = ping.expect("a ping");
    assert_eq!(ping.compressor, compressor);
    assert_eq!(ping.opcode, 2013);
    assert_eq!(offered(requests, ping.connection), expected);
    for request in requests.iter().filter(|request| request.is_hello()) {
        assert_eq!(request.compressor, None, "{}", request.body);
    }
    let answer = replies
        .iter()
        .rfind(|reply| reply.connection == ping.connection)
        .expect("a reply");
    assert_eq!(answer.compressor, compressor);
}

#[tokio::test]
async fn compression_prose_1_snappy() {
    let (requests, replies) = ping("snappy", &["snappy"]).await;
    assert_compressed(&requests, &replies, &["snappy"], Some(1));
}

#[tokio::test]
async fn compression_prose_2_an_unknown_compressor_is_a_warning() {
    let options = ClientOptions::parse("mongodb://localhost/?compressors=snoopy").unwrap();
    assert!(
        options.warnings()[0].contains("snoopy"),
        "{:?}",
        options.warnings()
    );
    let (requests, replies) = ping("snoopy", &["snappy"]).await;
    assert_compressed(&requests, &replies, &[], None);
    let all = requests.iter().chain(&replies);
    assert!(all.clone().all(|message| message.compressor.is_none()));
}

#[tokio::test]
async fn compression_prose_3_the_first_of_the_clients_list() {
    let (requests, replies) = ping("snappy,zlib", &["snappy", "zlib"]).await;
    assert_compressed(&requests, &replies, &["snappy", "zlib"], Some(1));
}

#[tokio::test]
async fn compression_prose_4_whatever_the_servers_order() {
    let (requests, replies) = ping("zlib,snappy", &["snappy", "zlib"]).await;
    assert_compressed(&requests, &replies, &["zlib", "snappy"], Some(2));
}

#[tokio::test]
async fn the_first_compressor_supported_by_the_server_is_used() {
    let (requests, replies) = ping("zstd,zlib,snappy", &["snappy", "zlib"]).await;
    assert_compressed(&requests, &replies, &["zstd", "zlib", "snappy"], Some(2));
}

#[tokio::test]
async fn messages_are_uncompressed_without_a_common_compressor() {
    let (requests, replies) = ping("zstd", &["snappy"]).await;
    assert_compressed(&requests, &replies, &["zstd"], None);
    let (requests, replies) = ping("zstd", &[]).await;
    assert_compressed(&requests, &replies, &["zstd"], None);
}

#[tokio::test]
async fn monitors_offer_no_compressors() {
    let (requests, _) = ping("snappy", &["snappy"]).await;
    let ping = requests.iter().find(|request| request.command() == "ping");
    let pool = ping.expect("a ping").connection;
    let monitor = requests
        .iter()
        .find(|request| request.connection != pool && request.body.contains_key("client"))
        .expect("a handshake of a monitor");
    assert_eq!(offered(&requests, monitor.connection), Vec::<&str>::new());
}
