//! Compressed messages, recorded by a wire tap: the prose tests of the Wire Compression
//! specification, all kinds of commands, and invalid compressed replies.

mod large;
mod prose;
mod replies;
mod traffic;
mod untrusted;

use marula_driver::{
    Client,
    bson::{Binary, BinarySubtype},
};
use marula_driver_tests::tap::{Tapped, WireTap};
use marula_test_server::{TestServer, TestServerBuilder};

/// The compressors and their ids.
const ALL: [(&str, u8); 3] = [("snappy", 1), ("zlib", 2), ("zstd", 3)];

/// A server, and a client connected through a tap.
struct Tap {
    tap: WireTap,
    client: Client,
    /// The server stops when it is dropped.
    _server: TestServer,
}

async fn tapped(builder: TestServerBuilder, options: &str) -> Tap {
    let server = builder.start().await.expect("the server starts");
    let tap = WireTap::start(server.addresses()[0]).await;
    let client = Client::connect(tap.uri(options)).await.expect("a client");
    Tap {
        tap,
        client,
        _server: server,
    }
}

fn server() -> TestServerBuilder {
    TestServer::builder().standalone()
}

/// The compressors offered in the handshake of this connection.
fn offered(requests: &[Tapped], connection: usize) -> Vec<&str> {
    let hello = requests
        .iter()
        .find(|request| request.connection == connection && request.is_hello());
    let names = hello.expect("a handshake").body.get_array("compression");
    names
        .expect("a list")
        .iter()
        .filter_map(|name| name.as_str())
        .collect()
}

/// Incompressible bytes.
fn noise(count: usize) -> Binary {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    bytes.truncate(count);
    binary(bytes)
}

fn binary(bytes: Vec<u8>) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes,
    }
}
