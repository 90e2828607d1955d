//! The client's state: the description, and per server a pool, its book, and the monitor's memory.

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

/// An established connection: the process that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) process: u64,
}

/// What the client keeps per server. A server that left keeps its handle until its connections came back.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) address: ServerAddress,
    pub(crate) pool: ConnectionPool<Link, u64, Error>,
    pub(crate) ledger: Ledger,
    pub(crate) round_trip_time: RoundTripTime,
    /// The check that is to come, or under way; others are outdated.
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
