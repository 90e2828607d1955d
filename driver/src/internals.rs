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
