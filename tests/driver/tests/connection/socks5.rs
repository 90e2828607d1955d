//! Connections through SOCKS5 proxies: the table of the prose tests, name resolution by the proxy,
//! and proxies that break the protocol.

mod faults;
mod prose;
mod traffic;

use std::time::Duration;

use marula_driver::{
    Error,
    internals::{Connection, ConnectionSettings, handshake::client_metadata},
    options::ClientOptions,
};

/// Establishes one connection.
async fn attempt(address: &str, options: &str, connect_timeout: Duration) -> Result<(), Error> {
    let parsed = ClientOptions::parse(&format!("mongodb://h/?{options}"))?;
    let settings = ConnectionSettings {
        proxy: parsed.proxy,
        ..ConnectionSettings::new(connect_timeout, client_metadata(None).expect("metadata"))
    };
    let address = address.parse().expect("an address");
    Connection::establish(&address, &settings).await.map(drop)
}
