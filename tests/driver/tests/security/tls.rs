//! TLS: which certificates are trusted, the errors for others, and operations over TLS.

mod clients;
mod faults;
mod identity;
mod listed;
mod rotation;
mod traffic;

use marula_driver::{
    Client, Error,
    bson::doc,
    internals::{
        Connection, ConnectionSettings, TlsConfig, handshake::client_metadata, wait_for_description,
    },
    options::ClientOptions,
};
use marula_driver_tests::{
    standalone,
    tls::{Authority, Files, Identity, TlsTerminator},
};
use marula_test_server::TestServer;
use std::{net::SocketAddr, time::Duration};

/// A server behind a TLS terminator, and the file of its certificate authority.
struct Encrypted {
    server: TestServer,
    terminator: TlsTerminator,
    files: Files,
    ca_file: String,
}

impl Encrypted {
    async fn start(identity: impl FnOnce(&Authority) -> Identity) -> Self {
        let authority = Authority::new();
        let server = standalone().await.server;
        let terminator = TlsTerminator::start(&identity(&authority), server.addresses()[0]).await;
        let files = Files::new();
        let ca_file = files.write("ca.pem", &authority.pem());
        Self {
            server,
            terminator,
            files,
            ca_file,
        }
    }

    /// A server with a valid certificate for `localhost`.
    async fn valid() -> Self {
        Self::start(|authority| authority.issue(&["localhost"])).await
    }

    fn uri(&self, host: &str, options: &str) -> String {
        let port = self.terminator.address.port();
        format!("mongodb://{host}:{port}/?tls=true&directConnection=true&{options}")
    }

    fn trusting(&self, options: &str) -> String {
        self.uri("localhost", &format!("tlsCAFile={}&{options}", self.ca_file))
    }
}

/// Checks that a command succeeds.
async fn works(uri: &str) {
    let client = Client::connect(uri).await.expect("valid options");
    let ping = client.database("admin").run_command(doc! { "ping": 1 }).await;
    ping.unwrap_or_else(|error| panic!("{uri}: {error}"));
}

/// The text of the error of a server selection timeout.
async fn selection_error(uri: &str) -> String {
    let client = Client::connect(uri).await.expect("valid options");
    wait_for_description(&client, |text| text.contains("(Unknown: ")).await
}

/// Establishes one connection.
async fn attempt(address: SocketAddr, uri_options: &str, connect_timeout: Duration) -> Result<(), Error> {
    let options = ClientOptions::parse(&format!("mongodb://localhost/?tls=true&{uri_options}"))?;
    let metadata = client_metadata(None).expect("metadata");
    let settings = ConnectionSettings {
        tls: Some(TlsConfig::new(&options.tls)?),
        ..ConnectionSettings::new(connect_timeout, metadata)
    };
    let address = format!("localhost:{}", address.port())
        .parse()
        .expect("an address");
    Connection::establish(&address, &settings).await.map(drop)
}
