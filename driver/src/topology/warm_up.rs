//! Establishing connections to all servers before they are needed.

use std::{sync::Arc, time::Duration};

use super::{Topology, server::Server};
use crate::{
    Error, ErrorKind, Result,
    error::SelectionEnd,
    proto::{
        description::{ServerDescription, TopologyType},
        server_selection::Criteria,
    },
    types::{deadline::Deadline, read_preference::NEAREST},
};

impl Topology {
    /// `minPoolSize` and `maxPoolSize`.
    pub(crate) fn pool_sizes(&self) -> (u32, u32) {
        let pool = &self.shared.settings.pool;
        (pool.min_pool_size, pool.max_pool_size)
    }

    pub(crate) fn server_selection_timeout(&self) -> Duration {
        self.shared.settings.server_selection_timeout
    }

    /// Establishes connections to each data-bearing server until its pool has `count`. Waits until
    /// one is known and the others have been checked. The future can be dropped at any time.
    pub(crate) async fn warm_up(&self, count: u32, deadline: Deadline) -> Result<()> {
        let mut changes = self.shared.changes.subscribe();
        let timeout = deadline.remaining().unwrap_or_default();
        let mut has_warmed = false;
        loop {
            changes.borrow_and_update();
            if self.shared.is_closed() {
                return Err(Error::new(ErrorKind::Shutdown));
            }
            let (servers, has_unchecked) = self.servers_in_reach()?;
            if !servers.is_empty() {
                // All begin before the first is awaited.
                let pools: Vec<_> = servers.iter().map(|server| server.pool.warm_up(count)).collect();
                for warming in pools {
                    match deadline.run(warming).await {
                        Ok(warmed) => warmed.map_err(|error| self.closed_error(error))?,
                        Err(_) => return Err(Error::timed_out("while connections were established")),
                    }
                }
                has_warmed = true;
            }
            // Otherwise a server may have been found in the meantime.
            if !changes.has_changed().unwrap_or(true) {
                if has_warmed && !has_unchecked {
                    return Ok(());
                }
                self.shared.request_checks();
                if deadline.run(changes.changed()).await.is_err() {
                    // A server without a reply is out of reach.
                    return if has_warmed {
                        Ok(())
                    } else {
                        Err(self.not_found(Criteria::Read(NEAREST), timeout, SelectionEnd::TimedOut))
                    };
                }
            }
        }
    }

    /// The data-bearing servers, and whether other servers have not been checked.
    fn servers_in_reach(&self) -> Result<(Vec<Arc<Server>>, bool)> {
        let snapshot = self.shared.snapshot.load();
        let description = &snapshot.description;
        if let Some(why) = &description.compatibility_error {
            return Err(Error::unsupported(why.clone()));
        }
        let is_direct = description.kind == TopologyType::Single;
        let is_usable = |server: &ServerDescription| {
            server.kind.is_data_bearing() || (is_direct && !server.kind.is_unknown())
        };
        let servers = description
            .servers
            .values()
            .filter(|server| is_usable(server))
            .filter_map(|server| snapshot.servers.get(&server.address).cloned())
            .collect();
        let is_unchecked = |server: &ServerDescription| server.kind.is_unknown() && server.cause().is_none();
        Ok((servers, description.servers.values().any(is_unchecked)))
    }
}
