//! The state of the simulated client: the topology description, and for each server the pool, its
//! event ledger and the monitor's state.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use marula_driver::{
    Error, ServerAddress,
    internals::{
        cmap::{ConnectionKey, ConnectionPool, PoolLimits},
        description::TopologyDescription,
        server_selection::RoundTripTime,
    },
};

use crate::simulation::Ledger;

/// An established connection, with the server process it is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) process: u64,
}

/// The state of the client for a server. The handle of a removed server is kept until its
/// connections are checked in.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) address: ServerAddress,
    pub(crate) pool: ConnectionPool<Link, u64, Error>,
    pub(crate) ledger: Ledger,
    pub(crate) round_trip_time: RoundTripTime,
    /// The number of the pending check. Checks with other numbers are obsolete.
    pub(crate) check: u64,
    pub(crate) last_check: Duration,
    pub(crate) in_flight: BTreeMap<u32, InFlight>,
}

/// A command on a connection.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) operation: u64,
    pub(crate) key: ConnectionKey,
    pub(crate) link: Link,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) topology: Arc<TopologyDescription>,
    pub(crate) handles: Vec<Handle>,
    pub(crate) current: BTreeMap<ServerAddress, usize>,
}

impl Client {
    pub(crate) fn new(seed: ServerAddress) -> Self {
        Self {
            topology: Arc::new(TopologyDescription::initial([seed], false, Some("rs".to_owned()))),
            handles: Vec::new(),
            current: BTreeMap::new(),
        }
    }

    pub(crate) fn open(&mut self, address: &ServerAddress) -> usize {
        let limits = PoolLimits {
            max_pool_size: 4,
            min_pool_size: 1,
            max_connecting: 2,
            max_idle_time: Some(Duration::from_secs(20)),
        };
        self.handles.push(Handle {
            address: address.clone(),
            pool: ConnectionPool::new(limits, true),
            ledger: Ledger::default(),
            round_trip_time: RoundTripTime::default(),
            check: 0,
            last_check: Duration::ZERO,
            in_flight: BTreeMap::new(),
        });
        let index = self.handles.len() - 1;
        self.current.insert(address.clone(), index);
        index
    }
}
