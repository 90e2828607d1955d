//! The driver's machines and some of its shells, opened for the tests that run one of them alone.
//!
//! Nothing here is part of the public interface: it changes without notice, whatever the version number says.
//!
//! [`Pool::new`] makes a pool without a deployment: it is paused until [`Pool::ready`], tells the listener in its
//! [`PoolSettings`] of its events, and gives connections through [`Pool::check_out`]; dropping a [`PooledConnection`] checks it
//! in. [`Pool::clear`] takes the service and whether to interrupt. `maintenance_interval: None` stops its background work. The
//! [`PoolListener`] stands for the deployment: it hears of failed handshakes and may clear the pool at once.
//!
//! An error on a pooled connection goes through [`sdam::judge`], that of a check through [`sdam::judge_check`]; both yield what
//! is to be done about pool and description. [`sdam::apply`] takes an outcome into a description, and [`sdam::events`] tells
//! what that means to listeners.

use crate::{Error, NetworkPhase};

pub use crate::{
    connection::{Connection, ConnectionSettings},
    pool::{Pool, PoolListener, PoolSettings, PooledConnection},
    proto::{cmap, command, description, event, handshake, retry, sdam, server_selection, session, wire},
    types::deadline::Deadline,
};

/// A socket that failed, as the shells report it to the machines.
pub fn network_error(phase: NetworkPhase, error: std::io::Error) -> Error {
    Error::network(phase, error)
}

/// The error with labels that a server or the pool put on it.
pub fn labelled<const N: usize>(error: Error, labels: [&str; N]) -> Error {
    error.with_labels(labels.map(str::to_owned))
}

/// Fixes the random factor of the pauses before retries: 0 for none, just under 1 for the longest.
pub fn fix_jitter(options: &mut crate::options::ClientOptions, jitter: f64) {
    options.jitter = Some(jitter);
}
