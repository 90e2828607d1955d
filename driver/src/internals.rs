//! The driver's machines and some of its shells, opened for the tests that run one of them alone.
//!
//! Nothing here is part of the public interface: it changes without notice, whatever the version number says.

pub use crate::{
    api::{
        Environment,
        hooks::{hosts, wait_for_hosts},
    },
    connection::{
        Connection, ConnectionSettings, Dialer, DnsLookup, Lookup, LookupError, Resolver, TlsConfig,
    },
    pool::{Pool, PoolListener, PoolSettings, PooledConnection},
    proto::{
        cmap, command, description, event, handshake, retry, sdam, server_selection, session, srv, wire,
    },
    types::deadline::Deadline,
};

/// Fixes the random factor of the pauses before retries: 0 for none, just under 1 for the longest.
pub fn fix_jitter(options: &mut crate::options::ClientOptions, jitter: f64) {
    options.jitter = Some(jitter);
}
