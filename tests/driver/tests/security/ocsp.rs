//! Revoked certificates: stapled responses, OCSP responders, the cache, and the options that
//! disable the checks.

mod cache;
mod endpoint;
mod matrix;
mod staple;

use std::time::Duration;

use marula_driver::{
    Client, Error, ErrorKind, NetworkPhase, ServerAddress,
    bson::doc,
    internals::{Connection, ConnectionSettings, TlsConfig, handshake::client_metadata},
    options::ClientOptions,
};
use marula_driver_tests::{
    ocsp::{Keys, Response, Status},
    standalone,
    tls::{Authority, Files, Identity, TerminatorOptions, TlsTerminator},
};
use marula_test_server::TestServer;

const LONG: Duration = Duration::from_secs(60);

/// A server behind a TLS terminator, and the file of trusted certificates.
struct Encrypted {
    terminator: TlsTerminator,
    ca_file: String,
    _files: Files,
    _server: TestServer,
}

impl Encrypted {
    async fn start(trusted: &Authority, identity: &Identity, options: TerminatorOptions<'_>) -> Self {
        let server = standalone().await.server;
        let terminator = TlsTerminator::start_with(identity, options, server.addresses()[0]).await;
        let files = Files::new();
        Self {
            terminator,
            ca_file: files.write("ca.pem", &trusted.pem()),
            _files: files,
            _server: server,
        }
    }

    /// Starts the server without a stapled response.
    async fn bare(trusted: &Authority, identity: &Identity) -> Self {
        Self::start(trusted, identity, TerminatorOptions::default()).await
    }

    async fn stapling(trusted: &Authority, identity: &Identity, staple: Vec<u8>) -> Self {
        let options = TerminatorOptions {
            staple,
            ..TerminatorOptions::default()
        };
        Self::start(trusted, identity, options).await
    }

    fn uri(&self, options: &str) -> String {
        let port = self.terminator.address.port();
        format!("mongodb://localhost:{port}/?directConnection=true&tls=true&{options}")
    }

    fn address(&self) -> ServerAddress {
        format!("localhost:{}", self.terminator.address.port())
            .parse()
            .expect("an address")
    }

    /// The settings that the connections of one client share.
    fn settings(&self, options: &str, connect_timeout: Duration) -> ConnectionSettings {
        let options = ClientOptions::parse(&self.uri(&format!("tlsCAFile={}&{options}", self.ca_file)));
        let tls = TlsConfig::new(&options.expect("options").tls).expect("files");
        ConnectionSettings {
            tls: Some(tls),
            ..ConnectionSettings::new(connect_timeout, client_metadata(None).expect("metadata"))
        }
    }

    /// Establishes one connection with its own settings.
    async fn attempt(&self, options: &str) -> Result<(), Error> {
        self.connect(&self.settings(options, LONG)).await
    }

    async fn connect(&self, settings: &ConnectionSettings) -> Result<(), Error> {
        Connection::establish(&self.address(), settings).await.map(drop)
    }
}

/// The text of the error of a rejected connection.
fn rejection(outcome: Result<(), Error>) -> String {
    let error = outcome.expect_err("a rejection");
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(network.phase(), NetworkPhase::TlsHandshake, "{error}");
    assert_eq!(network.io_kind(), std::io::ErrorKind::InvalidData, "{error}");
    error.to_string()
}

/// A response for the certificate, with changes.
fn response<'a>(
    authority: &'a Authority,
    identity: &Identity,
    status: Status,
    change: impl FnOnce(&mut Response<'a>),
) -> Vec<u8> {
    let mut response = Response::new(authority, identity, status);
    change(&mut response);
    response.der()
}

/// An authority, and a certificate that names these responders.
fn certified(responders: &[&str]) -> (Authority, Identity) {
    let authority = Authority::new();
    let identity = Keys::Ecdsa.server(&authority, responders, false);
    (authority, identity)
}

async fn ping(uri: &str) -> Result<(), Error> {
    let client = Client::connect(uri).await.expect("valid options");
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.map(drop)
}
