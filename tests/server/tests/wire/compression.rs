//! OP_COMPRESSED, encoded and decoded independently of the server's code.

use crate::client::{Client, OP_MSG, on};
use bson::{Bson, Document, doc};
use marula_test_server::TestServer;
use tokio::io::AsyncReadExt;

const OP_COMPRESSED: i32 = 2012;
const SNAPPY: u8 = 1;

async fn connect(compressors: &[&str], wanted: Bson) -> (TestServer, Client, Document) {
    let builder = TestServer::builder().compressors(compressors);
    let server = builder.start().await.unwrap();
    let mut client = Client::connect(server.addresses()[0]).await;
    let hello = client
        .run(on("admin", doc! {"hello": 1, "compression": wanted}))
        .await;
    (server, client, hello)
}

/// Sends a ping compressed with snappy and with `id` as the compressor ID.
async fn send_ping(client: &mut Client, id: u8) -> i32 {
    let mut content = vec![0; 5];
    content.extend(on("admin", doc! {"ping": 1}).to_vec().unwrap());
    let mut payload = OP_MSG.to_le_bytes().to_vec();
    payload.extend((content.len() as i32).to_le_bytes());
    payload.push(id);
    payload.extend(snap::raw::Encoder::new().compress_vec(&content).unwrap());
    client.send_raw(OP_COMPRESSED, &payload).await
}

/// Receives a message header as integers, and the rest of the message. Returns `None` if the server
/// has closed the connection.
async fn receive_raw(client: &mut Client) -> Option<([i32; 4], Vec<u8>)> {
    let mut words = [0; 4];
    for word in &mut words {
        *word = client.stream.read_i32_le().await.ok()?;
    }
    let mut rest = vec![0; words[0] as usize - 16];
    client.stream.read_exact(&mut rest).await.ok()?;
    Some((words, rest))
}

#[tokio::test]
async fn hello_returns_the_common_compressors_in_the_clients_order() {
    let both = ["snappy", "zlib"];
    let wanted = || Bson::from(vec!["zlib", "lzma", "zstd", "snappy"]);
    let (_server, _, hello) = connect(&both, wanted()).await;
    assert_eq!(
        hello.get_array("compression").unwrap(),
        &["zlib".into(), "snappy".into()]
    );
    for (compressors, wanted) in [
        (&[][..], wanted()),
        (&both[..], Bson::from(vec!["zstd"])),
        (&both[..], Bson::Array(vec![])),
    ] {
        let (_server, _, hello) = connect(compressors, wanted).await;
        assert!(!hello.contains_key("compression"), "{hello}");
    }
}

#[tokio::test]
async fn replies_are_compressed_like_their_requests() {
    let (_server, mut client, _) = connect(&["snappy"], Bson::from(vec!["snappy"])).await;
    let id = send_ping(&mut client, SNAPPY).await;
    let (words, rest) = receive_raw(&mut client).await.unwrap();
    assert_eq!((words[2], words[3]), (id, OP_COMPRESSED));
    assert_eq!(rest[..4], OP_MSG.to_le_bytes());
    assert_eq!(rest[8], SNAPPY);
    let content = snap::raw::Decoder::new().decompress_vec(&rest[9..]).unwrap();
    assert_eq!(rest[4..8], (content.len() as i32).to_le_bytes());
    let body = Document::from_reader(&content[5..]).unwrap();
    assert_eq!(body.get_f64("ok").unwrap(), 1.0);
    let reply = client.run(on("admin", doc! {"ping": 1})).await;
    assert_eq!(reply.get_f64("ok").unwrap(), 1.0);
}

#[tokio::test]
async fn a_compressor_that_was_not_negotiated_closes_the_connection() {
    for (wanted, id) in [
        (vec!["snappy"], 2),
        (vec!["snappy"], 0),
        (vec!["zlib"], SNAPPY),
        (vec![], SNAPPY),
    ] {
        let (_server, mut client, _) = connect(&["snappy", "zlib"], Bson::from(wanted)).await;
        send_ping(&mut client, id).await;
        assert!(receive_raw(&mut client).await.is_none(), "{id}");
    }
}
